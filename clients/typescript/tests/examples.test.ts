/** The examples do what they say, with the package as it is built. */
import { execFile, spawn, type ChildProcess } from "node:child_process";
import { resolve } from "node:path";
import { createInterface } from "node:readline";
import { promisify } from "node:util";
import { afterEach, expect, inject, test } from "vitest";
import { Switchhook } from "../src/index.js";

const { url, apiKey, agentId } = inject("furnished");
const client = new Switchhook({ apiKey, baseUrl: url });
let running: ChildProcess[] = [];

afterEach(() => {
  for (const one of running) one.kill();
  running = [];
});

class Example {
  readonly #process: ChildProcess;
  readonly #lines: AsyncIterableIterator<string>;
  #errors = "";

  constructor(name: string, args: string[] = [], env: Record<string, string> = {}) {
    const settings = { ...process.env, SWITCHHOOK_API_KEY: apiKey, SWITCHHOOK_URL: url, ...env };
    this.#process = spawn(process.execPath, [resolve(import.meta.dirname, "../examples", name), ...args], { env: settings });
    running.push(this.#process);
    this.#process.stderr!.on("data", (data) => (this.#errors += data));
    this.#lines = createInterface({ input: this.#process.stdout! })[Symbol.asyncIterator]() as AsyncIterableIterator<string>;
  }

  async line(): Promise<string> {
    const { value } = await this.#lines.next();
    return value ?? expect.fail(`It ended: ${this.#errors}`);
  }

  async result(): Promise<{ code: number | null; lines: string[]; errors: string }> {
    const exit = new Promise<number | null>((done) => this.#process.once("close", done));
    const lines: string[] = [];
    for await (const line of this.#lines) lines.push(line);
    return { code: await exit, lines, errors: this.#errors };
  }
}

test("place-call", async () => {
  const done = await new Example("place-call.mjs", [agentId, "+12025550108"]).result();
  expect(done.errors).toBe("");
  expect(done.lines.slice(0, 5)).toEqual(["call.queued", "call.dialing", "call.in_progress", "carrier.hangup", "call.completed"]);
  expect(done.lines[5]).toMatch(/^completed after \d+ s: /);
  expect(done.lines[6]).toMatch(/^ agent: Hello/);
  expect(done.code).toBe(0);
  const refused = await new Example("place-call.mjs", [agentId, "nobody"]).result();
  expect(refused).toMatchObject({ code: 1, lines: [] });
  expect(refused.errors).toContain("The call was not placed: to");
});

test("list-calls", async () => {
  const { id } = await client.calls.create({ agent_id: agentId, to: "+12025550101" });
  await client.calls.wait(id, { timeout: 30_000 });
  const done = await new Example("list-calls.mjs").result();
  expect(done.errors).toBe("");
  expect(done.lines.join("\n")).toContain("+12025550101  busy");
});

test("follow", async () => {
  const follower = new Example("follow.mjs");
  const seen = follower.line();
  let isSeen = false;
  void seen.then(() => (isSeen = true));
  // The stream starts when the service has the request: calls are placed until one is seen.
  for (let nth = 0; nth < 50 && !isSeen; nth++) {
    const { id } = await client.calls.create({ agent_id: agentId, to: "+12025550111" });
    await client.calls.wait(id, { timeout: 30_000 });
  }
  expect(await seen).toMatch(/ (call|carrier)\.\w+$/);
});

test("a stream that is refused leaves nothing running", async () => {
  const program = `import { Switchhook } from "@switchhook/client";
    await new Switchhook().events.stream().next().catch((error) => console.log(error.name));`;
  const root = resolve(import.meta.dirname, "..");
  const env = { ...process.env, SWITCHHOOK_API_KEY: "vk_dev_wrong", SWITCHHOOK_URL: url };
  const done = await promisify(execFile)(process.execPath, ["--input-type=module", "--eval", program], { cwd: root, env, timeout: 20_000 });
  expect(done.stdout).toBe("AuthenticationError\n");
});

test("webhook-receiver", async () => {
  // The secret comes with the endpoint, whose address needs the port: the endpoint is moved to the receiver.
  const endpoint = await client.webhooks.create({ url: "http://127.0.0.1:9/", events: ["call.completed"], enabled: false });
  const rotated = await client.webhooks.rotateSecret(endpoint.id);
  expect(rotated.secret).not.toBe(endpoint.secret);
  const receiver = new Example("webhook-receiver.mjs", ["0"], { WEBHOOK_SECRET: `${rotated.secret},${endpoint.secret}` });
  const address = (await receiver.line()).replace("listening on ", "");
  expect((await client.webhooks.update(endpoint.id, { url: address, enabled: true })).enabled).toBe(true);
  const call = await client.calls.create({ agent_id: agentId, to: "+12025550111" });
  expect(await receiver.line()).toBe(`call.completed ${call.id} completed`);

  // Nobody else's.
  const forged = await fetch(address, { method: "POST", body: '{"id":"x"}', headers: { "X-Voice-Signature": "t=1,v1=00" } });
  expect(forged.status).toBe(401);
  expect(await receiver.line()).toMatch(/^refused: /);

  const test = await client.webhooks.test(endpoint.id);
  expect(await receiver.line()).toMatch(/^webhook\.test/);
  expect((await client.webhooks.getDelivery(endpoint.id, test.id)).event).toBe("webhook.test");
  const [first] = (await client.webhooks.listDeliveries(endpoint.id, { event: "call.completed", call_id: call.id }).first()).data;
  await client.webhooks.redeliver(endpoint.id, first!.id);
  expect((await client.calls.listDeliveries(call.id).first()).data[0]?.webhook_id).toBe(endpoint.id);
  await client.webhooks.delete(endpoint.id);
});
