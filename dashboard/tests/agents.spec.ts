import { confirm, expect, settled, test } from "./look";

test("an agent is made from a template, changed, rolled back and deleted", async ({ page, service }) => {
  const name = `Reception ${Date.now()}`;
  await page.goto("/agents");
  await settled(page);
  await page.getByRole("button", { name: "New agent" }).click();
  await page.getByRole("link", { name: /^Reception/ }).click();
  await expect(page.getByLabel("Instructions")).toHaveValue(/You answer the phone/);
  await page.getByLabel("Name", { exact: true }).fill(name);
  await expect(page.getByLabel("Eagerness")).toHaveValue("normal");
  await page.getByLabel("Eagerness").selectOption("high");
  await page.keyboard.press("Control+s");
  await expect(page).toHaveURL(/\/agents\/[0-9a-f-]{36}$/);
  await expect(page.getByText("Version 1", { exact: true })).toBeVisible();
  const made = await service.get<{ turn_taking: { eagerness: string } }>(`/v1${new URL(page.url()).pathname}`);
  expect(made.turn_taking.eagerness).toBe("high");

  await page.getByLabel("Greeting text").fill("Good morning!");
  await expect(page.getByText("1 change not saved")).toBeVisible();
  await page.getByRole("button", { name: "Save" }).click();
  await expect(page.getByText("Saved as version 2.")).toBeVisible();
  await expect(page.getByRole("button", { name: "Save" })).toBeDisabled();

  await page.getByRole("button", { name: "Versions" }).click();
  const versions = page.getByRole("dialog", { name: "Versions" });
  await versions.getByRole("button", { name: /^Version 1/ }).click();
  await expect(versions.getByRole("term")).toHaveText(["Greeting: text"]);
  await expect(versions.getByText("Good morning!")).toBeVisible();
  await versions.getByRole("button", { name: "Send all new calls to version 1" }).click();
  await expect(page.getByText("New calls get version 1", { exact: true })).toBeVisible();
  await expect(versions.getByRole("button", { name: "Restore version 1" })).toBeVisible();
  await versions.getByRole("button", { name: "Close" }).click();
  // A change of traffic is no change of the draft.
  await expect(page.getByText("Save to hear your other changes.")).toHaveCount(0);
  await page.goto("/agents");
  await expect(page.getByRole("row", { name }).getByText("New calls get version 1")).toBeVisible();
  await page.getByRole("link", { name }).click();

  await page.getByRole("button", { name: "Versions" }).click();
  await versions.getByRole("button", { name: "Send new calls to the newest version" }).click();
  await expect(page.getByText("New calls get version", { exact: false })).toHaveCount(0);
  await versions.getByRole("button", { name: /^Version 1/ }).click();
  await versions.getByRole("button", { name: "Roll back to version 1" }).click();
  await expect(page.getByLabel("Greeting text")).toHaveValue(/How can I help you/);
  await expect(page.getByText("Version 3", { exact: true })).toBeVisible();

  await page.getByRole("button", { name: "Delete agent" }).click();
  await confirm(page, "Delete");
  await expect(page).toHaveURL(/\/agents$/);
  await expect(page.getByRole("link", { name })).toHaveCount(0);
});

test("an agent that no model answers for says so, with the button that mends it", async ({ page, service }) => {
  const stamp = Date.now();
  const agent = await service.post<{ id: string }>("/v1/agents", {
    name: `Dentist ${stamp}`,
    instructions: "You are a dentist.",
  });
  await page.goto(`/agents/${agent.id}`);
  await settled(page);
  const notice = page.getByText("No language model follows the instructions");
  await expect(notice).toBeVisible();
  await expect(page.getByRole("link", { name: "Connect a model" })).toHaveAttribute("href", "/connections/new");

  const model = await service.post<{ id: string }>("/v1/connections", {
    name: `Model ${stamp}`,
    provider: "openai",
    credentials: { api_key: "sk-0123456789" },
  });
  await page.reload();
  await page.getByRole("button", { name: `Use Model ${stamp}` }).click();
  await expect(notice).toHaveCount(0);
  await page.getByRole("button", { name: "Save" }).click();
  await expect(page.getByText("Saved as version 2.")).toBeVisible();
  const saved = await service.get<{ llm: { connection_id: string } }>(`/v1/agents/${agent.id}`);
  expect(saved.llm.connection_id).toBe(model.id);
  await service.delete(`/v1/agents/${agent.id}`);
  await service.delete(`/v1/connections/${model.id}`);
});

