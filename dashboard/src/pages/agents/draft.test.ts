import { describe, expect, test } from "vitest";
import { readJson, writeJson } from "../../lib/json";
import {
  configOf,
  differences,
  diffLines,
  errorsByPath,
  isEqual,
  labelOf,
  mergePatch,
  valueAt,
  variablesIn,
  withValueAt,
  type JsonObject,
} from "./draft";

const ava = {
  id: "1",
  version: 12,
  name: "Ava",
  instructions: "Book tables.",
  greeting: { mode: "speak", text: "Hello", interruptible: true },
  stt: null,
  tools: [{ type: "end_call" }],
  variables: { name: { required: true, default: null } },
};

describe("what changed", () => {
  test("nothing, if only the service's own fields differ", () => {
    expect(differences(ava, { ...ava, version: 13, updated_at: "2026-11-22T10:00:00Z" })).toEqual([]);
  });

  test("each field by its path, lists as a whole", () => {
    const draft = { ...ava, greeting: { ...ava.greeting, text: "Good morning" }, tools: [] };
    expect(differences(ava, draft)).toEqual([
      { path: "greeting.text", before: "Hello", after: "Good morning" },
      { path: "tools", before: [{ type: "end_call" }], after: [] },
    ]);
  });

  test("long integers are compared by their digits, and sent as they are", () => {
    const limit = (digits: string) => readJson(`{"limit":${digits},"seats":4}`) as JsonObject;
    expect(isEqual(limit("9223372036854775807"), limit("9223372036854775807"))).toBe(true);
    const patch = mergePatch(limit("9223372036854775807"), limit("9223372036854775806"));
    expect(writeJson(patch)).toBe('{"limit":9223372036854775806}');
  });

  test("a missing field is the same as one that is not set", () => {
    expect(isEqual({ a: null }, {})).toBe(true);
    expect(isEqual([1, { b: 2, a: 1 }], [1, { a: 1, b: 2 }])).toBe(true);
    expect(isEqual([1], [1, 2])).toBe(false);
  });
});

describe("what is sent", () => {
  test("only the changed fields", () => {
    const draft = withValueAt(withValueAt(ava, "greeting.text", "Hi"), "name", "Eva");
    expect(mergePatch(ava, draft)).toEqual({ name: "Eva", greeting: { text: "Hi" } });
  });

  test("null for a variable that was removed, and a whole object where there was none", () => {
    const draft = { ...ava, variables: {}, stt: { connection_id: "c1", model: null } };
    expect(mergePatch(ava, draft)).toEqual({ variables: { name: null }, stt: { connection_id: "c1", model: null } });
  });

  test("never the fields that the service writes", () => {
    expect(Object.keys(configOf(ava))).toEqual(["name", "instructions", "greeting", "stt", "tools", "variables"]);
  });
});

describe("paths", () => {
  test("lead into lists and objects", () => {
    expect(valueAt(ava, "tools.0.type")).toBe("end_call");
    expect(valueAt(ava, "stt.model")).toBeUndefined();
  });

  test("set a value without touching the original", () => {
    const next = withValueAt(ava, "tools.0.description", "When done.");
    expect(valueAt(next, "tools.0")).toEqual({ type: "end_call", description: "When done." });
    expect(valueAt(ava, "tools.0")).toEqual({ type: "end_call" });
    expect(valueAt(withValueAt(ava, "stt.model", "nova-3"), "stt")).toEqual({ model: "nova-3" });
  });

  test.each([
    ["name", "Name"],
    ["greeting.text", "Greeting: text"],
    ["turn_taking.min_silence_ms", "Turn taking: min silence (milliseconds)"],
    ["stt.fallbacks.0.model", "STT: fallbacks: no. 1: model"],
  ])("%s reads %s", (path, words) => expect(labelOf(path)).toBe(words));
});

test("the API's errors stand at their fields, as sentences", () => {
  const errors = errorsByPath([
    { path: "tts.speed", message: "must be from 0.5 to 2" },
    { path: "tts.speed", message: "must be a number" },
    { path: "name", message: "Taken." },
  ]);
  expect([...errors]).toEqual([
    ["tts.speed", "Must be from 0.5 to 2."],
    ["name", "Taken."],
  ]);
});

test("variables are found as the service finds them", () => {
  expect(variablesIn("Hi {{name}}, {{ order.id }} and {{name}} again, not {{}} or {x}.")).toEqual(["name", "order.id"]);
});

test("two versions of a text are compared by line", () => {
  expect(diffLines("a\nb\nc", "a\nc\nd")).toEqual([
    { kind: "same", text: "a" },
    { kind: "removed", text: "b" },
    { kind: "same", text: "c" },
    { kind: "added", text: "d" },
  ]);
});
