import { expect, settled, test } from "./look";

test("the palette finds pages, agents and numbers by the keyboard alone", async ({ page, conversation }) => {
  await page.goto("/");
  await settled(page);
  await page.keyboard.press("Control+k");
  const input = page.getByRole("combobox", { name: "Search" });
  await expect(input).toBeFocused();
  await page.keyboard.type("webh");
  await expect(page.getByRole("option")).toHaveCount(1);
  await page.keyboard.press("Enter");
  await expect(page).toHaveURL(/\/webhooks$/);

  await page.keyboard.press("Control+k");
  await expect(input).toBeFocused();
  await page.keyboard.insertText(conversation);
  await expect(page.getByRole("option")).toHaveText([new RegExp(`^Open call ${conversation}`)]);
  await page.keyboard.press("Enter");
  await expect(page).toHaveURL(new RegExp(`/calls/${conversation}$`));

  await page.keyboard.press("Control+k");
  await expect(input).toBeFocused();
  await page.keyboard.press("Escape");
  await expect(input).toHaveCount(0);
});

test("G and a letter change the page, and do nothing in a field", async ({ page }) => {
  await page.goto("/");
  await settled(page);
  await page.keyboard.press("g");
  await page.keyboard.press("c");
  await expect(page.getByRole("heading", { name: "Calls", exact: true })).toBeFocused();

  await page.getByRole("button", { name: "Place call" }).first().click();
  await page.getByLabel("To", { exact: true }).pressSequentially("go?");
  await expect(page).toHaveURL(/\/calls$/);
  await page.keyboard.press("Escape");
  await expect(page.getByRole("button", { name: "Place call" }).first()).toBeFocused();

  await page.keyboard.press("?");
  await expect(page.getByRole("dialog", { name: "Keys" })).toBeVisible();
});

test("the first Tab offers to skip to the content", async ({ page }) => {
  await page.goto("/");
  await settled(page);
  await page.keyboard.press("Tab");
  await expect(page.getByRole("link", { name: "Skip to content" })).toBeFocused();
  await page.keyboard.press("Enter");
  await expect(page.locator("main")).toBeFocused();
});

test("a small screen's menu is a dialog that gives the focus back", async ({ page }) => {
  await page.setViewportSize({ width: 390, height: 844 });
  await page.goto("/");
  await settled(page);
  const menu = page.getByRole("button", { name: "Menu", exact: true });
  await menu.click();
  await expect(page.getByRole("link", { name: "Calls", exact: true })).toBeVisible();
  await page.keyboard.press("Escape");
  await expect(menu).toBeFocused();
  await menu.click();
  await page.getByRole("link", { name: "Calls", exact: true }).click();
  await expect(page.getByRole("heading", { name: "Calls", exact: true })).toBeVisible();
});
