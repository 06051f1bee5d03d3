/** Timers of JavaScript end at once if they are to run longer. */
const LONGEST_MS = 2 ** 31 - 1;

/** As many milliseconds as a timer takes: at most 24 days. */
export function timerMs(milliseconds: number): number {
  return Math.min(milliseconds, LONGEST_MS);
}