test("what is wrong is said while one types, and what the API refuses at its field", async ({ page, seed }) => {
  await page.goto(`/agents/${seed.agent}`);
  await settled(page);
  const speed = page.getByLabel("Speed");
  await speed.fill("2.5");
  await expect(page.getByText("Must be between 0.5 and 2.").first()).toBeVisible();
  await expect(speed).toHaveAttribute("aria-invalid", "true");
  await speed.fill("");

  // The limits fit each by itself; that they contradict each other only the API knows.
  await page.getByLabel("Min silence (ms)").fill("3000");
  await page.getByLabel("Max silence (ms)").fill("300");
  await page.getByRole("button", { name: "Save" }).click();
  await expect(page.getByText("needs attention:", { exact: false })).toBeVisible();
  await expect(page.locator("[aria-invalid=true]").first()).toBeVisible();
  await page.getByRole("button", { name: "Discard" }).click();
  await expect(page.locator("[aria-invalid=true]")).toHaveCount(0);
  await expect(page.getByText("not saved")).toHaveCount(0);
});

test("unsaved changes are not lost by a slip", async ({ page, seed }) => {
  await page.goto(`/agents/${seed.agent}`);
  await settled(page);
  const instructions = page.getByLabel("Instructions");
  const saved = await instructions.inputValue();
  await instructions.fill(`${saved} Be brief.`);
  await page.getByRole("link", { name: "Calls", exact: true }).click();
  const asking = page.getByRole("alertdialog", { name: "Discard 1 change?" });
  await asking.getByRole("button", { name: "Cancel" }).click();
  await expect(instructions).toHaveValue(`${saved} Be brief.`);
  await page.getByRole("link", { name: "Calls", exact: true }).click();
  await asking.getByRole("button", { name: "Discard" }).click();
  await expect(page).toHaveURL(/\/calls$/);
});

test("a name that is taken is refused at the name", async ({ page, service, seed }) => {
  const { name } = await service.get<{ name: string }>(`/v1/agents/${seed.agent}`);
  await page.goto("/agents/new");
  await page.getByLabel("Name", { exact: true }).fill(name);
  await page.getByLabel("Instructions").fill("Be brief.");
  await page.getByRole("button", { name: "Save" }).click();
  await expect(page.getByLabel("Name", { exact: true })).toHaveAttribute("aria-invalid", "true");
});

test("a voice can be listened to", async ({ page, seed }) => {
  await page.goto(`/agents/${seed.agent}`);
  await settled(page);
  const sample = page.waitForResponse((response) => response.url().endsWith("/sample"));
  await page
    .getByRole("button", { name: /^Listen to / })
    .first()
    .click();
  expect((await sample).headers()["content-type"]).toContain("audio/wav");
  await expect(page.getByRole("button", { name: /^Stop / })).toBeVisible();
  await expect(page.getByRole("button", { name: /^Listen to / }).first()).toBeVisible();
});

test("an agent that a program made stands in the open list when the window is focused", async ({ page, service }) => {
  await page.goto("/agents");
  await settled(page);
  const name = `Made by a program ${Date.now()}`;
  const { id } = await service.post<{ id: string }>("/v1/agents", { name, instructions: "Say hello." });
  await page.evaluate(() => window.dispatchEvent(new Event("focus")));
  await expect(page.getByRole("link", { name })).toBeVisible();
  await service.delete(`/v1/agents/${id}`);
});
