/** The days that the usage page shows. Pure. */

export const RANGES = [
  { days: 7, label: "7 days" },
  { days: 30, label: "30 days" },
  { days: 90, label: "90 days" },
] as const;

const DAY_MS = 24 * 60 * 60 * 1000;

/** The range in the address; 30 days where there is none. */
export function daysOf(value: string | null): number {
  return RANGES.find(({ days }) => String(days) === value)?.days ?? 30;
}

/** The first moment of the range: midnight (UTC), today being its last day. */
export function startOf(days: number, now: Date): Date {
  const today = Date.UTC(now.getUTCFullYear(), now.getUTCMonth(), now.getUTCDate());
  return new Date(today - (days - 1) * DAY_MS);
}

/** "21 Nov", of a day that begins at midnight UTC. */
export function dayLabel(start: string): string {
  return new Date(start).toLocaleDateString("en-GB", { day: "numeric", month: "short", timeZone: "UTC" });
}

/** "34.5", "1,204" */
export function minutesText(minutes: number): string {
  return minutes.toLocaleString("en-US", { maximumFractionDigits: minutes < 100 ? 1 : 0 });
}
