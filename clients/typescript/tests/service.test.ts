/** The client against the real service. */
import { randomUUID } from "node:crypto";
import { expect, inject, test } from "vitest";
import { AuthenticationError, ConflictError, InvalidRequestError, NotFoundError, RateLimitError, Switchhook, WaitTimeoutError } from "../src/index.js";

const { url, apiKey, agentId, connectionId, number, smallKey } = inject("furnished");
const client = new Switchhook({ apiKey, baseUrl: url });

const ENDS_AT_ONCE = "+12025550111";
const BUSY = "+12025550101";
const HOLDS = "+12025550109";
const HANGS_UP_IN_A_SENTENCE = "+12025550108";

async function all<T>(list: AsyncIterable<T>): Promise<T[]> {
  const found: T[] = [];
  for await (const one of list) found.push(one);
  return found;
}

const refusal = (promise: Promise<unknown>) => promise.then(() => expect.unreachable(), (error: unknown) => error);

test("a call is placed, followed and read", async () => {
  const placed = await client.calls.create({ agent_id: agentId, to: HANGS_UP_IN_A_SENTENCE, metadata: { order: 7 } });
  expect(placed).toMatchObject({ status: "queued", from: number });

  const events = await all(client.calls.streamEvents(placed.id));
  expect(events.map(({ event }) => event)).toEqual(["call.queued", "call.dialing", "call.in_progress", "carrier.hangup", "call.completed"]);

  const call = await client.calls.wait(placed.id, { timeout: 30_000 });
  expect(call).toMatchObject({ status: "completed", end_reason: "caller_hangup", metadata: { order: 7 } });
  expect((await client.calls.events(call.id)).data).toEqual(events);
  expect((await client.calls.transcript(call.id)).data[0]?.role).toBe("agent");
  const transcript = await all(client.calls.streamTranscript(call.id));
  expect(transcript[0]).toMatchObject({ event: "line", line: { role: "agent" } });
  expect(transcript.at(-1)).toEqual({ event: "end", status: "completed" });
  expect(Buffer.from(await client.calls.recording(call.id)).subarray(0, 4).toString()).toBe("RIFF");
  expect((await client.calls.recording(call.id, { range: "bytes=0-3" })).byteLength).toBe(4);
  expect((await client.calls.decisions(call.id)).data).toEqual([]);
});

test("a failed call says why", async () => {
  const placed = await client.calls.create({ agent_id: agentId, to: BUSY });
  expect(await client.calls.wait(placed.id, { timeout: 30_000 })).toMatchObject({ status: "failed", error_code: "busy" });
});

test("a live call is controlled", async () => {
  const { id } = await client.calls.create({ agent_id: agentId, to: HOLDS });
  for await (const { event } of client.calls.streamEvents(id)) if (event === "call.in_progress") break;
  expect((await client.calls.say(id, { text: "One moment, please." })).status).toBe("in_progress");
  expect((await client.calls.sendDtmf(id, { digits: "12#" })).id).toBe(id);
  expect((await client.calls.listen(id)).url).toMatch(/^ws/);
  expect(await refusal(client.calls.wait(id, { timeout: 300 }))).toBeInstanceOf(WaitTimeoutError);
  await client.calls.hangUp(id);
  expect((await client.calls.wait(id, { timeout: 30_000 })).end_reason).toBe("api_hangup");
  expect(await refusal(client.calls.transfer(id, { to: "+12025550100" }))).toBeInstanceOf(ConflictError);
});

test("lists fetch their pages and filters reach the service", async () => {
  const batch = randomUUID();
  const begun = new Date(Date.now() - 1000).toISOString();
  const placed: string[] = [];
  for (let nth = 0; nth < 5; nth++) {
    const { id } = await client.calls.create({ agent_id: agentId, to: ENDS_AT_ONCE, metadata: { batch } });
    await client.calls.wait(id, { timeout: 30_000 });
    placed.unshift(id);
  }
  const filter = { metadata: { batch }, limit: 2, status: ["completed", "failed"], created_after: begun, from: number };
  expect((await all(client.calls.list(filter))).map(({ id }) => id)).toEqual(placed);
  expect((await all(client.calls.list(filter).pages())).map(({ data }) => data.length)).toEqual([2, 2, 1]);
  expect(await all(client.calls.list({ ...filter, status: "failed" }))).toEqual([]);
  expect((await client.events.list({ limit: 1 }).first()).data).toHaveLength(1);
});

test("an idempotency key places one call", async () => {
  const options = { idempotencyKey: randomUUID() };
  const first = await client.calls.create({ agent_id: agentId, to: ENDS_AT_ONCE }, options);
  expect((await client.calls.create({ agent_id: agentId, to: ENDS_AT_ONCE }, options)).id).toBe(first.id);
  expect(await refusal(client.calls.create({ agent_id: agentId, to: BUSY }, options))).toMatchObject({ code: "idempotency_key_reused" });
});

