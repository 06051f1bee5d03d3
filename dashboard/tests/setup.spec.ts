/** Connections, numbers and webhooks: what one sets up before real calls. */
import { confirm, expect, settled, test } from "./look";

test("a carrier is connected, tested, given a number, and cannot be deleted while it has one", async ({ page }) => {
  const name = `Rehearsal ${Date.now()}`;
  const number = `+1202555${String(Date.now()).slice(-4)}`;
  await page.goto("/connections");
  await settled(page);
  await page.getByRole("link", { name: "New connection" }).click();
  await page.getByRole("link", { name: /^Simulator/ }).click();
  await page.getByLabel("Name").fill(name);
  await page.getByRole("button", { name: "Create connection" }).click();
  await expect(page.getByRole("heading", { level: 1, name })).toBeVisible();
  await page.getByRole("button", { name: "Test" }).click();
  await expect(page.getByLabel("Passed").first()).toBeVisible();

  await page.goto("/numbers?number=new");
  const dialog = page.getByRole("dialog", { name: "Add number" });
  await dialog.getByLabel("Number").fill("12");
  await dialog.getByRole("button", { name: "Add number" }).click();
  await expect(dialog.getByLabel("Number")).toHaveAttribute("aria-invalid", "true");
  await dialog.getByLabel("Number").fill(number);
  await dialog.getByLabel("Connection").selectOption({ label: `${name} (Simulator)` });
  await dialog.getByRole("button", { name: "Add number" }).click();
  const row = page.getByRole("row").filter({ hasText: name });
  await expect(row).toContainText("No agent");

  await page.goto("/connections");
  await page.getByRole("link", { name }).click();
  await expect(page.getByRole("link", { name: number.replace(/(\d{3})(\d{3})(\d{4})$/, " $1 $2 $3") })).toBeVisible();
  await page.getByRole("button", { name: "Delete connection" }).click();
  const asking = page.getByRole("alertdialog");
  await asking.getByRole("button", { name: "Delete" }).click();
  await expect(asking.getByRole("alert")).toContainText(number);
  await asking.getByRole("button", { name: "Cancel" }).click();

  await page.goto("/numbers");
  await row.getByRole("button", { name: "Edit" }).click();
  await page.getByRole("button", { name: "Remove" }).click();
  await confirm(page, "Remove");
  await expect(row).toHaveCount(0);
});

test("a carrier's form says where to find the credentials, and hides what is stored", async ({ page }) => {
  const name = `Twilio ${Date.now()}`;
  await page.goto("/connections/new?provider=twilio");
  await expect(page.getByText("On the start page of the Twilio console", { exact: false })).toBeVisible();
  await page.getByLabel("Name").fill(name);
  await page.getByLabel("Account SID").fill("AC00000000000000000000000000000001");
  await page.getByLabel("Auth token", { exact: true }).fill("0123456789abcdef0123456789ab3f2a");
  await page.getByRole("button", { name: "Create connection" }).click();
  await expect(page.getByRole("heading", { level: 1, name })).toBeVisible();
  const token = page.getByLabel("Auth token", { exact: true });
  await expect(token).toHaveValue("");
  await expect(token).toHaveAttribute("placeholder", /3f2a/);
  await expect(page.getByRole("button", { name: "Save" })).toBeDisabled();
  await page.getByRole("button", { name: "Delete connection" }).click();
  await confirm(page, "Delete");
  await expect(page).toHaveURL(/\/connections$/);
});

test("an endpoint is added, tested, its attempts read, its delivery repeated, its secret rotated", async ({ page }) => {
  await page.goto("/webhooks");
  await settled(page);
  await page.getByRole("button", { name: "Add endpoint" }).first().click();
  const dialog = page.getByRole("dialog", { name: "Add endpoint" });
  await dialog.getByLabel("URL").fill("http://10.0.0.1/hook");
  await dialog.getByRole("button", { name: "Add endpoint" }).click();
  await expect(dialog.getByLabel("URL")).toHaveAttribute("aria-invalid", "true");
  // A host that does not resolve: it is accepted, and every attempt fails.
  await dialog.getByLabel("URL").fill(`https://hooks-${Date.now()}.invalid/calls`);
  // No test receives a call. Those that the tests beside this one place would be delivered here, too.
  await dialog.getByLabel("call.received").check();
  await dialog.getByRole("button", { name: "Add endpoint" }).click();
  await expect(page.getByTestId("new-secret")).toHaveText(/^whsec_/);
  await page.getByRole("button", { name: "I have copied it" }).click();
  await expect(page).toHaveURL(/\/webhooks\/[0-9a-f-]{36}$/);
  await expect(page.getByText("No deliveries yet.", { exact: false })).toBeVisible();

  await page.getByRole("button", { name: "Send test" }).click();
  const delivery = page.getByRole("link", { name: "webhook.test" });
  await expect(delivery).toBeVisible();
  await delivery.click();
  await expect(page).toHaveURL(/delivery=/);
  const detail = page.getByRole("dialog", { name: "webhook.test" });
  await expect(detail.getByRole("region", { name: "Attempts" }).getByRole("listitem").first()).toBeVisible();
  await detail.getByRole("button", { name: "Redeliver" }).click();
  await expect(detail.getByRole("status").last()).not.toBeEmpty();
  await page.keyboard.press("Escape");
  await expect(page).not.toHaveURL(/delivery=/);
  await expect(detail).toHaveCount(0);

  await page.getByLabel("State").selectOption("Delivered");
  await expect(page.getByText("Nothing matches these filters.")).toBeVisible();
  await page.getByRole("button", { name: "Clear filters" }).click();

  await page.getByRole("button", { name: "Rotate secret" }).click();
  await confirm(page, "Rotate secret");
  await expect(page.getByTestId("new-secret")).toHaveText(/^whsec_/);
  await page.getByRole("button", { name: "I have copied it" }).click();
  await page.getByRole("button", { name: "Delete endpoint" }).click();
  await confirm(page, "Delete");
  await expect(page).toHaveURL(/\/webhooks$/);
});
