/** The API reference at /docs. */
import { expect, test } from "./look";

test("an operation is a command for the terminal and can be tried with a key", async ({ page, seed }) => {
  await page.goto("/docs");
  const list = page.locator("#list_agents");
  await expect(list.locator(".curl")).toContainText('/v1/agents \\\n  -H "Authorization: Bearer $SWITCHHOOK_API_KEY"');
  await list.getByText("Try it").click();
  await list.getByRole("button", { name: "Send" }).click();
  await expect(list.getByRole("status")).toHaveText("Enter an API key at the top of the page first.");
  await page.getByLabel("API key, to try operations").fill(seed.key);
  await list.getByLabel("limit").fill("1");
  await expect(list.locator(".curl")).toContainText("limit=1");
  await list.getByRole("button", { name: "Send" }).click();
  await expect(list.getByRole("status")).toContainText(/^200 .* ms\s+\{\s+"data": \[/);

  // The session of the dashboard does not stand in for a key.
  await page.getByLabel("API key, to try operations").fill("vk_dev_wrong");
  await list.getByRole("button", { name: "Send" }).click();
  await expect(list.getByRole("status")).toContainText(/^401 /);
});

test("a path and a body are filled in, and quotes of a body survive the shell", async ({ page, seed }) => {
  await page.goto("/docs");
  const create = page.locator("#create_call");
  await create.getByText("Try it").click();
  await create.getByLabel("body").fill(JSON.stringify({ agent_id: seed.agent, to: "it's nobody" }));
  await expect(create.locator(".curl")).toContainText(`"to":"it'\\''s nobody"}'`);
  await page.getByLabel("API key, to try operations").fill(seed.key);
  await create.getByRole("button", { name: "Send" }).click();
  await expect(create.getByRole("status")).toContainText(/^422 /);

  const show = page.locator("#show_agent");
  await expect(show.locator(".curl")).toContainText("/v1/agents/{id}");
  await show.getByText("Try it").click();
  await show.getByLabel("id", { exact: true }).fill(seed.agent);
  await show.getByRole("button", { name: "Send" }).click();
  await expect(show.getByRole("status")).toContainText(seed.agent);
});

test("an operation is a program of each client", async ({ page }) => {
  await page.goto("/docs");
  const show = page.locator("#show_agent_version");
  await show.getByText("Try it").click();
  await show.getByLabel("id", { exact: true }).fill("ava");
  await show.getByLabel("version", { exact: true }).fill("2");
  await expect(show.locator(".python")).toContainText('print(client.agents.get_version("ava", 2))');
  await expect(show.locator(".typescript")).toContainText('await client.agents.getVersion("ava", 2)');
  await expect(page.locator("#list_calls .python")).toContainText("for one in client.calls.list():");
  const create = page.locator("#create_agent");
  await create.getByText("Try it").click();
  await create.getByLabel("body").fill('{"name":"Ava","record":false,"greeting":null}');
  await expect(create.locator(".python")).toContainText(
    'client.agents.create(name="Ava", record=False, greeting=None)',
  );
});

test("code in tables and responses is shown as code", async ({ page }) => {
  await page.goto("/docs");
  await expect(page.locator("td, summary, h3, nav a").filter({ hasText: "`" })).toHaveCount(0);
  await expect(page.locator("#create_call td code").first()).toBeAttached();
});
