import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { EVENTS, eventsWords, hostOf } from "./events";

test("every event of the API can be chosen", () => {
  const openapi = JSON.parse(readFileSync(new URL("../../../../docs/openapi.json", import.meta.url), "utf8")) as {
    components: { schemas: { EventKind: { enum: string[] } } };
  };
  expect(EVENTS.map(({ kind }) => kind).sort()).toEqual(openapi.components.schemas.EventKind.enum.sort());
});

test("an empty list means all events, as for the API", () => {
  expect(eventsWords([])).toBe("All events");
  expect(eventsWords(["call.completed"])).toBe("call.completed");
  expect(eventsWords(["call.completed", "call.failed"])).toBe("2 events");
});

test("an endpoint is known by its host", () => {
  expect(hostOf("https://hooks.example.com:8443/x?y")).toBe("hooks.example.com:8443");
  expect(hostOf("not a URL")).toBe("not a URL");
});