test("agents are changed and restored", async () => {
  const config = { name: `Ben ${randomUUID()}`, instructions: "Sell.", greeting: { text: "Hi!" } };
  const made = await client.agents.create({ ...config, ...{ nonsense: 1 } });
  expect(made.warnings).toContain("Unknown field nonsense was ignored.");
  expect([made.greeting.text, made.limits.ring_timeout_seconds]).toEqual(["Hi!", 30]);
  const changed = await client.agents.update(made.id, { greeting: null, limits: { ring_timeout_seconds: 20 } });
  expect([changed.version, changed.greeting.text, changed.limits.ring_timeout_seconds]).toEqual([2, "Hello, how can I help you?", 20]);
  expect((await all(client.agents.listVersions(made.id))).map(({ version }) => version)).toEqual([2, 1]);
  expect((await client.agents.getVersion(made.id, 1)).greeting.text).toBe("Hi!");
  expect((await client.agents.restoreVersion(made.id, 1)).version).toBe(3);
  await client.agents.delete(made.id);
  expect(await refusal(client.agents.get(made.id))).toBeInstanceOf(NotFoundError);
});

test("the rest of the tenant", async () => {
  const key = await client.apiKeys.create({ name: "ci", expires_in_days: 1 });
  const other = new Switchhook({ apiKey: key.key, baseUrl: url });
  expect((await other.tenant.get()).id).toBe((await client.tenant.get()).id);
  await client.apiKeys.revoke(key.id);
  expect(await refusal(other.tenant.get())).toBeInstanceOf(AuthenticationError);
  expect((await client.apiKeys.get(key.id)).revoked_at).not.toBeNull();

  expect((await client.connections.get(connectionId)).provider).toBe("simulator");
  expect((await client.connections.test(connectionId)).ok).toBe(true);
  expect(await refusal(client.connections.delete(connectionId))).toMatchObject({ code: "connection_in_use" });

  const [line] = (await client.numbers.list().first()).data;
  expect((await client.numbers.update(line!.id, { label: "Front desk" })).label).toBe("Front desk");
  const inbound = await client.simulator.call({ to: number, from: ENDS_AT_ONCE });
  expect((await client.calls.wait(inbound.id, { timeout: 30_000 })).direction).toBe("inbound");

  const person = await client.people.invite({ email: "ava@example.com", role: "member" });
  expect((await client.people.update(person.id, { role: "viewer" })).role).toBe("viewer");
  await client.people.remove(person.id);

  expect((await client.statistics.get({ interval: "hour" })).totals.calls).toBeGreaterThan(0);
  expect((await client.usage.get()).totals.calls).toBeGreaterThan(0);
  expect(Array.isArray((await client.attention.get()).data)).toBe(true);
});

test("the stream of all calls can be resumed", async () => {
  const { id } = await client.calls.create({ agent_id: agentId, to: ENDS_AT_ONCE });
  await client.calls.wait(id, { timeout: 30_000 });
  const events = (await client.events.list({ limit: 100 }).first()).data;
  const before = events[events.findLastIndex((one) => one.call_id === id) + 1];
  expect(before, "an event of an earlier call").toBeDefined();
  const seen: string[] = [];
  // Events of the last seconds can come again.
  for await (const event of client.events.stream({ lastEventId: before!.id })) {
    if (event.call_id === id) seen.push(event.event);
    if (seen.includes("call.completed")) break;
  }
  expect(seen).toEqual(["call.queued", "call.dialing", "call.in_progress", "carrier.hangup", "call.completed"]);
});

test("errors say what to do", async () => {
  const error = (await refusal(client.agents.create({ name: "", instructions: "Sell." }))) as InvalidRequestError;
  expect(error).toBeInstanceOf(InvalidRequestError);
  expect(error).toMatchObject({ status: 422, code: "invalid_request", errors: [{ path: "name" }] });
  expect(error.requestId).toMatch(/^[0-9a-f-]{36}$/);
  expect(await refusal(client.calls.get(randomUUID()))).toMatchObject({ detail: "No such call.", status: 404 });
  expect(await refusal(new Switchhook({ apiKey: "vk_dev_wrong", baseUrl: url }).tenant.get())).toBeInstanceOf(AuthenticationError);
});

test("a quota is an error with its wait", async () => {
  const small = new Switchhook({ apiKey: smallKey, baseUrl: url, maxRetries: 0 });
  for (let nth = 0; nth < 3; nth++) await small.tenant.get();
  const error = (await refusal(small.tenant.get())) as RateLimitError;
  expect(error).toBeInstanceOf(RateLimitError);
  expect(error.retryAfter).toBeGreaterThan(0);
  expect(error.retryAfter).toBeLessThanOrEqual(60);
});
