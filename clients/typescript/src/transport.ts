/** Sends requests, and sends them again. */
import { APIConnectionError, APIError, APITimeoutError, errorOf } from "./errors.js";
import { Pages, type Page } from "./pages.js";
import { AWAY, backoff, delayAfterError, delayAfterFailure, MAYBE_DONE, neverSent, queryOf, type ApiRequest } from "./request.js";
import type { RequestOptions, StreamOptions } from "./shapes.js";
import { sleep } from "./sleep.js";
import { Decoder, Position, type ServerEvent } from "./sse.js";
import { timerMs } from "./timers.js";
import { VERSION } from "./version.js";

/** The service sends an empty comment every 15 seconds. */
const QUIET_MS = 45_000;
/** Attempts to connect have their own deadlines. */
const LONG_MS = 24 * 3_600_000;

export type Settings = {
  baseUrl: string;
  apiKey: string;
  timeout: number;
  maxRetries: number;
  fetch: typeof fetch;
};

/** Ends a request that takes too long, and knows that it did. */
class Deadline {
  readonly signal: AbortSignal;
  passed = false;
  readonly #own = new AbortController();
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(
    private milliseconds: number,
    private readonly caller: AbortSignal | undefined,
  ) {
    this.signal = this.#own.signal;
    if (caller?.aborted) this.#own.abort(caller.reason);
    else caller?.addEventListener("abort", this.#abort);
    this.extend();
  }

  #abort = (): void => this.#own.abort(this.caller?.reason);

  /** Starts again from now. */
  extend(milliseconds = this.milliseconds): void {
    this.milliseconds = milliseconds;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => {
      this.passed = true;
      this.#own.abort();
    }, timerMs(milliseconds));
  }

