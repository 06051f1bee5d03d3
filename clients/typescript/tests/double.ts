/** A small HTTP server that answers as the test says, for what the real service does only when it is in trouble. */
import { createServer, type IncomingHttpHeaders, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

export type Answer = {
  status?: number;
  body?: unknown;
  headers?: Record<string, string>;
  /** Close the connection with a reset instead of an answer. */
  reset?: boolean;
  /** Send these bytes, then close before the announced end. */
  cut?: string;
  /** Send these bytes and keep the connection. */
  hold?: string;
  /** Never answer. */
  silent?: boolean;
};

export type Received = { method: string; path: string; headers: IncomingHttpHeaders; body: unknown };

export const STREAM = { "Content-Type": "text/event-stream" };

export function problem(status: number, code: string, headers: Record<string, string> = {}): Answer {
  const errors = [{ path: "to", message: "is wrong" }];
  const body = { title: "Trouble", status, detail: "In trouble.", code, request_id: "019a9d0c-5a5e-7c41-b0a5-3f1f4be0a9d1", errors };
  return { status, body, headers };
}

export function event(number: number, name: string, text = ""): string {
  return `id: ${number}\nevent: ${name}\ndata: ${JSON.stringify({ sequence: number, event: name, data: { to: text } })}\n\n`;
}

/** Answers in the order of `answers`, and keeps what it was sent. */
export class Double {
  readonly received: Received[] = [];
  #server: Server;

  private constructor(readonly answers: Answer[]) {
    this.#server = createServer(async (request, response) => {
      const raw = (await request.toArray()).map(String).join("");
      const { method = "", url = "", headers } = request;
      this.received.push({ method, path: url, headers, body: raw && JSON.parse(raw) });
      reply(response, this.answers[this.received.length - 1] ?? { status: 500, body: { code: "not_expected" } });
    });
  }

  static async start(...answers: Answer[]): Promise<Double> {
    const double = new Double(answers);
    await new Promise<void>((done) => double.#server.listen(0, "127.0.0.1", done));
    return double;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  keys(): unknown[] {
    return this.received.map(({ headers }) => headers["idempotency-key"]);
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((done) => this.#server.close(done));
  }
}

function reply(response: ServerResponse, answer: Answer): void {
  if (answer.silent) return;
  if (answer.reset) {
    response.socket?.resetAndDestroy();
    return;
  }
  const headers = { "Content-Type": "application/json", ...answer.headers };
  const partial = answer.cut ?? answer.hold;
  if (partial === undefined) {
    response.writeHead(answer.status ?? 200, headers).end(answer.body === undefined ? undefined : JSON.stringify(answer.body));
    return;
  }
  response.writeHead(answer.status ?? 200, { ...headers, "Content-Length": Buffer.byteLength(partial) + 1000 });
  response.write(partial, () => answer.cut !== undefined && response.destroy());
}
