/** What each generated client is used for; see Client. */
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { Webhook } from "standardwebhooks";

const setting = (name: string): string => process.env[name] ?? assert.fail(`${name} is not set`);
export const URL = setting("SWITCHHOOK_URL");
export const KEY = setting("SWITCHHOOK_API_KEY");
export const SMALL_KEY = setting("SWITCHHOOK_SMALL_KEY");
export const UNKNOWN = "0198c6a0-0000-7000-8000-000000000000";

// Numbers of the simulator.
const HANGS_UP_IN_A_SENTENCE = "+12025550108";
const BUSY = "+12025550101";
const ENDS = ["call.completed", "call.failed"];

/** What a typed error said. */
export type Refusal = { status: number; code: string; path?: string | undefined; retryAfter?: string | null };
export type Page = { ids: string[]; next: string | null };
export type Event = { kind: string; call: string; sequence: number };

/** A generated client, in the types of its own. */
export interface Client {
  connect(name: string, provider: "scripted" | "simulator", settings: Record<string, unknown>): Promise<string>;
  agent(connection: string): Promise<string>;
  number(connection: string): Promise<string>;
  webhook(url: string): Promise<string>;
  call(agent: string, to: string, batch: string, key: string): Promise<string>;
  /** A page of one call that is completed or failed and has this metadata. */
  calls(batch: string, cursor: string | null): Promise<Page>;
  greet(agent: string, text: string): Promise<void>;
  greeting(agent: string): Promise<{ name: string; text: string }>;
  callUnknownAgent(): Promise<Refusal>;
  listAgents(key: string): Promise<Refusal | null>;
  stream(call: string): AsyncIterable<Event>;
  /** What a webhook received. */
  delivered(body: unknown): Event;
}

type Delivery = { headers: Record<string, string>; body: string };

/** Takes deliveries of webhooks. */
async function receiver(): Promise<{ url: string; deliveries: () => AsyncIterable<Delivery>; close: () => void }> {
  const arrived: Delivery[] = [];
  let wake = (): void => undefined;
  const server = createServer(async (request, response) => {
    const parts: Buffer[] = [];
    for await (const part of request) parts.push(part as Buffer);
    response.writeHead(204).end();
    arrived.push({ headers: request.headers as Record<string, string>, body: Buffer.concat(parts).toString() });
    wake();
  });
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
  async function* deliveries(): AsyncIterable<Delivery> {
    for (;;) {
      const next = arrived.shift();
      if (next) yield next;
      else await new Promise<void>((more) => (wake = more));
    }
  }
  const close = (): void => {
    server.close();
    server.closeAllConnections();
  };
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hooks`, deliveries, close };
}

/** The `data` of each server-sent event, for clients that cannot read a stream. */
export async function* sent(body: ReadableStream<Uint8Array> | null): AsyncIterable<unknown> {
  assert(body);
  let rest = "";
  for await (const part of body.pipeThrough(new TextDecoderStream() as ReadableWritablePair<string, Uint8Array>)) {
    const lines = (rest + part).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) if (line.startsWith("data:")) yield JSON.parse(line.slice(5));
  }
}

export async function tell(client: Client): Promise<void> {
  const { url, deliveries, close } = await receiver();
  const agent = await client.agent(await client.connect("no models", "scripted", {}));
  await client.number(await client.connect("simulator", "simulator", { time_scale: 0.05 }));
  const webhook = new Webhook(await client.webhook(url));

  const [batch, key] = [randomUUID(), randomUUID()];
  const completed = await client.call(agent, HANGS_UP_IN_A_SENTENCE, batch, key);
  assert.equal(await client.call(agent, HANGS_UP_IN_A_SENTENCE, batch, key), completed);
  const streamed = await all(client.stream(completed));
  assert.deepEqual(streamed.map(({ sequence }) => sequence), streamed.map((_, nth) => nth + 1));
  assert.deepEqual([streamed[0]?.kind, streamed.at(-1)?.kind], ["call.queued", "call.completed"]);
  const failed = await client.call(agent, BUSY, batch, randomUUID());
  assert.equal((await all(client.stream(failed))).at(-1)?.kind, "call.failed");
  const other = await client.call(agent, BUSY, "another", randomUUID());
  assert.equal((await all(client.stream(other))).at(-1)?.kind, "call.failed");

  const first = await client.calls(batch, null);
  assert.deepEqual(first.ids, [failed]);
  assert.deepEqual(await client.calls(batch, first.next), { ids: [completed], next: null });

  await client.greet(agent, "Good morning!");
  assert.deepEqual(await client.greeting(agent), { name: "Ava", text: "Good morning!" });

  assert.deepEqual(await client.callUnknownAgent(), { status: 422, code: "invalid_request", path: "agent_id" });
  const refusal = await firstRefusal(client);
  assert.deepEqual([refusal.status, refusal.code, Number(refusal.retryAfter) > 0], [429, "rate_limited", true]);

  await receive(client, webhook, deliveries(), [completed, failed, other], streamed);
  close();
}

/** Three requests are allowed. */
async function firstRefusal(client: Client): Promise<Refusal> {
  for (let nth = 0; nth < 4; nth++) {
    const refusal = await client.listAgents(SMALL_KEY);
    if (refusal) return refusal;
  }
  return assert.fail("four requests were allowed");
}

/** Verifies and parses deliveries until each call has ended, and compares those of the first with what was streamed. */
async function receive(client: Client, webhook: Webhook, deliveries: AsyncIterable<Delivery>, calls: string[], streamed: Event[]): Promise<void> {
  const ended = new Set<string>();
  const delivered: Event[] = [];
  for await (const { headers, body } of deliveries) {
    const event = client.delivered(webhook.verify(body, headers));
    if (ENDS.includes(event.kind)) ended.add(event.call);
    if (event.call === calls[0]) delivered.push(event);
    if (ended.size === calls.length && delivered.length >= streamed.length) break;
  }
  assert.deepEqual(delivered.sort((one, other) => one.sequence - other.sequence), streamed);
}

async function all<T>(items: AsyncIterable<T>): Promise<T[]> {
  const found: T[] = [];
  for await (const item of items) found.push(item);
  return found;
}
