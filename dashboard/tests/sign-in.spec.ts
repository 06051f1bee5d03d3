import { expect, settled, test } from "./look";
import { signIn } from "./sign-in";

test.describe("somebody who is not signed in", () => {
  test.use({ storageState: { cookies: [], origins: [] } });

  test("signs in by the link in the terminal and lands where they wanted to go", async ({ page }) => {
    await page.goto("/calls?show=failed");
    await page.getByRole("button", { name: "Sign in" }).click();
    await expect(page.getByRole("status")).toContainText("The link is in the terminal");
    await signIn(page);
    await expect(page.getByRole("heading", { name: "Calls", exact: true })).toBeVisible();
    await expect(page).toHaveURL(/\/calls\?show=failed$/);

    await page.getByRole("button", { name: "Sign out" }).click();
    await expect(page.getByRole("button", { name: "Sign in" })).toBeVisible();
    await page.reload();
    await expect(page.getByRole("button", { name: "Sign in" })).toBeVisible();
  });
});

test("a session that ends under the page asks to sign in and keeps the address", async ({ page, context }) => {
  await page.goto("/calls");
  await page.getByRole("button", { name: "Failed" }).click();
  await expect(page).toHaveURL(/show=failed/);
  await settled(page);
  await context.clearCookies();
  // Nothing is pressed: the page learns it from its own requests, every ten seconds or when a call changes.
  await expect(page.getByRole("button", { name: "Sign in" })).toBeVisible({ timeout: 30_000 });
  await expect(page).toHaveURL(/show=failed/);
});

test("an unknown address and an unknown call say so", async ({ page }) => {
  await page.goto("/nowhere");
  await expect(page.getByText("No such page here.")).toBeVisible();
  await page.goto("/calls/0198c69a-0000-7000-8000-000000000000");
  await expect(page.getByText("No such call here.")).toBeVisible();
});
