/** What every test of a page shares: the seed, and an eye on what the browser refuses. */
import { test as base, expect, type Page } from "@playwright/test";
import { readFileSync } from "node:fs";
import { Caller } from "./caller";
import { BASE, ENDED_MS, Service, type Seed } from "./service";

/** What the service refuses, or a network that fails: tests provoke it. */
const PROVOKED = /^(Failed to load resource: the server responded with a status|WebSocket connection to)/;

type Fixtures = {
  seed: Seed;
  service: Service;
  /** The id of a whole conversation, which has ended. */
  conversation: string;
  /** The person at the page's microphone. */
  caller: Caller;
  /** What the browser refuses, errors in its console, and requests to anybody but the page's host and the service. */
  refused: string[];
};

export const test = base.extend<Fixtures>({
  seed: async ({}, use) => {
    await use(JSON.parse(readFileSync("tests/out/seed.json", "utf8")) as Seed);
  },
  service: async ({ playwright, seed }, use) => {
    const extraHTTPHeaders = { authorization: `Bearer ${seed.key}` };
    // Without the session: the service takes a key or a cookie.
    const storageState = { cookies: [], origins: [] };
    const request = await playwright.request.newContext({ baseURL: BASE, extraHTTPHeaders, storageState });
    await use(new Service(request));
    await request.dispose();
  },
  // The first test that needs it waits longer than a test may take.
  conversation: [
    async ({ service, seed }, use) => {
      await service.ended(seed.conversation);
      await use(seed.conversation);
    },
    { timeout: ENDED_MS + 10_000 },
  ],
  caller: async ({ page }, use) => {
    await use(await Caller.at(page));
  },
  refused: [
    async ({ page }, use) => {
      const refused: string[] = [];
      page.on("pageerror", (error) => refused.push(error.message));
      page.on("console", (message) => {
        if (message.type() === "error" && !PROVOKED.test(message.text())) refused.push(message.text());
      });
      page.on("request", (request) => {
        const { protocol, host } = new URL(request.url());
        const isExpected = page.url() === "about:blank" || [page.url(), BASE].some((own) => host === new URL(own).host);
        if (protocol.startsWith("http") && !isExpected) refused.push(`a request to ${host}`);
      });
      await use(refused);
      expect(refused, "refused by the browser, or an error").toEqual([]);
    },
    { auto: true },
  ],
});

export { expect };

/** Waits until nothing loads any more: no skeleton is left. */
export async function settled(page: Page): Promise<void> {
  await expect(page.getByRole("heading", { level: 1 })).toBeVisible();
  await expect(page.locator("[aria-label=Loading]")).toHaveCount(0);
  await page.evaluate(() => document.fonts.ready);
}

/**
 * Presses the button of the dialog that asks, and waits until the service has answered and the dialog is gone. Whatever is behind an
 * open dialog has no role: a row counts as gone before anything was sent, and a test that ends there takes the request with it.
 */
export async function confirm(page: Page, button: string): Promise<void> {
  const asking = page.getByRole("alertdialog");
  await asking.getByRole("button", { name: button }).click();
  await expect(asking).toHaveCount(0);
}

export const SIZES = [
  { name: "phone", width: 390, height: 844 },
  { name: "tablet", width: 820, height: 1180 },
  { name: "desktop", width: 1440, height: 900 },
] as const;
export const SCHEMES = ["light", "dark"] as const;
