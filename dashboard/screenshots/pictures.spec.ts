/** Every page at three widths in both schemes, to be looked at; and the pictures of README and docs. */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Page } from "@playwright/test";
import { callerSays } from "../tests/caller";
import { expect, SCHEMES, settled, SIZES, test } from "../tests/look";

const DOCS = "../docs/pictures";
const ALL = "tests/out/pictures";
/** What README and docs show: the name of a page, a scheme, a width. */
const SHOWN = ["overview-light-desktop", "overview-dark-desktop", "call-light-desktop", "call-dark-desktop"];

async function save(page: Page, name: string): Promise<void> {
  // What the pointer or the focus marks is not the page's look.
  await page.mouse.move(0, 0);
  await page.evaluate(() => (document.activeElement as HTMLElement | null)?.blur());
  mkdirSync(ALL, { recursive: true });
  const picture = await page.screenshot({ path: join(ALL, `${name}.png`), fullPage: true });
  if (!SHOWN.includes(name)) return;
  mkdirSync(DOCS, { recursive: true });
  writeFileSync(join(DOCS, `${name}.webp`), await webp(page, picture));
}

/** The browser compresses it, in a page of its own: this one's policy allows no such image. */
async function webp(page: Page, png: Buffer): Promise<Buffer> {
  const blank = await page.context().newPage();
  const address = await blank.evaluate(async (data) => {
    const image = new Image();
    image.src = `data:image/png;base64,${data}`;
    await image.decode();
    const canvas = document.createElement("canvas");
    [canvas.width, canvas.height] = [image.width, image.height];
    canvas.getContext("2d")?.drawImage(image, 0, 0);
    return canvas.toDataURL("image/webp", 0.9);
  }, png.toString("base64"));
  await blank.close();
  return Buffer.from(address.split(",")[1] ?? "", "base64");
}

for (const { name: size, width, height } of SIZES) {
  test(`talking, ${size}`, async ({ page, seed }) => {
    callerSays({ afterSeconds: 9, line: "name" });
    await page.setViewportSize({ width, height });
    await page.emulateMedia({ reducedMotion: "reduce" });
    await page.goto(`/agents/${seed.agent}`);
    await settled(page);
    await page.getByRole("button", { name: "Talk", exact: true }).click();
    await expect(page.getByRole("log")).toContainText("Which day", { timeout: 40_000 });
    await expect(page.getByText("Last turn")).toBeVisible();
    for (const colorScheme of SCHEMES) {
      await page.emulateMedia({ colorScheme, reducedMotion: "reduce" });
      await save(page, `talk-${colorScheme}-${size}`);
    }
    await page.getByRole("button", { name: "End call" }).click();
    await expect(page.getByText("You ended the call.")).toBeVisible();
  });
}

for (const { name: size, width, height } of SIZES) {
  test(`pages, ${size}`, async ({ page, seed, service, conversation }) => {
    const pages: Record<string, string> = {
      overview: "/",
      agents: "/agents",
      "agents-new": "/agents/new",
      agent: `/agents/${seed.agent}`,
      calls: "/calls",
      call: `/calls/${conversation}?turn=2&t=14`,
      "call-failed": `/calls/${seed.busy}`,
      numbers: "/numbers",
      connections: "/connections",
      "connection-new": "/connections/new?provider=twilio",
      connection: `/connections/${seed.connection}`,
      webhooks: "/webhooks",
      webhook: `/webhooks/${seed.webhook}`,
      "api-keys": "/api-keys",
      usage: "/usage",
      settings: "/settings",
    };
    // Somebody holds the line.
    const call = { agent_id: seed.agent, from: "+12025550199", to: "+12025550109" };
    const { id } = await service.post<{ id: string }>("/v1/calls", call);
    await service.spoken(id);
    await page.setViewportSize({ width, height });
    for (const [name, path] of Object.entries(pages)) {
      await page.emulateMedia({ colorScheme: "light", reducedMotion: "reduce" });
      await page.goto(path);
      await settled(page);
      if (name === "call") await expect(page.getByRole("slider")).toBeVisible();
      for (const colorScheme of SCHEMES) {
        await page.emulateMedia({ colorScheme, reducedMotion: "reduce" });
        await save(page, `${name}-${colorScheme}-${size}`);
      }
    }
    await page
      .getByRole("button", { name: "Menu", exact: true })
      .or(page.getByRole("button", { name: /^Search/ }))
      .first()
      .click();
    await expect(page.getByRole("dialog")).toBeVisible();
    await save(page, `menu-dark-${size}`);
    await service.post(`/v1/calls/${id}/hangup`, {});
  });
}
