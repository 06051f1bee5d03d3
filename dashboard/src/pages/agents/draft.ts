/** An agent's unsaved draft: what changed, what to send, and what it is called. Pure. */

import { isLosslessNumber } from "lossless-json";

/** JSON as the API sends and takes it. */
export type Json = null | boolean | number | string | Json[] | { [key: string]: Json | undefined };
export type JsonObject = { [key: string]: Json | undefined };

/** One field that differs; `null` where it is not set. */
export interface Change {
  path: string;
  before: Json;
  after: Json;
}

/** Fields that the service writes, and `traffic`, which is changed beside the draft. */
const READ_ONLY = new Set(["id", "version", "traffic", "created_at", "updated_at", "warnings"]);

export function isObject(value: Json | undefined): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value) && !isLosslessNumber(value);
}

/** Whether two values are equal; a missing field equals `null`, and the order of fields does not matter. */
export function isEqual(a: Json | undefined, b: Json | undefined): boolean {
  if (Array.isArray(a) && Array.isArray(b)) {
    return a.length === b.length && a.every((item, i) => isEqual(item, b[i]));
  }
  if (isObject(a) && isObject(b)) {
    return [...new Set([...Object.keys(a), ...Object.keys(b)])].every((key) => isEqual(a[key], b[key]));
  }
  if (isLosslessNumber(a) && isLosslessNumber(b)) return a.value === b.value;
  return (a ?? null) === (b ?? null);
}

/** Every field that differs, with lists and values compared as a whole. */
export function differences(before: JsonObject, after: JsonObject, prefix = ""): Change[] {
  const keys = [...new Set([...Object.keys(before), ...Object.keys(after)])];
  return keys.flatMap((key) => {
    const [a, b] = [before[key], after[key]];
    if ((prefix === "" && READ_ONLY.has(key)) || isEqual(a, b)) return [];
    if (isObject(a) && isObject(b)) return differences(a, b, `${prefix}${key}.`);
    return [{ path: prefix + key, before: a ?? null, after: b ?? null }];
  });
}

/** The merge patch (RFC 7396) that turns `saved` into `draft`. */
export function mergePatch(saved: JsonObject, draft: JsonObject): JsonObject {
  const patch: JsonObject = {};
  for (const key of new Set([...Object.keys(saved), ...Object.keys(draft)])) {
    const [a, b] = [saved[key], draft[key]];
    if (isEqual(a, b)) continue;
    patch[key] = isObject(a) && isObject(b) ? mergePatch(a, b) : (b ?? null);
  }
  return patch;
}

/** An agent without the fields that the service writes. */
export function configOf(agent: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(agent).filter(([key]) => !READ_ONLY.has(key)));
}

/** The value at a path such as `stt.fallbacks.1.model`; `undefined` where there is none. */
export function valueAt(value: Json | undefined, path: string): Json | undefined {
  return path.split(".").reduce<Json | undefined>((inner, key) => {
    if (Array.isArray(inner)) return inner[Number(key)];
    return isObject(inner) ? inner[key] : undefined;
  }, value);
}

/** A copy with the value at a path replaced; objects on the way are made where there are none. */
export function withValueAt(object: JsonObject, path: string, value: Json): JsonObject {
  return setIn(object, path.split("."), value) as JsonObject;
}

function setIn(target: Json | undefined, [key, ...rest]: string[], value: Json): Json {
  if (key === undefined) return value;
  if (Array.isArray(target)) {
    return target.map((item, i) => (i === Number(key) ? setIn(item, rest, value) : item));
  }
  const object = isObject(target) ? target : {};
  return { ...object, [key]: setIn(object[key], rest, value) };
}

const UNITS: [string, string][] = [
  ["_seconds", "seconds"],
  ["_ms", "milliseconds"],
  ["_days", "days"],
];

/** The abbreviations that stay in capitals. */
const CAPITALS = new Set(["stt", "llm", "tts", "dtmf", "url", "id"]);

/** A field's name in words: `turn_taking.min_silence_ms` is "Turn taking: min silence (milliseconds)". */
export function labelOf(path: string): string {
  return path
    .split(".")
    .map((part) => {
      const unit = UNITS.find(([suffix]) => part.endsWith(suffix));
      const name = unit ? part.slice(0, -unit[0].length) : part;
      const words = name.split("_").map((word) => (CAPITALS.has(word) ? word.toUpperCase() : word));
      const number = /^\d+$/.test(name) ? `no. ${Number(name) + 1}` : words.join(" ");
      return unit ? `${number} (${unit[1]})` : number;
    })
    .join(": ")
    .replace(/^./, (first) => first.toUpperCase());
}

/** The errors of the API by the path of their field, the first one of each. */
export function errorsByPath(errors: { path: string; message: string }[]): Map<string, string> {
  const byPath = new Map<string, string>();
  for (const { path, message } of errors) {
    if (!byPath.has(path)) byPath.set(path, sentence(message));
  }
  return byPath;
}

function sentence(message: string): string {
  const text = message.trim().replace(/^./, (first) => first.toUpperCase());
  return /[.!?]$/.test(text) ? text : `${text}.`;
}

/** The variables that a text names, each once. */
export function variablesIn(text: string): string[] {
  return [...new Set([...text.matchAll(/\{\{\s*([A-Za-z0-9_.-]+)\s*\}\}/g)].map((match) => match[1] ?? ""))];
}

/** One line of two texts, side by side. */
export interface DiffLine {
  kind: "same" | "removed" | "added";
  text: string;
}

/** The lines of two texts with what was removed and added, by their longest common subsequence. */
export function diffLines(before: string, after: string): DiffLine[] {
  const [a, b] = [before.split("\n"), after.split("\n")];
  const common = Array.from({ length: a.length + 1 }, () => new Uint32Array(b.length + 1));
  const at = (i: number, j: number): number => common[i]?.[j] ?? 0;
  for (let i = a.length - 1; i >= 0; i--) {
    const row = common[i];
    if (!row) continue;
    for (let j = b.length - 1; j >= 0; j--) {
      row[j] = a[i] === b[j] ? at(i + 1, j + 1) + 1 : Math.max(at(i + 1, j), at(i, j + 1));
    }
  }
  const lines: DiffLine[] = [];
  let [i, j] = [0, 0];
  while (i < a.length || j < b.length) {
    if (i < a.length && j < b.length && a[i] === b[j]) {
      lines.push({ kind: "same", text: a[i++] ?? "" });
      j++;
    } else if (i < a.length && (j >= b.length || at(i + 1, j) >= at(i, j + 1))) {
      lines.push({ kind: "removed", text: a[i++] ?? "" });
    } else {
      lines.push({ kind: "added", text: b[j++] ?? "" });
    }
  }
  return lines;
}
