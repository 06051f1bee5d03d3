/** Every page in both schemes at three widths: no axe finding, no error in the console, nothing wider than the screen. */
import axe from "axe-core";
import type { Page } from "@playwright/test";
import { expect, SCHEMES, settled, SIZES, test } from "./look";

/** Everything of WCAG 2.2 A and AA, and what axe recommends besides. */
const STANDARDS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"];

// Three dozen looks of axe at pages, each of seconds on a busy machine.
test.describe.configure({ timeout: 300_000 });

/** axe runs in the page, but is no script of it: the driver puts it there, past the policy. */
async function findings(page: Page): Promise<string[]> {
  await page.evaluate(axe.source);
  const { violations } = await page.evaluate(
    (values) =>
      (window as unknown as { axe: typeof axe }).axe.run(document, {
        resultTypes: ["violations"],
        runOnly: { type: "tag", values },
      }),
    STANDARDS,
  );
  return violations.flatMap((one) =>
    one.nodes.map((node) => `${one.id}: ${node.target.join(" ")} (${node.failureSummary ?? ""})`),
  );
}

/** The same document in both colours. */
async function findingsInBoth(page: Page): Promise<string[]> {
  const found = [];
  for (const colorScheme of SCHEMES) {
    await page.emulateMedia({ colorScheme, reducedMotion: "reduce" });
    found.push(...(await findings(page)).map((finding) => `${colorScheme}: ${finding}`));
  }
  return found;
}

async function expectNoFinding(page: Page, path: string): Promise<void> {
  expect.soft(await findingsInBoth(page), `axe on ${path}`).toEqual([]);
  const wider = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
  expect.soft(wider, `${path} is wider than the screen`).toBeLessThanOrEqual(0);
}

for (const { name, width, height } of SIZES) {
  test(`no page has a finding on a ${name}`, async ({ page, seed, conversation }) => {
    const paths = [
      "/",
      "/agents",
      "/agents/new",
      `/agents/${seed.agent}`,
      "/calls",
      `/calls/${conversation}`,
      `/calls/${seed.busy}`,
      "/numbers",
      "/connections",
      "/connections/new",
      "/connections/new?provider=twilio",
      `/connections/${seed.connection}`,
      "/webhooks",
      `/webhooks/${seed.webhook}`,
      "/api-keys",
      "/usage",
      "/settings",
      "/invitation",
      "/nowhere",
    ];
    await page.emulateMedia({ colorScheme: "light", reducedMotion: "reduce" });
    await page.setViewportSize({ width, height });
    for (const path of paths) {
      await page.goto(path);
      await settled(page);
      // What is closed is looked at, too.
      await page.evaluate(() => document.querySelectorAll("details").forEach((closed) => (closed.open = true)));
      await expectNoFinding(page, path);
    }
  });
}

test.describe("somebody who is not signed in", () => {
  test.use({ storageState: { cookies: [], origins: [] } });

  for (const { name, width, height } of SIZES) {
    test(`the sign-in has no finding on a ${name}`, async ({ page }) => {
      await page.setViewportSize({ width, height });
      await page.goto("/");
      await expect(page.getByRole("button", { name: "Sign in" })).toBeVisible();
      await expectNoFinding(page, "the sign-in");
    });
  }
});

test("dialogs have no axe finding", async ({ page }) => {
  await page.emulateMedia({ reducedMotion: "reduce" });
  await page.goto("/calls");
  await settled(page);
  await page.getByRole("button", { name: "Place call" }).first().click();
  await expect(page.getByLabel("To", { exact: true })).toBeVisible();
  expect(await findingsInBoth(page)).toEqual([]);
  await page.keyboard.press("Escape");
  await page.keyboard.press("Control+k");
  await expect(page.getByRole("combobox", { name: "Search" })).toBeVisible();
  expect(await findingsInBoth(page)).toEqual([]);
  await page.keyboard.press("Escape");
  await page.getByRole("button", { name: "Filter" }).click();
  await expect(page.getByLabel("Agent", { exact: true })).toBeVisible();
  expect(await findingsInBoth(page)).toEqual([]);
});
