import { expect, test } from "vitest";
import { isUsable, keyState } from "./key-state";

const now = Date.parse("2026-11-22T12:00:00Z");

test.each([
  [null, null, "active", true],
  ["2027-11-22T12:00:00Z", null, "active", true],
  ["2026-11-29T12:00:00Z", null, "expiring", true],
  ["2026-11-29T12:00:01Z", null, "active", true],
  ["2026-11-22T12:00:00Z", null, "expired", false],
  [null, "2026-11-01T00:00:00Z", "revoked", false],
  ["2026-11-01T00:00:00Z", "2026-10-01T00:00:00Z", "revoked", false],
] as const)("a key that expires %s and was revoked %s is %s", (expires_at, revoked_at, state, usable) => {
  expect(keyState({ expires_at, revoked_at }, now)).toBe(state);
  expect(isUsable({ expires_at, revoked_at }, now)).toBe(usable);
});
