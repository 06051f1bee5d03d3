import { describe, expect, test } from "vitest";
import {
  bytes,
  cost,
  count,
  duration,
  initials,
  milliseconds,
  percent,
  phone,
  plural,
  relativeTime,
  spokenDuration,
} from "./format";

const now = new Date(2026, 10, 22, 14, 3, 7);
const before = (ms: number) => relativeTime(new Date(now.getTime() - ms), now);

describe("relative time", () => {
  test.each([
    [4_999, "now"],
    [5_000, "5 seconds ago"],
    [59_999, "59 seconds ago"],
    [60_000, "1 minute ago"],
    [3_599_999, "59 minutes ago"],
    [3_600_000, "1 hour ago"],
    [86_399_999, "23 hours ago"],
    [86_400_000, "21 Nov, 14:03"],
    [-240_000, "in 4 minutes"],
  ])("%d ms before now reads %s", (ms, text) => expect(before(ms)).toBe(text));

  test("is brief in tables", () => {
    expect(relativeTime(new Date(now.getTime() - 120_000), now, true)).toBe("2 min ago");
  });

  test("names the year where it is another one", () => {
    expect(relativeTime(new Date(2025, 0, 5, 9, 0, 0), now)).toBe("5 Jan 2025, 09:00");
  });
});

test.each([
  [0, "0:00"],
  [37.9, "0:37"],
  [60, "1:00"],
  [3729, "1:02:09"],
  [-1, "0:00"],
])("%d s last %s", (seconds, text) => expect(duration(seconds)).toBe(text));

test.each([
  [461, "461 ms"],
  [999.4, "999 ms"],
  [1180, "1.18 s"],
  [37_400, "37.4 s"],
])("%d ms read %s", (ms, text) => expect(milliseconds(ms)).toBe(text));

test.each([
  [1, "1 second"],
  [14, "14 seconds"],
  [61, "1 minute 1 second"],
])("%d s are spoken %s", (seconds, text) => expect(spokenDuration(seconds)).toBe(text));

test.each([
  [0.0143, false, "$0.0143"],
  [12.5, false, "$12.50"],
  [0, false, "$0.00"],
  [0.0143, true, "at least $0.0143"],
  [null, false, "–"],
] as const)("%s dollars read %s", (dollars, unpriced, text) => expect(cost(dollars, unpriced)).toBe(text));

test.each([
  ["+12025550100", "+1 202 555 0100"],
  ["+442079460958", "+44 207 946 0958"],
  ["+4930901820", "+49 3090 1820"],
  ["+35312345678", "+353 1234 5678"],
  ["+4912345678901", "+49 123 4567 8901"],
  ["sip:ava@pbx.example", "sip:ava@pbx.example"],
  ["web", "web"],
  ["anonymous", "anonymous"],
])("%s reads %s and loses no digit", (number, text) => {
  expect(phone(number)).toBe(text);
  expect(text.replaceAll(" ", "")).toBe(number);
});

test("counts, shares, sizes and initials", () => {
  expect(count(18402)).toBe("18,402");
  expect(percent(0.9638)).toBe("96.4 %");
  expect(plural(1, "call")).toBe("1 call");
  expect(plural(2000, "delivery", "deliveries")).toBe("2,000 deliveries");
  expect(bytes(1_420_000)).toBe("1.4 MB");
  expect(initials("Sam van Miller")).toBe("SM");
  expect(initials("sam@harbor.example")).toBe("SE");
  expect(initials("Ava")).toBe("A");
});
