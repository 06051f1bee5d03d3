import { expect, test } from "vitest";
import { dayLabel, daysOf, minutesText, startOf } from "./range";

test("a range ends today, in whole days of UTC", () => {
  expect(startOf(7, new Date("2026-11-22T23:59:59Z")).toISOString()).toBe("2026-11-16T00:00:00.000Z");
  expect(startOf(1, new Date("2026-11-22T00:00:00Z")).toISOString()).toBe("2026-11-22T00:00:00.000Z");
});

test("the address names the range, and nonsense means 30 days", () => {
  expect(daysOf("90")).toBe(90);
  expect(daysOf("91")).toBe(30);
  expect(daysOf(null)).toBe(30);
});

test("days and minutes read well", () => {
  expect(dayLabel("2026-11-22T00:00:00Z")).toBe("22 Nov");
  expect(minutesText(34.52)).toBe("34.5");
  expect(minutesText(1204.4)).toBe("1,204");
});
