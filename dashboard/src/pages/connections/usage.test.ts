import { expect, test } from "vitest";
import { usersOf } from "./usage";

const agents = [
  { id: "a1", name: "Ava", stt: { connection_id: "c1" }, llm: null, tts: null, realtime: null, tools: [] },
  { id: "a2", name: "Ben", llm: { connection_id: "c2", fallbacks: [{ connection_id: "c1" }] } },
  { id: "a3", name: "Cem", tools: [{ type: "http" as const, connection_id: "c1" }] },
  { id: "a4", name: "Dan" },
];
const numbers = [{ id: "n1", number: "+12025550188", connection_id: "c1" }];

test("a connection is used by stages, fallbacks, tools and numbers", () => {
  expect(usersOf("c1", agents, numbers).map((user) => user.name)).toEqual(["Ava", "Ben", "Cem", "+12025550188"]);
});

test("an agent that uses the built-in models uses no connection", () => {
  expect(usersOf("c3", agents, numbers)).toEqual([]);
});
