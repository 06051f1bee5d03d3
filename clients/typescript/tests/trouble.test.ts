/** The client against a service in trouble. */
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import * as switchhook from "../src/index.js";
import { Switchhook, type Options } from "../src/index.js";
import { Decoder, ServerEvent } from "../src/sse.js";
import { Double, event, problem, STREAM, type Answer } from "./double.js";

const CALL = { id: "c1", status: "queued" };
let doubles: Double[] = [];
/** How long the client waited; it does not wait in fact. */
const waits = vi.hoisted((): number[] => []);
vi.mock("../src/sleep.js", () => ({ sleep: async (milliseconds: number) => void waits.push(milliseconds) }));

beforeEach(() => void waits.splice(0));

afterEach(async () => {
  vi.unstubAllEnvs();
  vi.useRealTimers();
  await Promise.all(doubles.map((one) => one.stop()));
  doubles = [];
});

async function against(answers: Answer[], options: Options = {}): Promise<[Switchhook, Double]> {
  const double = await Double.start(...answers);
  doubles.push(double);
  return [new Switchhook({ apiKey: "vk_dev_any", baseUrl: double.url, ...options }), double];
}

async function all<T>(list: AsyncIterable<T>): Promise<T[]> {
  const found: T[] = [];
  for await (const one of list) found.push(one);
  return found;
}

const place = (client: Switchhook) => client.calls.create({ agent_id: "a", to: "+12025550100" });
const refusal = (promise: Promise<unknown>) => promise.then(() => expect.unreachable(), (error: unknown) => error as switchhook.APIError);

test("Retry-After is honoured", async () => {
  const [client] = await against([problem(429, "rate_limited", { "Retry-After": "7" }), { status: 201, body: CALL }]);
  expect((await place(client)).id).toBe("c1");
  expect(waits).toEqual([7000]);
});

test("a quota that is free next month is an error at once", async () => {
  const [client] = await against([problem(429, "quota_exceeded", { "Retry-After": "86400" })]);
  const error = await refusal(place(client));
  expect(error).toBeInstanceOf(switchhook.RateLimitError);
  expect([error.retryAfter, error.code, waits]).toEqual([86400, "quota_exceeded", []]);
});

test("a call is placed again with the same generated key", async () => {
  const [client, double] = await against([
    problem(500, "internal_error"),
    { reset: true },
    { status: 201, cut: '{"id":' },
    problem(409, "request_in_progress", { "Retry-After": "1" }),
    { status: 201, body: CALL },
    { status: 201, body: CALL },
  ]);
  expect((await place(client)).id).toBe("c1");
  await place(client);
  const keys = double.keys();
  expect(keys[0]).toMatch(/^[0-9a-f]{32}$/);
  expect(new Set(keys.slice(0, 5)).size, "the same key each time").toBe(1);
  expect(keys.slice(0, 5), "a new key for a new call").not.toContain(keys[5]);
  expect(double.received.map(({ body }) => body)).toEqual(Array(6).fill({ agent_id: "a", to: "+12025550100" }));
  expect(waits).toHaveLength(4);
  expect(waits[1]).toBeGreaterThanOrEqual(750);
  expect(waits[3]).toBe(1000);
});

test("a given key is kept", async () => {
  const [client, double] = await against([problem(503, "unavailable"), { status: 201, body: CALL }]);
  await client.calls.create({ agent_id: "a", to: "+12025550100" }, { idempotencyKey: "order-7" });
  expect(double.keys()).toEqual(["order-7", "order-7"]);
});

test("what could be done twice is not sent twice", async () => {
  const create = (client: Switchhook) => client.agents.create({ name: "Ava", instructions: "Sell." });
  const [failing, first] = await against([problem(500, "internal_error")]);
  expect(await refusal(create(failing))).toBeInstanceOf(switchhook.ServerError);
  const [reset, second] = await against([{ reset: true }]);
  expect(await refusal(create(reset))).toBeInstanceOf(switchhook.APIConnectionError);
  expect([first.received.length, second.received.length]).toEqual([1, 1]);
  // The service refused this one before it did anything.
  const [limited] = await against([problem(429, "rate_limited", { "Retry-After": "1" }), { status: 201, body: { id: "a1" } }]);
  expect((await create(limited)).id).toBe("a1");
});

test("retries end", async () => {
  const [client, double] = await against(Array(9).fill(problem(503, "unavailable")), { maxRetries: 2 });
  expect(await refusal(client.tenant.get())).toMatchObject({ status: 503, code: "unavailable" });
  expect([double.received.length, waits.length]).toEqual([3, 2]);
});

