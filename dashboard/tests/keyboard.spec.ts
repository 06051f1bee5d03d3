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
  // The page is there once its heading has the focus.
  await expect(page.getByRole("heading", { level: 1, name: "Webhooks" })).toBeFocused();

  await page.keyboard.press("Control+k");
  await expect(input).toBeFocused();
  await page.keyboard.insertText(conversation);
  await expect(page.getByRole("option")).toHaveText([new RegExp(`^Open call ${conversation}`)]);
  await page.keyboard.press("Enter");
  await expect(page).toHaveURL(new RegExp(`/calls/${conversation}$`));
  await expect(page.getByRole("heading", { level: 1, name: "+1 202 555 0100" })).toBeFocused();

  await page.keyboard.press("Control+k");
  await expect(input).toBeFocused();
  await page.keyboard.press("Escape");
  await expect(input).toHaveCount(0);
});

test("the palette lists pages and agents, and the arrows lead through them", async ({ page, seed, service }) => {
  const { name } = await service.get<{ name: string }>(`/v1/agents/${seed.agent}`);
  await page.goto("/settings");
  await settled(page);
  await page.keyboard.press("Control+k");
  await expect(page.getByRole("combobox", { name: "Search" })).toBeFocused();
  const pages = page.getByRole("group", { name: "Pages" }).getByRole("option");
  await expect(pages.first()).toHaveAttribute("aria-selected", "true");
  await expect(page.getByRole("group", { name: "Agents" }).getByRole("option", { name, exact: true })).toHaveCount(1);
  // The last group comes by a request of its own.
  await expect(page.getByRole("group", { name: "Numbers" }).getByRole("option").first()).toBeVisible();
  // Up from the first leads to the last, which is scrolled to.
  await page.keyboard.press("ArrowUp");
  const last = page.getByRole("option").last();
  await expect(last).toHaveAttribute("aria-selected", "true");
  await expect(last).toBeInViewport();
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("ArrowDown");
  const title = await pages.nth(1).innerText();
  await page.keyboard.press("Enter");
  await expect(page.getByRole("heading", { level: 1, name: title })).toBeFocused();

  await page.keyboard.press("Control+k");
  await expect(page.getByRole("combobox", { name: "Search" })).toBeFocused();
  await page.keyboard.type("no such thing");
  await expect(page.getByText("Nothing of this name.")).toBeVisible();
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("Control+a");
  await page.keyboard.type(name);
  await expect(page.getByRole("option", { name, exact: true })).toHaveAttribute("aria-selected", "true");
  await page.keyboard.press("Enter");
  await expect(page).toHaveURL(new RegExp(`/agents/${seed.agent}$`));
});

test("the browser's Back closes what is open over the page that it leaves", async ({ page }) => {
  await page.goto("/");
  await settled(page);
  await page.getByRole("link", { name: "Calls", exact: true }).click();
  await expect(page.getByRole("heading", { name: "Calls", exact: true })).toBeFocused();
  await page.keyboard.press("Control+k");
  const input = page.getByRole("combobox", { name: "Search" });
  await expect(input).toBeFocused();
  await page.goBack();
  await expect(page.getByRole("heading", { name: "Overview" })).toBeVisible();
  await expect(input).toHaveCount(0);
});

test("G and a letter change the page, and do nothing in a field", async ({ page }) => {
  await page.goto("/");
  await settled(page);
  // The second key must follow within a second or so, which a busy machine may miss.
  await expect(async () => {
    await page.keyboard.press("g");
    await page.keyboard.press("c");
    await expect(page).toHaveURL(/\/calls$/, { timeout: 2000 });
  }).toPass({ timeout: 30_000 });
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
