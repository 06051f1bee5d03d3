import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { forgetToken, keepToken, keptToken } from "./token";

let shown: string | null = null;

function open(address: string): void {
  const { pathname, hash } = new URL(address, "https://voice.example.com");
  shown = address;
  const kept = new Map<string, string>();
  vi.stubGlobal("window", {
    location: { pathname, hash },
    history: { state: null, replaceState: (_: unknown, __: string, to: string) => (shown = to) },
    sessionStorage: {
      getItem: (key: string) => kept.get(key) ?? null,
      setItem: (key: string, value: string) => kept.set(key, value),
      removeItem: (key: string) => kept.delete(key),
    },
  });
}

beforeEach(() => (shown = null));
afterEach(() => vi.unstubAllGlobals());

test("the token leaves the address and stays until it is forgotten", () => {
  open("/invitation#secret");
  keepToken();
  expect([shown, keptToken()]).toEqual(["/invitation", "secret"]);
  keepToken();
  expect(keptToken()).toBe("secret");
  forgetToken();
  expect(keptToken()).toBeNull();
});

test("other addresses hold no token", () => {
  for (const address of ["/invitation", "/invitation#", "/calls/7#turn-3"]) {
    open(address);
    keepToken();
    expect([shown, keptToken()]).toEqual([address, null]);
  }
});
