import { expect, test } from "vitest";
import { differences } from "./draft";
import { shareOf, trafficWords } from "./traffic";

const agent = {
  version: 3,
  traffic: [
    { version: 1, percent: 90 },
    { version: 3, percent: 10 },
  ],
};

test("the page shows a split by version, and nothing without one", () => {
  expect(trafficWords(agent)).toBe("90% of new calls get version 1, 10% version 3");
  expect(trafficWords({ version: 3, traffic: [{ version: 2, percent: 100 }] })).toBe("New calls get version 2");
  expect(trafficWords({ version: 3, traffic: null })).toBeNull();
  expect(trafficWords({ version: 3 })).toBeNull();
});

test("each version has its share of new calls", () => {
  expect([1, 2, 3].map((version) => shareOf(agent, version))).toEqual([90, 0, 10]);
  expect([2, 3].map((version) => shareOf({ version: 3, traffic: null }, version))).toEqual([0, 100]);
});

test("a split is no change of the draft", () => {
  expect(differences({ name: "Ava", traffic: null }, { ...agent, name: "Ava" })).toEqual([]);
});
