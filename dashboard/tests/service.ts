/** The service's API, for a test beside what the browser does. */
import { expect, type APIRequestContext } from "@playwright/test";
import { get } from "node:http";

export const BASE = process.env.SWITCHHOOK_URL ?? "http://127.0.0.1:8080";

/** A conversation takes a minute, on a busy machine more. */
export const ENDED_MS = 240_000;

export class Service {
  constructor(private readonly request: APIRequestContext) {}

  async get<T>(path: string): Promise<T> {
    const answer = await this.request.get(path);
    if (!answer.ok()) throw new Error(`GET ${path}: ${answer.status()} ${await answer.text()}`);
    return (await answer.json()) as T;
  }

  async bytes(path: string): Promise<Buffer> {
    return (await this.request.get(path)).body();
  }

  async post<T>(path: string, data: unknown): Promise<T> {
    return JSON.parse((await this.postForBytes(path, data)).toString()) as T;
  }

  async postForBytes(path: string, data: unknown): Promise<Buffer> {
    return this.send("POST", path, data);
  }

  async patch(path: string, data: unknown): Promise<void> {
    await this.send("PATCH", path, data);
  }

  async delete(path: string): Promise<void> {
    await this.send("DELETE", path, undefined);
  }

  /** Unsafe methods need the page's own origin. Text is sent as it is. */
  private async send(method: string, path: string, data: unknown): Promise<Buffer> {
    const headers: Record<string, string> = { origin: BASE };
    if (typeof data === "string") headers["content-type"] = "application/json";
    const answer = await this.request.fetch(path, { method, data, headers });
    if (!answer.ok()) throw new Error(`${method} ${path}: ${answer.status()} ${await answer.text()}`);
    return answer.body();
  }

  /** Waits until something was said. */
  async spoken(call: string): Promise<void> {
    const lines = () => this.get<{ data: unknown[] }>(`/v1/calls/${call}/transcript`);
    await expect.poll(async () => (await lines()).data.length, { timeout: ENDED_MS }).toBeGreaterThan(0);
  }

  /** Waits until the call is answered. */
  async answered(call: string): Promise<void> {
    const read = () => this.get<{ status: string }>(`/v1/calls/${call}`);
    await expect.poll(async () => (await read()).status, { timeout: 20_000 }).toBe("in_progress");
  }

  /** Waits until the call is over. */
  async ended(call: string): Promise<void> {
    const read = () => this.get<{ ended_at: string | null }>(`/v1/calls/${call}`);
    await expect.poll(async () => (await read()).ended_at, { timeout: ENDED_MS }).not.toBeNull();
  }
}

/** The status and the code with which the service refuses a websocket at this address; 101 where it takes it. */
export function statusOfSocket(address: string): Promise<[number, string]> {
  const upgrade = {
    connection: "Upgrade",
    upgrade: "websocket",
    "sec-websocket-version": "13",
    "sec-websocket-key": "AAAAAAAAAAAAAAAAAAAAAA==",
  };
  return new Promise((resolve, reject) => {
    const sent = get(address.replace(/^ws/, "http"), { headers: upgrade }, async (answer) => {
      const { code } = JSON.parse((await answer.toArray()).join("")) as { code: string };
      resolve([answer.statusCode ?? 0, code]);
    });
    sent.on("upgrade", (_, socket) => {
      socket.destroy();
      resolve([101, ""]);
    });
    sent.on("error", reject);
  });
}

export type Seed = {
  agent: string;
  /** The id of a whole conversation; `conversation` of the tests waits for its end. */
  conversation: string;
  busy: string;
  connection: string;
  /** An API key. */
  key: string;
  webhook: string;
};
