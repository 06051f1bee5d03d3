import type { Locator } from "@playwright/test";
import { expect, settled, test } from "./look";

/** Waits until the slider is at this time; both are rounded, each in its own way. */
async function isNear(slider: Locator, seconds: number) {
  const distance = async () => Math.abs(Number(await slider.getAttribute("aria-valuenow")) - seconds);
  await expect.poll(distance).toBeLessThanOrEqual(1);
}

test("a call is placed, followed as it is spoken, and hung up", async ({ page }) => {
  await page.goto("/");
  await page.getByRole("button", { name: "Place call" }).first().click();
  const dialog = page.getByRole("dialog", { name: "Place call" });
  await dialog.getByLabel("To", { exact: true }).fill("12");
  await dialog.getByRole("button", { name: "Place call" }).click();
  // The API's own message stands at the field.
  await expect(dialog.getByLabel("To", { exact: true })).toHaveAttribute("aria-invalid", "true");

  await dialog.getByLabel("To", { exact: true }).fill("+1 202 555 0109");
  await dialog.getByRole("button", { name: "Place call" }).click();
  await expect(page.getByRole("heading", { name: "+1 202 555 0109" })).toBeVisible();
  await expect(page.getByText("In progress").first()).toBeVisible({ timeout: 30_000 });
  await expect(page.getByRole("log").getByRole("listitem").first()).toBeVisible({ timeout: 30_000 });

  await page.getByLabel("Say", { exact: true }).fill("A colleague will join us in a minute.");
  await page.getByRole("button", { name: "Say", exact: true }).click();
  await expect(page.getByLabel("Say", { exact: true })).toHaveValue("");

  await page.getByRole("button", { name: "Hang up" }).click();
  await expect(page.getByText("Completed").first()).toBeVisible({ timeout: 20_000 });
  await expect(page.getByText(/hung up by request/)).toBeVisible();
  await expect(page.getByRole("button", { name: "Call again" })).toBeVisible();
});

test("a conversation is read, heard and measured", async ({ page, conversation }) => {
  await page.goto(`/calls/${conversation}`);
  await settled(page);
  const slider = page.getByRole("slider", { name: "Position in the recording" });
  await expect(slider).toBeVisible();

  // A line leads to its place in the recording, and the address remembers it.
  const line = page.getByRole("log").getByRole("button").nth(2);
  await line.click();
  await expect(page).toHaveURL(/[?&]t=\d/);
  const at = Number(new URL(page.url()).searchParams.get("t"));
  await isNear(slider, at);
  await expect(line).toHaveAttribute("data-current", "true");

  // Space plays, the arrows move.
  await page.locator("body").press("ArrowRight");
  await isNear(slider, at + 1);
  await page.getByRole("heading", { level: 1 }).click();
  await page.keyboard.press("Space");
  await expect(page.getByRole("button", { name: "Pause" })).toBeVisible();
  await page.keyboard.press("Space");
  await expect(page.getByRole("button", { name: "Play", exact: true })).toBeVisible();

  // A turn of the waterfall opens, and a reload opens it again.
  const turn = page.locator("button[aria-expanded]").first();
  await turn.click();
  await expect(page).toHaveURL(/turn=1/);
  await page.reload();
  await expect(page.locator("button[aria-expanded=true]")).toHaveCount(1);
  await expect(page.getByText(/^Waited \d.* m?s: .+\.$/)).toBeVisible();

  // Why the agent spoke when it did; a decision leads to its place in the recording, too. Space opens the section and plays nothing.
  await page.locator("summary", { hasText: "Turn decisions" }).press("Space");
  await expect(page.getByRole("button", { name: "Play", exact: true })).toBeVisible();
  const decision = page
    .getByRole("group", { name: "Turn decisions" })
    .getByRole("row")
    .filter({ hasText: "Turn ended" })
    .last();
  await expect(decision).toContainText(/\d+ \/ \d+ ms/);
  await expect(decision).toContainText(/\d %/);
  const before = page.url();
  await decision.click();
  await expect(page).not.toHaveURL(before);
  const decided = Number(new URL(page.url()).searchParams.get("t"));
  await expect(decision.getByRole("button")).toHaveText(new RegExp(`^0?${Math.floor(decided / 60)}:`));
  await isNear(slider, decided);

  await expect(page.getByText("call.completed")).toBeVisible();
  await expect(page.getByText("Speech to text")).toBeVisible();
  await expect(page.getByRole("button", { name: `Copy call ${conversation}` })).toBeVisible();
});

test("the waveform is pressed, dragged and moved by keys", async ({ page, conversation }) => {
  await page.goto(`/calls/${conversation}`);
  await settled(page);
  const slider = page.getByRole("slider", { name: "Position in the recording" });
  const [end, box] = [Number(await slider.getAttribute("aria-valuemax")), await slider.boundingBox()];
  if (!box) throw new Error("the waveform is not in sight");
  const near = (seconds: number) => isNear(slider, seconds);

  await page.mouse.click(box.x + box.width / 2, box.y + 20);
  await near(end / 2);
  await expect(page).toHaveURL(/[?&]t=\d/);
  await expect(slider).toBeFocused();

  // A drag leaves the waveform and still moves it; the address follows at the end.
  const before = page.url();
  await page.mouse.move(box.x + box.width / 2, box.y + 20);
  await page.mouse.down();
  await page.mouse.move(box.x + box.width / 4, box.y + 200, { steps: 10 });
  await near(end / 4);
  expect(page.url()).toBe(before);
  await page.mouse.up();
  await expect(page).not.toHaveURL(before);

  await page.keyboard.press("Home");
  await near(0);
  await page.keyboard.press("ArrowLeft");
  await near(0);
  await page.keyboard.press("Shift+ArrowRight");
  await near(10);
  await page.keyboard.press("ArrowLeft");
  await near(9);
  // Nothing is after the end, so one step leads back from it.
  await page.keyboard.press("End");
  for (let step = 0; step < 5; step += 1) await page.keyboard.press("ArrowRight");
  await near(end);
  for (let step = 0; step < 2; step += 1) await page.keyboard.press("ArrowLeft");
  await near(end - 2);

  // A finger that turns out to scroll the page leaves the recording where it was.
  const touch = await page.context().newCDPSession(page);
  const finger = { x: box.x + box.width / 4, y: box.y + 20 };
  await touch.send("Input.dispatchTouchEvent", { type: "touchStart", touchPoints: [finger] });
  await near(end / 4);
  await touch.send("Input.dispatchTouchEvent", { type: "touchCancel", touchPoints: [] });
  await near(end - 2);
});

