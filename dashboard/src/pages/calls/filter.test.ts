import { expect, test } from "vitest";
import { activeFilters, filterOf, tabOf } from "./filter";

test("the address is the filter", () => {
  const search = new URLSearchParams("show=failed&agent_id=a1&to=%2B12025550100&other=1");
  expect(tabOf(search)).toBe("failed");
  expect(filterOf(search)).toEqual({ status: ["failed"], agent_id: ["a1"], to: ["+12025550100"] });
  expect(activeFilters(search)).toEqual([
    ["agent_id", "a1"],
    ["to", "+12025550100"],
  ]);
});

test("live calls are those that have not ended", () => {
  expect(filterOf(new URLSearchParams("show=live")).status).toEqual(["queued", "dialing", "in_progress"]);
  expect(tabOf(new URLSearchParams("show=nonsense"))).toBe("all");
});

test("days are whole days here", () => {
  const filter = filterOf(new URLSearchParams("created_after=2026-11-21&created_before=2026-11-21"));
  expect(filter.created_after).toBe(new Date(2026, 10, 21).toISOString());
  expect(filter.created_before).toBe(new Date(2026, 10, 22).toISOString());
  expect(filterOf(new URLSearchParams("created_after=soon")).created_after).toBeUndefined();
});
