/** No operation of the API is forgotten. */
import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { expect, test } from "vitest";
import { Switchhook } from "../src/index.js";

const root = resolve(import.meta.dirname, "../../..");
const read = (path: string) => JSON.parse(readFileSync(resolve(root, path), "utf8"));
const camel = (name: string) => name.replace(/_(\w)/g, (_, letter: string) => letter.toUpperCase());

test("every operation has a method", () => {
  const methods = Object.values(read("docs/openapi.json").paths as Record<string, Record<string, { operationId: string }>>);
  const operations = methods.flatMap((one) => Object.values(one)).map(({ operationId }) => operationId);
  expect(operations.length).toBeGreaterThan(50);
  const names = read("clients/operations.json") as Record<string, { method?: string; stream?: string }>;
  const client = new Switchhook({ apiKey: "vk_dev_any" }) as unknown as Record<string, Record<string, unknown>>;
  for (const operation of operations) {
    const method = names[operation]?.method ?? names[operation]?.stream;
    const [resource, name] = method?.split(".").map(camel) ?? [];
    expect(client[resource!]?.[name!], `${operation}: client.${method}`).toBeTypeOf("function");
  }
});

test("mistakes are found while typing", () => {
  const client = new Switchhook({ apiKey: "vk_dev_any" });
  const mistakes = [
    // @ts-expect-error there is no such field
    () => client.calls.create({ agent_id: "a", to: "+12025550100", nonsense: 1 }),
    // @ts-expect-error `to` is required
    () => client.calls.create({ agent_id: "a" }),
    // @ts-expect-error a list has filters of its own only
    () => client.calls.list({ color: "red" }),
    async () => {
      const agent = await client.agents.get("a");
      const seconds: number = agent.limits.ring_timeout_seconds;
      // @ts-expect-error a number has no letters
      return [seconds, agent.limits.ring_timeout_seconds.length];
    },
    // What a later service may send is accepted.
    () => client.calls.list({ status: "on_hold" }),
  ];
  expect(mistakes).toHaveLength(5);
});