test("a failed call says why and what to do", async ({ page, seed }) => {
  await page.goto(`/calls/${seed.busy}`);
  await expect(page.getByText("The line was busy.")).toBeVisible();
  await expect(page.getByRole("button", { name: "Call again" }).first()).toBeVisible();
});

test("the list keeps its filter in the address, and the calls' keys follow it", async ({ page }) => {
  await page.goto("/calls");
  await settled(page);
  await page.getByRole("button", { name: "Failed" }).click();
  await expect(page).toHaveURL(/show=failed/);
  await page.getByRole("button", { name: "Filter" }).click();
  await page.getByLabel("Failed", { exact: true }).selectOption("busy");
  await page.keyboard.press("Escape");
  await expect(page).toHaveURL(/error_code=busy/);
  const rows = page.getByRole("table", { name: "Calls" }).getByRole("row");
  await expect(rows.filter({ hasText: "Busy" }).first()).toBeVisible();
  await expect(rows.filter({ hasNotText: /Busy|Status/ })).toHaveCount(0);

  await page.getByRole("button", { name: "Remove filter Failed" }).click();
  await expect(page).not.toHaveURL(/error_code/);
  await expect(rows.filter({ hasText: "Credentials refused" }).first()).toBeVisible();
  await page.keyboard.press("j");
  await page.keyboard.press("j");
  await page.keyboard.press("Enter");
  await expect(page).toHaveURL(/\/calls\/[0-9a-f-]{36}$/);
  const second = page.url();
  const newer = page.getByRole("button", { name: "Newer call" });
  await expect(newer).toBeEnabled();
  await page.keyboard.press("[");
  await expect(page).not.toHaveURL(second);
  await expect(newer).toBeDisabled();
  await page.keyboard.press("]");
  await expect(page).toHaveURL(second);
  await page.getByRole("navigation", { name: "Breadcrumb" }).getByRole("link").click();
  await expect(page).toHaveURL(/show=failed/);
});

test("a call that is placed elsewhere appears without a reload", async ({ page, service, seed }) => {
  await page.goto("/calls");
  await settled(page);
  const rows = page.getByRole("table", { name: "Calls" }).getByRole("link");
  const before = await rows.filter({ hasText: "+1 202 555 0111" }).count();
  await service.post("/v1/calls", { agent_id: seed.agent, to: "+12025550111" });
  await expect(rows.filter({ hasText: "+1 202 555 0111" })).toHaveCount(before + 1);
  const newest = page.getByRole("row").filter({ hasText: "+1 202 555 0111" }).first();
  await expect(newest).toContainText("Completed", { timeout: 20_000 });
});

test("a list that could not be read is read again", async ({ page, service, seed }) => {
  let answers = 0;
  page.on("response", (response) => (answers += Number(/\/v1\/calls\?/.test(response.url()))));
  await page.goto("/calls");
  await settled(page);
  // It is read once more when the stream of events is open, and after events of the tests beside this one.
  await expect.poll(() => answers).toBeGreaterThan(1);
  // Nothing happens to it for an hour.
  const scheduled_at = new Date(Date.now() + 3_600_000).toISOString();
  // Reads are refused for four seconds from the first one after the call was placed, however late that one is.
  let isPlaced = false;
  let limitedUntil = Infinity;
  await page.route(/\/v1\/calls\?/, (route) => {
    if (Date.now() > limitedUntil) return route.continue();
    if (isPlaced) limitedUntil = Math.min(limitedUntil, Date.now() + 4000);
    return route.fulfill({ status: 429, json: {} });
  });
  const { id } = await service.post<{ id: string }>("/v1/calls", {
    agent_id: seed.agent,
    to: "+12025550119",
    scheduled_at,
  });
  isPlaced = true;
  // The page waits five seconds before it asks again, perhaps twice.
  await expect(page.getByRole("link").filter({ hasText: "+1 202 555 0119" })).toBeVisible({ timeout: 30_000 });
  expect(limitedUntil, "a read was refused").toBeLessThan(Infinity);
  await service.post(`/v1/calls/${id}/hangup`, {});
});

test("the client's own data keeps its digits and its nesting", async ({ page, service, seed }) => {
  const metadata = '{"order":1234567890123456789,"guest":{"seats":[2,3],"regular":true}}';
  const body = `{"agent_id":"${seed.agent}","to":"+12025550103","metadata":${metadata}}`;
  const { id } = await service.post<{ id: string }>("/v1/calls", body);
  await page.goto(`/calls/${id}`);
  await settled(page);
  await expect(page.getByText('guest: {"regular":true,"seats":[2,3]}, order: 1234567890123456789')).toBeVisible();
});