  end(): void {
    clearTimeout(this.#timer);
    this.caller?.removeEventListener("abort", this.#abort);
  }
}

export class Transport {
  readonly #settings: Settings;

  constructor(settings: Settings) {
    this.#settings = settings;
  }

  /** What `read` makes of the response of a request that succeeded. */
  async send<T>(request: ApiRequest, options: RequestOptions, read: (response: Response) => Promise<T>): Promise<T | undefined> {
    // Before the first attempt: `fetch` fails with the same TypeError for a mistake of the caller and for a lost connection.
    const [url, init] = this.#prepare(request);
    const { fetch, maxRetries } = this.#settings;
    let maybeDone = false;
    for (let attempt = 0; ; attempt++) {
      const deadline = new Deadline(options.timeout ?? this.#settings.timeout, options.signal);
      let delay: number | null;
      let error: Error;
      try {
        const response = await fetch(url, { ...init, signal: deadline.signal });
        if (response.ok) return await read(response);
        const refused = await errorOf(response);
        // An earlier attempt has deleted it; only its answer was lost.
        if (refused.status === 404 && request.method === "DELETE" && maybeDone) return undefined;
        maybeDone ||= MAYBE_DONE.includes(refused.status);
        error = refused;
        delay = delayAfterError(request, refused, attempt);
      } catch (failure) {
        options.signal?.throwIfAborted();
        if (failure instanceof APIError) throw failure;
        maybeDone ||= !neverSent(failure);
        error = connectionError(failure, deadline.passed);
        delay = delayAfterFailure(request, failure, attempt);
      } finally {
        deadline.end();
      }
      if (delay === null || attempt >= maxRetries) throw error;
      await sleep(delay, options.signal);
    }
  }

  #prepare(request: ApiRequest): [string, RequestInit] {
    const { baseUrl, apiKey } = this.#settings;
    const url = new URL(baseUrl + request.path + queryOf(request.query));
    if (!["http:", "https:"].includes(url.protocol) || url.username || url.password) {
      throw new TypeError("The service's address must start with http:// or https:// and have no password.");
    }
    const headers: Record<string, string> = { Authorization: `Bearer ${apiKey}`, Accept: "application/json", ...request.headers };
    if (request.body !== undefined) headers["Content-Type"] = "application/json";
    if (request.idempotencyKey !== undefined) headers["Idempotency-Key"] = request.idempotencyKey;
    // Browsers name themselves.
    if (!("document" in globalThis)) headers["User-Agent"] = `switchhook-typescript/${VERSION}`;
    new Headers(headers); // Throws for a value that no header can have.
    const body = request.body === undefined ? null : JSON.stringify(request.body);
    return [url.href, { method: request.method, headers, body, redirect: "manual" }];
  }

  /** The events of a stream, across reconnects. */
  async *events(request: ApiRequest, position: Position, signal: AbortSignal | undefined): AsyncGenerator<ServerEvent, void, undefined> {
    while (!position.ended) {
      position.begin();
      const asked = { ...request, headers: { ...request.headers, ...position.headers() } };
      let delay = backoff(position.fruitless - 1);
      try {
        const connection = await this.#open(asked, { ...(signal && { signal }) });
        if (connection === undefined) return;
        position.connected = true;
        yield* read(connection, position);
        position.closed();
      } catch (failure) {
        signal?.throwIfAborted();
        const again = delayAfter(failure, asked, position.fruitless - 1);
        if (again === null || position.givesUp()) throw failure;
        delay = again;
      }
      if (position.fruitless > 0 && !position.ended) await sleep(delay, signal);
    }
  }

  /** The body of a stream with its own deadline; undefined if there is nothing more to come. */
  async #open(request: ApiRequest, options: RequestOptions): Promise<Connection | undefined> {
    const deadline = new Deadline(LONG_MS, options.signal);
    let body: ReadableStream<Uint8Array> | undefined;
    try {
      body = await this.send(request, { ...options, signal: deadline.signal }, eventsOf);
      return body && { body, deadline };
    } finally {
      // A running timer would keep the program alive.
      if (body === undefined) deadline.end();
    }
  }
}

type Connection = { body: ReadableStream<Uint8Array>; deadline: Deadline };

async function* read({ body, deadline }: Connection, position: Position): AsyncGenerator<ServerEvent, void, undefined> {
  const reader = body.getReader();
  const decoder = new Decoder();
  // `send` has let go of the request: from here on this deadline ends it.
  const cancel = (): void => void reader.cancel().catch(() => undefined);
  deadline.signal.addEventListener("abort", cancel);
  try {
    if (deadline.signal.aborted) return;
    for (;;) {
      deadline.extend(QUIET_MS);
      const { done, value } = await reader.read().catch((failure: unknown) => {
        throw connectionError(failure, false);
      });
      if (done && deadline.passed) throw new APITimeoutError("The stream fell silent.");
      if (done) return;
      position.alive();
      for (const event of decoder.feed(value)) {
        if (position.isNew(event)) yield event;
        if (position.ended) return;
      }
    }
  } finally {
    deadline.signal.removeEventListener("abort", cancel);
    deadline.end();
    cancel();
  }
}

/** The body of a stream; undefined if the call has ended. A proxy's page is an error. */
async function eventsOf(response: Response): Promise<ReadableStream<Uint8Array> | undefined> {
  if (response.status === 204) return undefined;
  const [kind] = (response.headers.get("content-type") ?? "").split(";");
  if (kind?.trim().toLowerCase() !== "text/event-stream") throw await errorOf(response);
  return response.body ?? new Blob().stream();
}

/** Milliseconds to wait before a stream is opened again; null if it must not be. */
function delayAfter(failure: unknown, request: ApiRequest, attempt: number): number | null {
  if (failure instanceof APIConnectionError) return backoff(attempt);
  return failure instanceof APIError && AWAY.includes(failure.status) ? delayAfterError(request, failure, attempt) : null;
}

/** The body of a success. A proxy's page is an error. */
async function objectOf(response: Response): Promise<object> {
  const text = await response.text();
  let body: unknown;
  try {
    body = JSON.parse(text);
  } catch {
    // Said below.
  }
  if (typeof body === "object" && body !== null && !Array.isArray(body)) return body;
  throw new APIError(response.status, response.headers, text);
}

function connectionError(failure: unknown, timedOut: boolean): Error {
  if (timedOut) return new APITimeoutError("The service did not answer in time.", { cause: failure });
  const { message, cause } = failure instanceof Error ? failure : { message: String(failure), cause: undefined };
  const reason = cause instanceof Error ? cause.message || (cause as { code?: string }).code : undefined;
  return new APIConnectionError(reason ? `${message}: ${reason}` : message, { cause: failure });
}

export class Resource {
  constructor(protected readonly transport: Transport) {}

  protected async fetchJson<T>(request: ApiRequest, options: RequestOptions): Promise<T> {
    return (await this.transport.send(request, options, objectOf)) as T;
  }

  protected async fetchBytes(request: ApiRequest, options: RequestOptions): Promise<ArrayBuffer> {
    return (await this.transport.send(request, options, (response) => response.arrayBuffer())) ?? new ArrayBuffer(0);
  }

  protected async fetchNothing(request: ApiRequest, options: RequestOptions): Promise<void> {
    await this.transport.send(request, options, (response) => response.arrayBuffer());
  }

  protected fetchPages<T>(request: ApiRequest, options: RequestOptions): Pages<T> {
    return new Pages((cursor) => {
      const query = { ...request.query, ...(cursor === undefined ? {} : { cursor }) };
      return this.fetchJson<Page<T>>({ ...request, query }, options);
    });
  }

  protected async *follow<T>(
    request: ApiRequest,
    last: readonly string[],
    parse: (event: ServerEvent) => T,
    options: StreamOptions,
  ): AsyncGenerator<T, void, undefined> {
    const position = new Position(options.lastEventId, last);
    for await (const event of this.transport.events(request, position, options.signal)) {
      if (event.data !== "") yield parse(event);
    }
  }
}
