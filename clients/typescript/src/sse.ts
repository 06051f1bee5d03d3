/** Server-sent events. */

export class ServerEvent {
  constructor(
    readonly event: string,
    readonly data: string,
    readonly id: string,
  ) {}

  json<T>(): T {
    return JSON.parse(this.data) as T;
  }
}

/** Give it the bytes as they come. */
export class Decoder {
  #text = new TextDecoder();
  #rest = "";
  #event = "";
  #data: string[] = [];
  #id = "";

  /** The events that these bytes complete. */
  feed(chunk: Uint8Array): ServerEvent[] {
    const lines = (this.#rest + this.#text.decode(chunk, { stream: true })).split("\n");
    this.#rest = lines.pop() ?? "";
    return lines.map((line) => this.#line(line.replace(/\r$/, ""))).filter((event) => event !== null);
  }

  #line(line: string): ServerEvent | null {
    if (line === "") return this.#complete();
    const colon = line.indexOf(":");
    const name = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? "" : line.slice(colon + 1).replace(/^ /, "");
    if (name === "event") this.#event = value;
    else if (name === "data") this.#data.push(value);
    else if (name === "id" && !value.includes("\0")) this.#id = value;
    return null;
  }

  #complete(): ServerEvent | null {
    const event = this.#data.length ? new ServerEvent(this.#event || "message", this.#data.join("\n"), this.#id) : null;
    this.#event = "";
    this.#data = [];
    return event;
  }
}

/** Connections in a row that were lost and brought nothing before a stream gives up. */
const MAX_FAILURES = 5;
/** Around a reconnect an event can come twice. */
const REMEMBERED = 1000;

/** The position of a stream: the event it resumes after, and whether it has ended. */
export class Position {
  ended = false;
  /** Whether the service was ever there. */
  connected = false;
  /** Connections in a row that brought nothing, with this one until something comes. Each waits longer than the one before. */
  fruitless = 0;
  #failures = 0;
  #seen = new Set<string>();

  constructor(
    public lastEventId: string | undefined,
    private readonly last: readonly string[],
  ) {
    if (lastEventId !== undefined) this.#seen.add(lastEventId);
  }

  headers(): Record<string, string> {
    return { Accept: "text/event-stream", ...(this.lastEventId === undefined ? {} : { "Last-Event-ID": this.lastEventId }) };
  }

  /** A connection is about to be made. */
  begin(): void {
    this.fruitless += 1;
    this.#failures += 1;
  }

  /** Something came, if only a comment. */
  alive(): void {
    this.fruitless = this.#failures = 0;
  }

  /** The service ended the stream in good order, as a node does that is stopping: it is there, so this is no reason to give up. */
  closed(): void {
    this.#failures = 0;
  }

  /** After a lost connection: whether the service was never there, or is gone for long. */
  givesUp(): boolean {
    return !this.connected || this.#failures >= MAX_FAILURES;
  }

  isNew(event: ServerEvent): boolean {
    this.ended = this.last.includes(event.event);
    if (event.id === "") return true;
    this.lastEventId = event.id;
    if (this.#seen.has(event.id)) return false;
    this.#seen.add(event.id);
    if (this.#seen.size > REMEMBERED) for (const oldest of this.#seen) return this.#seen.delete(oldest);
    return true;
  }
}
