/** One service for all tests: the real binary, on a free loopback port with a new data folder. */
import { execFileSync, spawn, type ChildProcess } from "node:child_process";
import { chmodSync, existsSync, mkdtempSync, openSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { createInterface } from "node:readline";
import type { TestProject } from "vitest/node";
import { Switchhook } from "../src/index.js";

const REPOSITORY = resolve(import.meta.dirname, "../../..");
// No test should meet the limits by accident.
const LIMITS = ["--rate-limit", "100000", "--concurrent-calls", "1000"];

export type Furnished = {
  url: string;
  apiKey: string;
  agentId: string;
  connectionId: string;
  number: string;
  /** A key that may send three requests a minute. */
  smallKey: string;
};

declare module "vitest" {
  export interface ProvidedContext {
    furnished: Furnished;
  }
}

function binary(): string {
  const target = process.env["CARGO_TARGET_DIR"] ?? join(REPOSITORY, "target");
  const found = resolve(process.env["SWITCHHOOK_BINARY"] ?? join(target, "debug", "switchhook"));
  if (!existsSync(found)) throw new Error(`There is no ${found}. Build it with \`cargo build -p switchhook\`, or name another with SWITCHHOOK_BINARY.`);
  return found;
}

export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const folder = mkdtempSync(join(tmpdir(), "switchhook-client-"));
  chmodSync(folder, 0o700);
  const inherited = Object.entries(process.env).filter(([name]) => !name.startsWith("SWITCHHOOK_"));
  const env = {
    ...Object.fromEntries(inherited),
    SWITCHHOOK_DATA_DIR: join(folder, "data"),
    SWITCHHOOK_SHUTDOWN_DELAY: "0s",
    // The receivers of webhooks are on this machine.
    SWITCHHOOK_WEBHOOK_ALLOW: "127.0.0.1/32,http",
  };
  const run = (...args: string[]): string => execFileSync(binary(), args, { env, encoding: "utf8" });
  run("migrate");
  const service = spawn(binary(), ["serve", "--listen", "127.0.0.1:0"], { env, stdio: ["ignore", "pipe", openSync(join(folder, "log"), "w")] });
  const stop = async (): Promise<void> => {
    await ended(service);
    rmSync(folder, { recursive: true });
  };
  try {
    const url = await address(service);
    const key = (name: string, limits: string[]): string => JSON.parse(run("tenant", "create", name, ...limits, "--json")).api_key.key;
    project.provide("furnished", await furnish(url, key("first", LIMITS), key("small", ["--rate-limit", "3"])));
  } catch (error) {
    await stop();
    throw error;
  }
  return stop;
}

async function address(service: ChildProcess): Promise<string> {
  for await (const line of createInterface({ input: service.stdout! })) {
    const found = /http:\/\/[^\s/]+/.exec(line);
    if (found) return found[0];
  }
  throw new Error("The service did not start.");
}

async function ended(service: ChildProcess): Promise<void> {
  if (service.exitCode !== null) return;
  const exit = new Promise((done) => service.once("exit", done));
  const late = setTimeout(() => service.kill("SIGKILL"), 20_000);
  service.kill("SIGTERM");
  await exit;
  clearTimeout(late);
}

/** A tenant with an agent that needs no models and a number on a fast simulator. */
async function furnish(url: string, apiKey: string, smallKey: string): Promise<Furnished> {
  const client = new Switchhook({ apiKey, baseUrl: url });
  const scripted = { connection_id: (await client.connections.create({ name: "no models", provider: "scripted" })).id };
  const carrier = await client.connections.create({ name: "simulator", provider: "simulator", settings: { time_scale: 0.05 } });
  const agent = await client.agents.create({
    name: "Ava",
    instructions: "Book a table.",
    stt: scripted,
    llm: scripted,
    tts: scripted,
    recording: { enabled: true },
  });
  const number = await client.numbers.create({ number: "+12025550188", connection_id: carrier.id, inbound_agent_id: agent.id });
  return { url, apiKey, agentId: agent.id, connectionId: carrier.id, number: number.number, smallKey };
}
