/** One request, and whether and when it is sent again. No I/O. */
import type { APIError } from "./errors.js";

/** The longest time that the client waits by itself. A quota that is free again only next month is an error at once. */
const MAX_DELAY_MS = 60_000;
/** Requests that reached the service but were not carried out. */
const NOT_DONE = [408, 429];
/** May or may not have been carried out. */
export const MAYBE_DONE = [500, 502, 503, 504];
/** The service is away: answers of a proxy, or of a node that is starting. */
export const AWAY = [502, 503, 504];
/** Connections that were never made, as Node.js names them. */
const NEVER_SENT = ["ECONNREFUSED", "ENOTFOUND", "EAI_AGAIN", "EHOSTUNREACH", "ENETUNREACH", "UND_ERR_CONNECT_TIMEOUT"];

export type ApiRequest = {
  method: "GET" | "POST" | "PATCH" | "DELETE";
  path: string;
  query?: object;
  headers?: Record<string, string>;
  body?: object;
  idempotencyKey?: string;
  /** Whether it does the same when it is sent twice. */
  repeatable?: boolean;
};

export function segment(value: string | number): string {
  const text = String(value);
  if (["", ".", "..", "undefined", "null"].includes(text)) throw new TypeError(`"${text}" is not an id.`);
  return encodeURIComponent(text);
}

/** Only pages on https have `randomUUID`. */
export function newKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** Lists are separated by commas; what is undefined is left out; `metadata` becomes `metadata[key]`. */
export function queryOf(query: object = {}): string {
  const result = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value === undefined || value === null) continue;
    if (value instanceof Date) result.set(name, value.toISOString());
    else if (Array.isArray(value)) result.set(name, value.join(","));
    else if (typeof value === "object") for (const [key, one] of Object.entries(value)) result.set(`${name}[${key}]`, String(one));
    else result.set(name, String(value));
  }
  const text = result.toString();
  return text && `?${text}`;
}

/** Half a second, doubled each time up to 8 s, a quarter of it random so that clients do not return together. */
export function backoff(attempt: number): number {
  return Math.min(8_000, 500 * 2 ** attempt) * (0.75 + Math.random() / 4);
}

function isRepeatable(request: ApiRequest): boolean {
  return request.repeatable === true || request.idempotencyKey !== undefined || ["GET", "DELETE"].includes(request.method);
}

/** Milliseconds to wait before the request is sent again; null if it must not be. */
export function delayAfterError(request: ApiRequest, error: APIError, attempt: number): number | null {
  // The first request with this Idempotency-Key is still being carried out.
  const inProgress = error.status === 409 && error.code === "request_in_progress";
  const again = inProgress || NOT_DONE.includes(error.status) || (MAYBE_DONE.includes(error.status) && isRepeatable(request));
  if (!again) return null;
  if (error.retryAfter === null) return backoff(attempt);
  const asked = error.retryAfter * 1000;
  return asked > MAX_DELAY_MS ? null : Math.max(asked, 100);
}

/** The same after a connection failed. */
export function delayAfterFailure(request: ApiRequest, failure: unknown, attempt: number): number | null {
  return isRepeatable(request) || neverSent(failure) ? backoff(attempt) : null;
}

/** A connection that was never made has carried out nothing. */
export function neverSent(failure: unknown): boolean {
  const cause = failure instanceof Error ? failure.cause : undefined;
  if (!(cause instanceof Error)) return false;
  // Of a name with several addresses, each was tried.
  const tried = cause instanceof AggregateError && cause.errors.length > 0 ? (cause.errors as { code?: string }[]) : [cause as { code?: string }];
  return tried.every((one) => NEVER_SENT.includes(one.code ?? ""));
}
