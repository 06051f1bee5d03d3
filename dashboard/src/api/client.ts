import createClient from "openapi-fetch";
import { BASE, at } from "../lib/base";
import { readJson, writeJson } from "../lib/json";
import { ApiError } from "./errors";
import type { paths } from "./schema";

/** The session cookie goes with every request; the page holds no key. */
const service = createClient<paths>({
  baseUrl: `${BASE}/`,
  credentials: "same-origin",
  // The API takes lists with commas: `?status=queued,dialing`.
  querySerializer: { array: { style: "form", explode: false } },
  bodySerializer: (body) => writeJson(body),
});

/** Leaves a body as text, for `take` to read it without loss. */
function unread<Method>(method: Method): Method {
  const call = method as (path: string, init?: object) => unknown;
  return ((path: string, init?: object) => call(path, { ...init, parseAs: "text" })) as Method;
}

/** Requests to the API; their answers go through `take`. */
export const client = {
  GET: unread(service.GET),
  POST: unread(service.POST),
  PATCH: unread(service.PATCH),
  DELETE: unread(service.DELETE),
};

/** Called when the session is over, wherever the page learns it. */
let signedOut: () => void = () => undefined;
export function onSignedOut(handler: () => void): void {
  signedOut = handler;
}

function failure({ status, headers }: Response, body: unknown): ApiError {
  if (status === 401) signedOut();
  return new ApiError(status, typeof body === "object" && body !== null ? body : {}, headers.get("retry-after"));
}

/**
 * The data of an answer, or an `ApiError` thrown.
 *
 *     const agent = await take(client.GET("/v1/agents/{id}", { params: { path: { id } } }));
 */
export async function take<T>(answer: Promise<{ data?: T; error?: unknown; response: Response }>): Promise<T> {
  const { data, error, response } = await answer;
  if (!response.ok) throw failure(response, error);
  return (typeof data === "string" && data !== "" ? readJson(data) : undefined) as T;
}

/** A request to `/auth`, which the document of the API does not describe. */
export async function request<T>(
  method: "GET" | "POST" | "PATCH" | "PUT" | "DELETE",
  path: string,
  body?: unknown,
  signal?: AbortSignal,
): Promise<T> {
  const response = await fetch(at(path), {
    method,
    credentials: "same-origin",
    headers: body === undefined ? {} : { "content-type": "application/json" },
    body: body === undefined ? undefined : writeJson(body),
    signal,
  });
  const text = await response.text();
  const json = parsed(text);
  if (!response.ok) throw failure(response, json);
  // A service that does not know the address may answer with the page itself.
  if (text !== "" && json === undefined) throw new ApiError(404, {});
  return json as T;
}

function parsed(text: string): unknown {
  try {
    return readJson(text);
  } catch {
    return undefined;
  }
}
