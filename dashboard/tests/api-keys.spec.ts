import { confirm, expect, settled, test } from "./look";

test("a key is shown once, can be copied, and is revoked", async ({ page, service }) => {
  const name = `test ${Date.now()}`;
  await page.goto("/api-keys");
  await settled(page);
  await page.getByRole("button", { name: "Create key" }).click();
  const dialog = page.getByRole("dialog", { name: "Create key" });
  await dialog.getByLabel("Name").fill(name);

  // The API's own message stands at the field.
  await dialog.getByLabel("Expires in days").fill("9999");
  await dialog.getByRole("button", { name: "Create key" }).click();
  await expect(dialog.getByLabel("Expires in days")).toHaveAttribute("aria-invalid", "true");
  await dialog.getByLabel("Expires in days").fill("3");
  await dialog.getByRole("button", { name: "Create key" }).click();

  const key = (await page.getByTestId("new-key").textContent()) ?? "";
  expect(key).toMatch(/^vk_[a-z]+_[a-z0-9]{12}_[A-Za-z0-9]{38}$/);
  await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
  await page.getByRole("button", { name: "Copy" }).click();
  await expect.poll(() => page.evaluate(() => navigator.clipboard.readText())).toBe(key);

  // Escape does not close it: a slip would lose the key.
  await page.keyboard.press("Escape");
  await expect(page.getByTestId("new-key")).toBeVisible();
  await page.getByRole("button", { name: "I have copied it" }).click();
  await expect(page.getByTestId("new-key")).toHaveCount(0);
  const row = page.getByRole("row").filter({ hasText: name });
  await expect(row).toContainText("Never used");
  await expect(row).toContainText("Expires");
  expect(await page.content()).not.toContain(key);

  await row.getByRole("button", { name: "Revoke" }).click();
  const asking = page.getByRole("alertdialog", { name: `Revoke “${name}”?` });
  await expect(asking.getByRole("button", { name: "Cancel" })).toBeFocused();
  await confirm(page, "Revoke");
  await expect(row).toHaveCount(0);
  await page.getByRole("button", { name: /^Show revoked and expired/ }).click();
  await expect(page.getByRole("row").filter({ hasText: name })).toContainText("Revoked");

  const { data } = await service.get<{ data: { name: string; revoked_at: string | null }[] }>("/v1/api-keys?limit=100");
  expect(data.find((each) => each.name === name)?.revoked_at).not.toBeNull();
});