test("a deletion whose answer was lost succeeds", async () => {
  const [lost] = await against([{ reset: true }, problem(404, "not_found")]);
  await lost.agents.delete("a1");
  const [failed] = await against([problem(500, "internal_error"), problem(404, "not_found")]);
  await failed.agents.delete("a1");
  const [gone] = await against([problem(404, "not_found")]);
  expect(await refusal(gone.agents.delete("a1"))).toBeInstanceOf(switchhook.NotFoundError);
  // The rate limit refused the first attempt before it did anything.
  const [limited] = await against([problem(429, "rate_limited", { "Retry-After": "1" }), problem(404, "not_found")]);
  expect(await refusal(limited.agents.delete("a1"))).toBeInstanceOf(switchhook.NotFoundError);
});

test("a deletion that was never sent has deleted nothing", async () => {
  const refused = new TypeError("fetch failed", { cause: Object.assign(new Error("refused"), { code: "ECONNREFUSED" }) });
  const fetch = vi.fn<typeof globalThis.fetch>().mockRejectedValueOnce(refused).mockResolvedValueOnce(new Response("{}", { status: 404 }));
  const client = new Switchhook({ apiKey: "vk_dev_any", fetch });
  expect(await refusal(client.agents.delete("a1"))).toBeInstanceOf(switchhook.NotFoundError);
  expect(waits).toHaveLength(1);
});

test("a slow service is a timeout", async () => {
  const [client] = await against([{ silent: true }, { hold: '{"id":' }], { maxRetries: 0, timeout: 50 });
  expect(await refusal(client.tenant.get())).toBeInstanceOf(switchhook.APITimeoutError);
  expect(await refusal(client.tenant.get()), "in the middle of the body").toBeInstanceOf(switchhook.APITimeoutError);
});

test("the caller's signal ends a request at once", async () => {
  const [client, double] = await against([{ silent: true }]);
  const controller = new AbortController();
  const asked = refusal(client.tenant.get({ signal: controller.signal }));
  await vi.waitFor(() => expect(double.received).toHaveLength(1), 20_000);
  const reason = new Error("enough");
  controller.abort(reason);
  expect(await asked).toBe(reason);
  expect(double.received).toHaveLength(1);
});

test("a service that is not there", async () => {
  const [client, double] = await against([]);
  await double.stop();
  doubles = [];
  expect(await refusal(client.agents.create({ name: "Ava", instructions: "Sell." }))).toBeInstanceOf(switchhook.APIConnectionError);
  expect(waits, "a connection that was never made is tried again, whatever the request").toHaveLength(4);
});

test("a mistake of the caller is not trouble of the network", async () => {
  const [client, double] = await against([]);
  const keyed = client.calls.create({ agent_id: "a", to: "+12025550100" }, { idempotencyKey: "order\n7" });
  expect(await refusal(keyed)).toBeInstanceOf(TypeError);
  const endless: Record<string, unknown> = {};
  endless["metadata"] = endless;
  expect(await refusal(client.calls.create({ agent_id: "a", to: "+12025550100", metadata: endless }))).toBeInstanceOf(TypeError);
  for (const baseUrl of ["localhost:8080", "127.0.0.1:8080", "http://user:password@127.0.0.1:8080"]) {
    const lost = new Switchhook({ apiKey: "vk_dev_any", baseUrl });
    expect(await refusal(lost.tenant.get())).toBeInstanceOf(TypeError);
    expect(await refusal(lost.events.stream().next())).toBeInstanceOf(TypeError);
  }
  expect([double.received, waits]).toEqual([[], []]);
});

test("an error that is not JSON", async () => {
  const [client] = await against([{ status: 502, headers: { "X-Request-Id": "r1" } }], { maxRetries: 0 });
  expect(await refusal(client.tenant.get())).toMatchObject({ status: 502, code: "http_502", requestId: "r1", name: "ServerError" });
});

test.each([undefined, [1], "page"])("a success that is not from the service: %j", async (body) => {
  const [client, double] = await against([{ body }, { body }]);
  expect(await refusal(client.tenant.get())).toMatchObject({ name: "APIError", code: "http_200" });
  expect(await refusal(client.calls.list().first())).toBeInstanceOf(switchhook.APIError);
  expect(double.received).toHaveLength(2);
});

test("the parts of an error", async () => {
  const [client] = await against([problem(422, "invalid_request")]);
  const error = await refusal(client.calls.get("c1"));
  expect(error).toBeInstanceOf(switchhook.InvalidRequestError);
  expect(error).toMatchObject({ detail: "In trouble.", errors: [{ path: "to", message: "is wrong" }] });
  expect(error.message).toBe("In trouble. (status 422, code invalid_request, request 019a9d0c-5a5e-7c41-b0a5-3f1f4be0a9d1)");
});

