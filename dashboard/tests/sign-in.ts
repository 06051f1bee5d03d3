/** Signs in by the link in the terminal in which `switchhook dev` runs. */
import { expect, type Page } from "@playwright/test";
import { readFileSync } from "node:fs";

/** The newest link of a terminal whose output is in a file. */
function newestLink(log: string | undefined): string {
  if (!log) throw new Error("SWITCHHOOK_DEV_LOG does not name the output of `switchhook dev`: start tests/run.sh");
  return (
    readFileSync(log, "utf8")
      .match(/http:\S+\/auth\/login\?token=\S+/g)
      ?.at(-1) ?? ""
  );
}

/** Presses "Sign in" on a page that asks for it, and opens the link that the service prints to `log`; the page goes on by itself. */
export async function signIn(page: Page, log = process.env.SWITCHHOOK_DEV_LOG): Promise<void> {
  const button = page.getByRole("button", { name: "Sign in" });
  await button.click();
  // A link counts once: a test beside this one may have used it.
  await expect(async () => {
    const terminal = await page.context().newPage();
    await terminal.goto(newestLink(log));
    await terminal.close();
    await expect(button).toBeHidden({ timeout: 2000 });
  }).toPass({ timeout: 20_000 });
}
