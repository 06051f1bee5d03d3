/** JSON as the API writes it: integers that JavaScript would round keep their digits. */
import { isSafeNumber, LosslessNumber, parse, stringify } from "lossless-json";

/** A number too long for JavaScript, perhaps within a string. Reading without loss is slower, and hardly ever needed. */
const LONG_NUMBER = /[:[,]\s*-?[\d.]{16,}/;

/** Reads JSON; throws a `SyntaxError` for anything else. */
export function readJson(text: string): unknown {
  if (!LONG_NUMBER.test(` ,${text}`)) return JSON.parse(text);
  return parse(text, null, (digits) => (isSafeNumber(digits) ? Number(digits) : new LosslessNumber(digits)));
}

/** Writes JSON, as `JSON.stringify` does. */
export function writeJson(value: unknown, indent?: number): string {
  return stringify(value, null, indent) ?? "null";
}

/** A value for people: text without its quotation marks, anything else as JSON. */
export function shownValue(value: unknown): string {
  return typeof value === "string" ? value : writeJson(value);
}