test("a stream resumes after the last event", async () => {
  const [client, double] = await against([
    { headers: STREAM, cut: `: a comment\n\n${event(1, "call.queued", "\u2028one line é")}${event(2, "call.dialing").slice(0, -1)}` },
    problem(503, "unavailable"),
    { headers: STREAM, cut: event(1, "call.queued") + event(2, "call.dialing") },
    { headers: STREAM, hold: event(3, "call.completed") },
  ]);
  const events = await all(client.calls.streamEvents("c1"));
  expect(events.map(({ sequence }) => sequence)).toEqual([1, 2, 3]);
  expect(events[0]?.data["to"]).toBe("\u2028one line é");
  expect(double.received.map(({ headers }) => headers["last-event-id"])).toEqual([undefined, "1", "1", "2"]);
});

test("a stream of an ended call is empty", async () => {
  const [client, double] = await against([{ status: 204 }]);
  for await (const _ of client.calls.streamEvents("c1", { lastEventId: "5" })) expect.unreachable();
  expect(double.received[0]?.headers["last-event-id"]).toBe("5");
});

test("a stream gives up when the service stays away", async () => {
  const [client, double] = await against([{ headers: STREAM, cut: event(1, "call.queued") }], { maxRetries: 0 });
  const stream = client.calls.streamEvents("c1");
  expect((await stream.next()).value?.sequence).toBe(1);
  await double.stop();
  doubles = [];
  expect(await refusal(stream.next())).toBeInstanceOf(switchhook.APIConnectionError);
  expect(waits.length).toBeGreaterThanOrEqual(4);
  expect(waits.length).toBeLessThanOrEqual(6);
});

const DRAINING: Answer = { headers: STREAM };

/** Without their random part: rounded up to the delay that was drawn from. */
const backoffs = (delays: number[]) => delays.map((wait) => [500, 1000, 2000, 4000, 8000].find((full) => 0.75 * full <= wait && wait <= full));

test("a node that is stopping is asked less and less often", async () => {
  const first = { headers: STREAM, cut: event(1, "call.queued") };
  const last = { headers: STREAM, hold: event(2, "call.completed") };
  const [client, double] = await against([...Array(7).fill(DRAINING), { reset: true }, first, DRAINING, last], { maxRetries: 0 });
  const events = await all(client.calls.streamEvents("c1"));
  expect(events.map(({ sequence }) => sequence), "it does not give up, for the service is there").toEqual([1, 2]);
  // After what brought something it comes back at once, and the next delay is short again.
  expect(backoffs(waits)).toEqual([500, 1000, 2000, 4000, 8000, 8000, 8000, 8000, 500]);
  expect(double.received).toHaveLength(11);
});

test("a stream outlives a service that is away", async () => {
  const first = { headers: STREAM, cut: event(1, "call.queued") };
  const away = [problem(502, "bad_gateway"), problem(503, "unavailable", { "Retry-After": "7" }), problem(504, "timeout")];
  const [client] = await against([first, ...away, { headers: STREAM, hold: event(2, "call.completed") }], { maxRetries: 0 });
  expect((await all(client.calls.streamEvents("c1"))).map(({ sequence }) => sequence)).toEqual([1, 2]);
  expect(waits[1]).toBe(7000);
  expect(backoffs([waits[0]!, waits[2]!])).toEqual([500, 2000]);
  const [patient, gone] = await against([first, ...Array(9).fill(problem(503, "unavailable"))], { maxRetries: 0 });
  expect(await refusal(all(patient.calls.streamEvents("c1")))).toBeInstanceOf(switchhook.ServerError);
  expect(gone.received, "not for ever").toHaveLength(6);
  const [hasty, never] = await against([problem(503, "unavailable")], { maxRetries: 0 });
  expect(await refusal(all(hasty.calls.streamEvents("c1")))).toBeInstanceOf(switchhook.ServerError);
  expect(never.received, "it was never there").toHaveLength(1);
});

test.each(["application/json", "text/html; charset=utf-8", "text/event-stream-like"])("a success that is not a stream: %s", async (kind) => {
  const [client, double] = await against([{ body: "page", headers: { "Content-Type": kind } }]);
  expect(await refusal(all(client.calls.streamEvents("c1")))).toMatchObject({ name: "APIError", code: "http_200", body: "page" });
  expect(double.received).toHaveLength(1);
});

test("waiting for a call ends in time on a silent service", async () => {
  for (const answers of [[], [{ status: 204 }], [{ headers: STREAM, hold: ": a comment\n\n" }]]) {
    const [client, double] = await against([...answers, { silent: true }]);
    const error = await refusal(client.calls.wait("c1", { timeout: 200 }));
    expect(error).toBeInstanceOf(switchhook.WaitTimeoutError);
    expect(error.message).toBe("Call c1 had not ended after 200 milliseconds.");
    expect(double.received.length).toBeLessThanOrEqual(2);
  }
});

