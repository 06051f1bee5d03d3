import { expect, test } from "vitest";
import { addressIn, readOptions, socketAddress } from "./options";

const SCRIPT = "https://voice.example.com/embed.js";

test("a token belongs to the service that sent the script", () => {
  expect(socketAddress("abc", SCRIPT)).toBe("wss://voice.example.com/media/web/abc");
  expect(socketAddress("abc", "http://127.0.0.1:8080/embed.js")).toBe("ws://127.0.0.1:8080/media/web/abc");
  expect(socketAddress("wss://other.example/media/web/abc", SCRIPT)).toBe("wss://other.example/media/web/abc");
  expect(socketAddress("../../v1", SCRIPT)).toBe("wss://voice.example.com/media/web/..%2F..%2Fv1");
});

test("attributes have defaults", () => {
  expect(readOptions({}, SCRIPT)).toEqual({
    url: null,
    tokenUrl: null,
    label: "Talk to us",
    agent: "Agent",
    target: null,
  });
  expect(readOptions({ token: "t", label: "Call", agent: "Ava", target: "#call" }, SCRIPT)).toEqual({
    url: "wss://voice.example.com/media/web/t",
    tokenUrl: null,
    label: "Call",
    agent: "Ava",
    target: "#call",
  });
});

test("the page's server may pass on the address, the token, or the call as the API made it", () => {
  const url = "wss://voice.example.com/media/web/t";
  expect(addressIn({ url }, SCRIPT)).toBe(url);
  expect(addressIn({ token: "t" }, SCRIPT)).toBe(url);
  expect(addressIn({ id: "c1", web: { url, expires_at: "…" } }, SCRIPT)).toBe(url);
  expect(addressIn({ error: "no" }, SCRIPT)).toBeNull();
  expect(addressIn("no", SCRIPT)).toBeNull();
});
