/** What every test of a page shares: the seed, and an eye on what the browser refuses. */
import { test as base, expect, type Page } from "@playwright/test";
import { readFileSync } from "node:fs";
import { Service, type Seed } from "./service";

type Fixtures = {
  seed: Seed;
  service: Service;
  /** Violations of the content security policy and uncaught errors; none may be left. */
  refused: string[];
};

export const test = base.extend<Fixtures>({
  seed: async ({}, use) => {
    await use(JSON.parse(readFileSync("tests/out/seed.json", "utf8")) as Seed);
  },
  service: async ({ context }, use) => {
    await use(new Service(context.request));
  },
  refused: [
    async ({ page }, use) => {
      const refused: string[] = [];
      page.on("pageerror", (error) => refused.push(error.message));
      page.on("console", (message) => {
        if (/content security policy|trusted ?type/i.test(message.text())) {
          refused.push(message.text());
        }
      });
      page.on("request", (request) => {
        const { protocol, host } = new URL(request.url());
        if (protocol.startsWith("http") && host !== new URL(page.url()).host && page.url() !== "about:blank") {
          refused.push(`a request to ${host}`);
        }
      });
      await use(refused);
      expect(refused, "refused by the browser, or uncaught").toEqual([]);
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

export const SIZES = [
  { name: "phone", width: 390, height: 844 },
  { name: "tablet", width: 768, height: 1024 },
  { name: "desktop", width: 1440, height: 900 },
] as const;
export const SCHEMES = ["light", "dark"] as const;
