import { confirm, expect, settled, test } from "./look";

test("an owner invites a person, changes the role, and takes the invitation back", async ({ page }) => {
  const email = `ana-${Date.now()}@example.com`;
  await page.goto("/settings");
  await settled(page);
  await expect(page.getByText("(you)")).toBeVisible();
  await page.getByRole("button", { name: "Invite" }).click();
  const dialog = page.getByRole("dialog", { name: "Invite a person" });
  await dialog.getByLabel("Email").fill(email);
  await dialog.getByLabel("Role").selectOption("Viewer");
  await dialog.getByRole("button", { name: "Invite" }).click();
  await expect(page.getByText(`send it to ${email}`, { exact: false })).toBeVisible();
  const link = (await page.getByTestId("invitation-link").textContent()) ?? "";
  expect(link).toMatch(/\/invitation#[\w-]{43}$/);
  await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
  await page.getByRole("button", { name: "Copy" }).click();
  await expect.poll(() => page.evaluate(() => navigator.clipboard.readText())).toBe(link);
  await page.getByRole("button", { name: "I have copied it" }).click();

  const row = page.getByRole("row").filter({ hasText: email });
  await expect(row).toContainText("Invited");
  const saved = page.waitForResponse((response) => response.request().method() === "PATCH");
  await page.getByLabel(`Role of ${email}`).selectOption("Member");
  await saved;
  await page.reload();
  await expect(page.getByLabel(`Role of ${email}`)).toHaveValue("member");
  await row.getByRole("button", { name: "Remove" }).click();
  await confirm(page, "Remove");
  await expect(row).toHaveCount(0);
  expect(await page.content()).not.toContain(link);
});

test("a tenant keeps an owner", async ({ page, service }) => {
  const { data } = await service.get<{ data: { role: string }[] }>("/v1/people");
  expect(data.filter(({ role }) => role === "owner")).toHaveLength(1);
  await page.goto("/settings");
  const me = page.getByRole("row").filter({ hasText: "(you)" });
  await me.getByRole("combobox").selectOption("Viewer");
  await expect(me.getByRole("alert")).toBeVisible();
  await expect(me.getByRole("combobox")).toHaveValue("owner");
  await page.getByRole("button", { name: "Leave tenant" }).click();
  const asking = page.getByRole("alertdialog");
  await asking.getByRole("button", { name: "Leave" }).click();
  await expect(asking.getByRole("alert")).toContainText("last owner");
});

test("limits and the dial policy are shown", async ({ page }) => {
  await page.goto("/settings");
  await settled(page);
  await expect(page.getByText("Concurrent calls")).toBeVisible();
  await expect(page.getByText("of 268.4 MB")).toBeVisible();
  await expect(page.getByText("20 calls in 24 hours")).toBeVisible();
  await expect(page.getByText("Every country")).toBeVisible();
});
