import { expect, test } from "vitest";
import { labelEvery, ticks } from "./scale";

test.each([
  [0, [0, 1, 2, 3]],
  [2, [0, 1, 2, 3]],
  [7, [0, 3, 6, 9]],
  [112, [0, 40, 80, 120]],
  [1240, [0, 500, 1000, 1500]],
])("an axis up to %d has the ticks %j", (max, expected) => expect(ticks(max)).toEqual(expected));

test.each([
  [0.05, [0, 0.02, 0.04, 0.06]],
  [0, [0, 0.01, 0.02, 0.03]],
])("money up to %d has the ticks %j", (max, expected) => expect(ticks(max, false)).toEqual(expected));

test("labels keep their distance", () => {
  expect(labelEvery(24, 500, 60)).toBe(3);
  expect(labelEvery(24, 200, 60)).toBe(8);
  expect(labelEvery(5, 500, 60)).toBe(1);
});
