/** Every page in both schemes at three widths: no axe finding, nothing wider than the screen. */
import axe from "axe-core";
import type { Page } from "@playwright/test";
import { expect, SCHEMES, settled, SIZES, test } from "./look";

const PAGES = [
  "/",
  "/agents",
  "/agents/AGENT",
  "/calls",
  "/calls/CONVERSATION",
  "/calls/BUSY",
  "/numbers",
  "/connections",
  "/webhooks",
  "/api-keys",
  "/usage",
  "/settings",
];

/** axe runs in the page, but is no script of it: the driver puts it there, past the policy. */
async function findings(page: Page): Promise<string[]> {
  await page.evaluate(axe.source);
  const { violations } = await page.evaluate(() =>
    (window as unknown as { axe: typeof axe }).axe.run(document, {
      resultTypes: ["violations"],
    }),
  );
  return violations.flatMap((one) =>
    one.nodes.map((node) => `${one.id}: ${node.target.join(" ")} (${node.failureSummary ?? ""})`),
  );
}

for (const scheme of SCHEMES) {
  for (const { name, width, height } of SIZES) {
    test(`${scheme}, ${name}`, async ({ page, seed }) => {
      test.setTimeout(240_000);
      await page.emulateMedia({ colorScheme: scheme, reducedMotion: "reduce" });
      await page.setViewportSize({ width, height });
      for (const path of PAGES) {
        await page.goto(
          path
            .replace("AGENT", seed.agent)
            .replace("CONVERSATION", seed.conversation)
            .replace("BUSY", seed.busy),
        );
        await settled(page);
        expect.soft(await findings(page), `axe on ${path}`).toEqual([]);
        const wider = await page.evaluate(
          () => document.documentElement.scrollWidth - document.documentElement.clientWidth,
        );
        expect.soft(wider, `${path} is wider than the screen`).toBeLessThanOrEqual(0);
      }
    });
  }
}

test("dialogs have no axe finding", async ({ page }) => {
  await page.emulateMedia({ reducedMotion: "reduce" });
  await page.goto("/calls");
  await settled(page);
  await page.getByRole("button", { name: "Place call" }).first().click();
  await expect(page.getByLabel("To", { exact: true })).toBeVisible();
  expect(await findings(page)).toEqual([]);
  await page.keyboard.press("Escape");
  await page.keyboard.press("Control+k");
  await expect(page.getByRole("combobox", { name: "Search" })).toBeVisible();
  expect(await findings(page)).toEqual([]);
  await page.keyboard.press("Escape");
  await page.getByRole("button", { name: "Filter" }).click();
  await expect(page.getByLabel("Agent", { exact: true })).toBeVisible();
  expect(await findings(page)).toEqual([]);
});
