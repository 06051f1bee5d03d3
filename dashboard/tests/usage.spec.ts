import { expect, settled, test } from "./look";

const response_ms = { p50: 461, p95: 812, n: 88 };
const DAYS = Array.from({ length: 30 }, (_, day) => ({
  start: new Date(Date.UTC(2026, 9, 24 + day)).toISOString(),
  calls: day,
  minutes: day * 2.5,
  cost_usd: day * 0.03,
  unpriced: false,
}));
const USAGE = {
  after: DAYS[0]?.start,
  before: "2026-11-23T00:00:00Z",
  totals: { calls: 435, minutes: 1087.5, cost_usd: 13.05, unpriced: true },
  days: DAYS,
  agents: [{ agent_id: "a1", name: "Ava", calls: 400, minutes: 1000, cost_usd: 12, unpriced: false, response_ms }],
  connections: [
    { connection_id: "c1", name: null, provider: null, calls: 35, minutes: 87.5, cost_usd: null, unpriced: true },
    { connection_id: null, name: null, provider: "web", calls: 3, minutes: 4, cost_usd: null, unpriced: true },
  ],
};

test("what calls used is there when they have ended, free of charge with local models", async ({
  page,
  conversation,
}) => {
  expect(conversation).not.toBe("");
  await page.goto("/usage");
  await settled(page);
  const agents = page.getByRole("group", { name: "Usage by agent" });
  await expect(agents.getByRole("row").filter({ hasText: "Ava" })).toContainText(/\d m?s/);
  await expect(page.getByRole("group", { name: "Usage by connection" })).toContainText("Simulator");
  await expect(page.getByRole("img", { name: "Cost a day" })).toBeVisible();
});

test("usage is added up by day, agent and connection, for the range in the address", async ({ page }) => {
  const asked: string[] = [];
  await page.route(/\/v1\/usage/, (route) => {
    asked.push(new URL(route.request().url()).searchParams.get("after") ?? "");
    return route.fulfill({ json: USAGE });
  });
  await page.goto("/usage");
  await settled(page);
  await expect(page.getByText("at least $13.05")).toBeVisible();
  await expect(page.getByRole("group", { name: "Usage by agent" })).toContainText("461 ms");
  await expect(page.getByText("Deleted connection")).toBeVisible();
  await expect(page.getByText("Browser", { exact: true })).toBeVisible();

  await page.getByRole("button", { name: "Show as table: Cost a day" }).click();
  await expect(page.getByRole("region", { name: "Cost a day" }).last().getByRole("row")).toHaveCount(31);

  await page.getByRole("button", { name: "7 days" }).click();
  await expect(page).toHaveURL(/days=7/);
  await expect.poll(() => asked.length).toBeGreaterThan(1);
  const days = (Date.now() - Date.parse(asked.at(-1) ?? "")) / 86_400_000;
  expect(days).toBeGreaterThan(6);
  expect(days).toBeLessThan(7);
});
