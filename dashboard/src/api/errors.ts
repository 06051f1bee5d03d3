import type { components } from "./schema";

type ErrorBody = components["schemas"]["ErrorBody"];
export type ErrorField = components["schemas"]["ErrorField"];

/** An answer of the API that is not a success, or no answer at all (`status` 0). */
export class ApiError extends Error {
  readonly status: number;
  readonly code: string;
  readonly detail: string;
  readonly errors: ErrorField[];
  readonly requestId: string | null;
  /** When the service wants to be asked again. */
  readonly retryAfterMs: number | null;

  /** `retryAfter`: the header `Retry-After`, in seconds. */
  constructor(status: number, body: Partial<ErrorBody>, retryAfter: string | null = null) {
    const detail = body.detail ?? fallback(status);
    super(detail);
    this.name = "ApiError";
    this.status = status;
    this.code = body.code ?? "unknown";
    this.detail = detail;
    this.errors = body.errors ?? [];
    this.requestId = body.request_id ?? null;
    this.retryAfterMs = retryAfter !== null && /^\d+$/.test(retryAfter) ? 1000 * Number(retryAfter) : null;
  }

  /** The message for the field at `path`, such as `tts.speed`. */
  field(path: string): string | undefined {
    return this.errors.find((error) => error.path === path)?.message;
  }
}

function fallback(status: number): string {
  if (status === 0) return "The service does not answer.";
  if (status === 404) return "This does not exist here.";
  return `The service answered with ${status}.`;
}

/** What to show for anything that was thrown. */
export function asApiError(error: unknown): ApiError {
  if (error instanceof ApiError) return error;
  if (error instanceof TypeError) return new ApiError(0, {});
  return new ApiError(0, { detail: error instanceof Error ? error.message : String(error) });
}

/** Whether the service (an older one, say) does not know this address. */
export function isMissing(error: unknown): boolean {
  return error instanceof ApiError && (error.status === 404 || error.status === 405);
}
