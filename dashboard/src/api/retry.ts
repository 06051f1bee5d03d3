/** When a query asks again. An answer is an answer; only silence is worth asking again, and a refusal that says when. */
import { ApiError } from "./errors";

const TRIES = 3;
/** Somebody looks at the page: what takes longer is said instead of waited for. */
const LONGEST_WAIT_MS = 5_000;

export function isWorthARetry(failures: number, error: unknown): boolean {
  if (!(error instanceof ApiError) || failures >= TRIES - 1) return false;
  if (error.status !== 429 && error.status < 500) return false;
  const waitMs = error.retryAfterMs ?? (error.status === 429 ? Infinity : 0);
  return waitMs <= LONGEST_WAIT_MS;
}

/** Milliseconds until then: what the service asks for, else twice as long each time. */
export function retryDelay(failures: number, error: unknown): number {
  const asked = error instanceof ApiError ? error.retryAfterMs : null;
  return Math.min(asked ?? 1000 * 2 ** failures, LONGEST_WAIT_MS);
}
