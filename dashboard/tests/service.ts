/** The service's API with the session of whoever is signed in. */
import type { APIRequestContext } from "@playwright/test";

export const BASE = process.env.SWITCHHOOK_URL ?? "http://127.0.0.1:8080";

export class Service {
  constructor(private readonly request: APIRequestContext) {}

  async get<T>(path: string): Promise<T> {
    const answer = await this.request.get(path);
    if (!answer.ok()) throw new Error(`GET ${path}: ${answer.status()} ${await answer.text()}`);
    return (await answer.json()) as T;
  }

  /** Unsafe methods need the page's own origin. */
  async post<T>(path: string, data: unknown): Promise<T> {
    const answer = await this.request.post(path, { data, headers: { origin: BASE } });
    if (!answer.ok()) throw new Error(`POST ${path}: ${answer.status()} ${await answer.text()}`);
    return (await answer.json()) as T;
  }

  async ended(call: string): Promise<void> {
    // A conversation takes a minute, on a busy machine more.
    const until = Date.now() + 240_000;
    while (Date.now() < until) {
      const { ended_at } = await this.get<{ ended_at: string | null }>(`/v1/calls/${call}`);
      if (ended_at !== null) return;
      await new Promise((done) => setTimeout(done, 1500));
    }
    throw new Error(`call ${call} does not end`);
  }
}

export type Seed = { agent: string; conversation: string; busy: string };
