/** Whether an API key works, and for how long. Pure. */

import type { components } from "../../api/schema";

export type ApiKey = components["schemas"]["ApiKey"];
export type KeyState = "active" | "expiring" | "expired" | "revoked";

/** A key that expires within a week asks for a new one. */
const SOON_MS = 7 * 24 * 60 * 60 * 1000;

export function keyState(key: Pick<ApiKey, "expires_at" | "revoked_at">, now: number): KeyState {
  if (key.revoked_at) return "revoked";
  if (!key.expires_at) return "active";
  const left = Date.parse(key.expires_at) - now;
  if (left <= 0) return "expired";
  return left <= SOON_MS ? "expiring" : "active";
}

/** Whether a program can still use it. */
export function isUsable(key: Pick<ApiKey, "expires_at" | "revoked_at">, now: number): boolean {
  return ["active", "expiring"].includes(keyState(key, now));
}
