/** How the page writes times, lengths, numbers and money. Pure. */

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const LOCALE = "en-GB";

const long = new Intl.RelativeTimeFormat(LOCALE, { numeric: "always", style: "long" });
const short = new Intl.RelativeTimeFormat(LOCALE, { numeric: "always", style: "short" });
const integer = new Intl.NumberFormat("en-US");

/** "2 minutes ago" up to a day, "in 4 minutes", then "21 Nov, 14:03"; `brief`: "2 min ago". */
export function relativeTime(at: Date, now: Date, brief = false): string {
  const ago = brief ? short : long;
  const distance = at.getTime() - now.getTime();
  const size = Math.abs(distance);
  if (size < 5 * SECOND) return "now";
  if (size < MINUTE) return ago.format(Math.trunc(distance / SECOND), "second");
  if (size < HOUR) return ago.format(Math.trunc(distance / MINUTE), "minute");
  if (size < DAY) return ago.format(Math.trunc(distance / HOUR), "hour");
  return dayAndTime(at, now);
}

/** "21 Nov, 14:03"; with the year where it is not this one. */
export function dayAndTime(at: Date, now: Date): string {
  const year = at.getFullYear() === now.getFullYear() ? undefined : "numeric";
  const day = at.toLocaleDateString(LOCALE, { day: "numeric", month: "short", year });
  return `${day}, ${clock(at).slice(0, 5)}`;
}

/** "22 November 2026, 14:03:07 CET", for the hover of a relative time. */
export function absoluteTime(at: Date): string {
  return at.toLocaleString(LOCALE, {
    day: "numeric",
    month: "long",
    year: "numeric",
    hour: "2-digit",
    minute: "2-digit",
    second: "2-digit",
    timeZoneName: "short",
  });
}

/** "14:03:07" */
export function clock(at: Date): string {
  return at.toLocaleTimeString(LOCALE, { hour: "2-digit", minute: "2-digit", second: "2-digit" });
}

/** "14:03:07.118" */
export function clockMillis(at: Date): string {
  return `${clock(at)}.${String(at.getMilliseconds()).padStart(3, "0")}`;
}

/** "0:37", "1:02:09" */
export function duration(seconds: number): string {
  const whole = Math.max(0, Math.floor(seconds));
  const hours = Math.floor(whole / 3600);
  const minutes = Math.floor((whole % 3600) / 60);
  const rest = String(whole % 60).padStart(2, "0");
  return hours > 0 ? `${hours}:${String(minutes).padStart(2, "0")}:${rest}` : `${minutes}:${rest}`;
}

/** "461 ms" below a second, "1.18 s" below ten, "37.4 s" above. */
export function milliseconds(ms: number): string {
  if (ms < 1000) return `${Math.round(ms)} ms`;
  const seconds = ms / 1000;
  return `${seconds.toFixed(seconds < 10 ? 2 : 1)} s`;
}

/** "0 minutes 14 seconds", for screen readers. */
export function spokenDuration(seconds: number): string {
  const whole = Math.max(0, Math.floor(seconds));
  const minutes = Math.floor(whole / 60);
  const part = (count: number, unit: string) => `${count} ${unit}${count === 1 ? "" : "s"}`;
  return minutes === 0 ? part(whole, "second") : `${part(minutes, "minute")} ${part(whole % 60, "second")}`;
}

/** "18,402" */
export function count(value: number): string {
  return integer.format(value);
}

/** "1 call", "2 calls" */
export function plural(value: number, one: string, many = `${one}s`): string {
  return `${count(value)} ${value === 1 ? one : many}`;
}

/** "96.4 %" of a share between 0 and 1. */
export function percent(share: number): string {
  return `${(share * 100).toFixed(1)} %`;
}

/** "$0.0143": four digits below a dollar, two above; "–" where there is none. */
export function cost(dollars: number | null | undefined, unpriced = false): string {
  if (dollars === null || dollars === undefined) return "–";
  const digits = Math.abs(dollars) < 1 && dollars !== 0 ? 4 : 2;
  const text = `$${dollars.toLocaleString("en-US", {
    minimumFractionDigits: digits,
    maximumFractionDigits: digits,
  })}`;
  return unpriced ? `at least ${text}` : text;
}

/** "1.4 MB" */
export function bytes(size: number): string {
  if (size < 1000) return `${size} B`;
  if (size < 1_000_000) return `${(size / 1000).toFixed(1)} kB`;
  return `${(size / 1_000_000).toFixed(1)} MB`;
}

/** "+1 202 555 0100", "+44 207 946 0958"; what is no E.164 number stays as it is. */
export function phone(number: string): string {
  if (!/^\+[1-9]\d{6,14}$/.test(number)) return number;
  const digits = number.slice(1);
  if (digits.startsWith("1") && digits.length === 11) {
    return `+1 ${digits.slice(1, 4)} ${digits.slice(4, 7)} ${digits.slice(7)}`;
  }
  const code = countryCode(digits);
  return `+${code} ${groups(digits.slice(code.length)).join(" ")}`;
}

/** The one- and two-digit country codes; every other one has three digits. */
const SHORT_CODES =
  "1 7 20 27 30 31 32 33 34 36 39 40 41 43 44 45 46 47 48 49 51 52 53 54 55 56 57 58 60 61 62 63 64 65 66 81 82 84 86 90 91 92 93 94 95 98".split(
    " ",
  );

function countryCode(digits: string): string {
  return SHORT_CODES.find((code) => digits.startsWith(code)) ?? digits.slice(0, 3);
}

/** Groups of three or four, the longer ones last; shorter numbers stay whole. */
function groups(digits: string): string[] {
  const parts = Math.max(1, Math.floor(digits.length / 3));
  const longer = digits.length - parts * 3;
  const result: string[] = [];
  let at = 0;
  for (let part = 0; part < parts; part += 1) {
    const size = part >= parts - longer ? 4 : 3;
    result.push(digits.slice(at, at + size));
    at += size;
  }
  return result;
}

/** The part of an id that people read out. */
export function shortId(id: string): string {
  return id.slice(0, 8);
}

/** "Ava" → "A", "Sam Miller" → "SM" */
export function initials(name: string): string {
  const words = name.split(/[\s@.]+/).filter(Boolean);
  const letters = [words[0], words.length > 1 ? words[words.length - 1] : undefined];
  return letters.map((word) => word?.[0]?.toUpperCase() ?? "").join("");
}
