/** What can go wrong. */

/** Every error of this package. */
export class SwitchhookError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = new.target.name;
  }
}

/** The service could not be reached, or the connection broke. `cause` says why. */
export class APIConnectionError extends SwitchhookError {}

/** The service did not answer in time. */
export class APITimeoutError extends APIConnectionError {}

/** The call had not ended in time. It continues. */
export class WaitTimeoutError extends SwitchhookError {}

/** The delivery is not genuine, or too old. Respond with 401. */
export class WebhookVerificationError extends SwitchhookError {}

/** A field of the request that the service refuses. */
export type FieldError = { path: string; message: string };

/** The service answered with an error. */
export class APIError extends SwitchhookError {
  /** For programs, for example `idempotency_key_reused`. */
  readonly code: string;
  /** The request's id in the service's log. */
  readonly requestId: string | null;
  /** A sentence for people. */
  readonly detail: string;
  readonly errors: readonly FieldError[];
  /** Seconds to wait, if the service names them. */
  readonly retryAfter: number | null;

  constructor(
    readonly status: number,
    readonly headers: Headers,
    readonly body: unknown,
  ) {
    const fields = isRecord(body) ? body : {};
    const code = text(fields["code"]) ?? `http_${status}`;
    const requestId = text(fields["request_id"]) ?? headers.get("x-request-id");
    const detail = text(fields["detail"]) ?? text(fields["title"]) ?? `The service answered with status ${status}.`;
    super(`${detail} (status ${status}, code ${code}, request ${requestId})`);
    this.code = code;
    this.requestId = requestId;
    this.detail = detail;
    const listed = Array.isArray(fields["errors"]) ? fields["errors"].filter(isRecord) : [];
    this.errors = listed.map((one) => ({ path: text(one["path"]) ?? "", message: text(one["message"]) ?? "" }));
    const wait = headers.get("retry-after") ?? "";
    this.retryAfter = /^[0-9]+$/.test(wait) ? Number(wait) : null;
  }
}

/** 401: the API key is missing, wrong, expired or revoked. */
export class AuthenticationError extends APIError {}
/** 403: the tenant is deactivated, or the role does not permit this. */
export class PermissionDeniedError extends APIError {}
/** 404: there is no such resource in this tenant. */
export class NotFoundError extends APIError {}
/** 409: taken, in use, or not possible in this state; `code` says which. */
export class ConflictError extends APIError {}
/** 422: a field is missing or invalid; `errors` names each. */
export class InvalidRequestError extends APIError {}
/** 429: too many requests, or a quota is used up; `retryAfter` says how long to wait. */
export class RateLimitError extends APIError {}
/** 500 and above: the service failed. */
export class ServerError extends APIError {}

const BY_STATUS: Record<number, typeof APIError> = {
  401: AuthenticationError,
  403: PermissionDeniedError,
  404: NotFoundError,
  409: ConflictError,
  422: InvalidRequestError,
  429: RateLimitError,
};

export async function errorOf(response: Response): Promise<APIError> {
  const raw = await response.text();
  let body: unknown = raw;
  try {
    body = JSON.parse(raw);
  } catch {
    // A proxy's page: `body` is its text.
  }
  const Kind = BY_STATUS[response.status] ?? (response.status >= 500 ? ServerError : APIError);
  return new Kind(response.status, response.headers, body);
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function text(value: unknown): string | null {
  return typeof value === "string" && value !== "" ? value : null;
}