test("waiting for a call returns it", async () => {
  const ended = { ...CALL, status: "completed", ended_at: "2026-01-05T12:10:00Z" };
  const [client] = await against([{ headers: STREAM, hold: event(1, "call.completed") }, { body: ended }]);
  expect(await client.calls.wait("c1", { timeout: 20_000 })).toEqual(ended);
});

test.each([2 ** 31, Infinity])("a timeout of %d milliseconds is the longest of a timer, and does not end at once", async (timeout) => {
  const ended = { ...CALL, status: "completed", ended_at: "2026-01-05T12:10:00Z" };
  const [client] = await against([{ body: {} }, { headers: STREAM, hold: event(1, "call.completed") }, { body: ended }], { timeout });
  const timers = vi.spyOn(globalThis, "setTimeout");
  await client.tenant.get();
  const delays = timers.mock.calls.map((call) => call[1]);
  timers.mockRestore();
  expect(delays).toContain(2 ** 31 - 1);
  expect(await client.calls.wait("c1", { timeout })).toEqual(ended);
});

test("a stream that falls silent is a lost connection", async () => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  const fetch = vi.fn<typeof globalThis.fetch>(async () => new Response(new ReadableStream(), { headers: STREAM }));
  const asked = refusal(new Switchhook({ apiKey: "vk_dev_any", fetch }).calls.streamEvents("c1").next());
  for (let quiet = 0; quiet < 10; quiet++) await vi.advanceTimersByTimeAsync(45_000);
  expect(fetch).toHaveBeenCalledTimes(5);
  expect(await asked).toBeInstanceOf(switchhook.APITimeoutError);
  expect(backoffs(waits)).toEqual([500, 1000, 2000, 4000]);
});

test("events come in any pieces", () => {
  const decoder = new Decoder();
  const bytes = new TextEncoder().encode(`: comment\r\nretry: 5\r\n\r\nid: 7\r\nevent: line\r\ndata:a\u2028é\r\ndata: b\r\n\r\ndata: c\n\n`);
  const events = Array.from(bytes).flatMap((byte) => decoder.feed(Uint8Array.of(byte)));
  expect(events).toEqual([new ServerEvent("line", "a\u2028é\nb", "7"), new ServerEvent("message", "c", "7")]);
});

test("the caller's signal ends a stream", async () => {
  const [client] = await against([{ headers: STREAM, hold: event(1, "call.queued") }]);
  const controller = new AbortController();
  const stream = client.calls.streamEvents("c1", { signal: controller.signal });
  await stream.next();
  const next = refusal(stream.next());
  const reason = new Error("enough");
  controller.abort(reason);
  expect(await next).toBe(reason);
});

test("lists fetch the next page with the same filters", async () => {
  const page = { data: [CALL], has_more: true, next_cursor: "n" };
  const [client, double] = await against([{ body: page }, { body: { ...page, has_more: false, next_cursor: null } }]);
  const found = await all(client.calls.list({ status: ["queued", "failed"], metadata: { order: "7 & 8" }, created_after: new Date(0) }));
  expect(found).toHaveLength(2);
  const first = "/v1/calls?status=queued%2Cfailed&metadata%5Border%5D=7+%26+8&created_after=1970-01-01T00%3A00%3A00.000Z";
  expect(double.received.map(({ path }) => path)).toEqual([first, `${first}&cursor=n`]);
});

test("settings of the environment", async () => {
  const [, double] = await against([{ body: { id: "t1" } }]);
  vi.stubEnv("SWITCHHOOK_API_KEY", "vk_dev_named");
  vi.stubEnv("SWITCHHOOK_URL", `${double.url}/`);
  expect((await new Switchhook().tenant.get()).id).toBe("t1");
  expect(double.received[0]?.headers).toMatchObject({ authorization: "Bearer vk_dev_named", "user-agent": "switchhook-typescript/0.1.0" });
  vi.stubEnv("SWITCHHOOK_API_KEY", undefined);
  expect(() => new Switchhook()).toThrow("SWITCHHOOK_API_KEY");
});

test("an id that would change the path is refused", async () => {
  const [client, double] = await against([]);
  for (const id of ["", ".", ".."]) expect(() => client.calls.get(id)).toThrow("is not an id");
  expect(double.received).toEqual([]);
});

test("the key stays out of what is printed", async () => {
  const { inspect } = await import("node:util");
  const client = new Switchhook({ apiKey: "vk_dev_secret", baseUrl: "http://127.0.0.1:1" });
  expect(inspect(client, { depth: 9, showHidden: true })).not.toContain("secret");
  expect(JSON.stringify(client)).not.toContain("secret");
});
