/** The Talk panel against a service that the test plays, so that each moment comes when the test wants it. */
import axe from "axe-core";
import { FakeWebCall } from "./fake-web-call";
import { expect, settled, test } from "./look";
import { withMicrophone } from "./microphone";

test.use(withMicrophone("tone"));

test("a conversation is heard, read, interrupted and ended", async ({ page, seed }) => {
  const call = await FakeWebCall.install(page);
  await page.goto(`/agents/${seed.agent}`);
  await settled(page);
  await page.getByLabel("Greeting text").fill("Hello, unsaved.");
  await expect(page.getByText("Uses your unsaved greeting.")).toBeVisible();
  await page.getByRole("button", { name: "Talk", exact: true }).click();

  // The microphone alone is no conversation.
  await expect.poll(() => call.frames.length).toBeGreaterThan(10);
  expect(call.placed).toEqual({ agent_id: seed.agent, to: "web", overrides: { greeting: "Hello, unsaved." } });
  await expect(page.getByText("Connecting", { exact: true })).toBeVisible();
  call.state("speaking", "resume-1");
  await expect(page.getByText("Live", { exact: true })).toBeVisible();

  const before = call.frames.length;
  await page.waitForTimeout(1_000);
  const perSecond = call.frames.length - before;
  expect(perSecond).toBeGreaterThan(40);
  expect(perSecond).toBeLessThan(60);
  expect(new Set(call.frames.map((frame) => frame.length))).toEqual(new Set([640]));
  expect(call.frames.some((frame) => frame.some((byte) => byte !== 0))).toBe(true);

  const log = page.getByRole("log", { name: "Transcript" });
  call.says("agent", "Hello, this is Ava.");
  call.says("caller", "Hi", false);
  await expect(log.getByRole("listitem")).toHaveCount(2);
  call.says("caller", "Hi, it’s Sarah.");
  await expect(log.getByRole("listitem").last()).toContainText("Hi, it’s Sarah.");
  call.says("agent", "Which day?");
  call.send({
    type: "latency",
    latency_ms: 438,
    end_of_speech_ms: 0,
    end_of_turn_ms: 180,
    first_token_ms: 300,
    first_audio_ms: 400,
    heard_ms: 438,
  });
  await expect(log.getByRole("listitem").last()).toContainText("438 ms");
  await expect(page.getByText("Last turn")).toBeVisible();

  // A mark is answered when what stands before it was played, and never when it was thrown away.
  await call.speak(300);
  call.send({ type: "mark", name: "played" });
  await expect.poll(() => call.ofType("mark")).toEqual([{ type: "mark", name: "played" }]);
  const speaking = call.speak(150);
  await speaking;
  call.send({ type: "mark", name: "interrupted" });
  call.send({ type: "clear" });
  await page.waitForTimeout(600);
  expect(call.ofType("mark")).toHaveLength(1);

  await page.evaluate(axe.source);
  const { violations } = await page.evaluate(() => (window as unknown as { axe: typeof axe }).axe.run());
  expect(violations.map(({ id, nodes }) => `${id}: ${nodes[0]?.target.join(" ")}`)).toEqual([]);

  await page.getByRole("button", { name: "End call" }).click();
  await expect(page.getByText("You ended the call.")).toBeVisible();
  await expect(page.getByRole("link", { name: "Open call" })).toBeVisible();
  await expect(page.getByRole("button", { name: "Talk again" })).toBeVisible();
  expect(call.texts.at(-1)).toEqual({ type: "hangup" });
  const after = call.frames.length;
  await page.waitForTimeout(300);
  expect(call.frames.length).toBe(after);
});

test("muting sends silence, and keys are sent", async ({ page, seed }) => {
  const call = await FakeWebCall.install(page);
  await page.goto(`/agents/${seed.agent}?talk=1`);
  await settled(page);
  await expect(page.getByRole("button", { name: "Talk", exact: true })).toBeFocused();
  await page.keyboard.press("Enter");
  await expect.poll(() => call.sockets).toBe(1);
  call.state("listening", "resume-1");
  await page.getByRole("button", { name: "Mute" }).click();
  await expect(page.getByText("You are muted.", { exact: false })).toBeVisible();
  const from = call.frames.length + 5;
  await expect.poll(() => call.frames.length).toBeGreaterThan(from + 60);
  expect(call.frames.slice(from).every((frame) => frame.every((byte) => byte === 0))).toBe(true);
  await page.getByRole("button", { name: "Unmute" }).click();
  await expect.poll(() => call.frames.slice(-50).some((frame) => frame.some((byte) => byte !== 0))).toBe(true);

  await page.getByRole("button", { name: "Keypad" }).click();
  await page.getByRole("group", { name: "Keypad" }).getByRole("button", { name: "4" }).click();
  await page.keyboard.press("#");
  await expect.poll(() => call.ofType("dtmf").map(({ digit }) => digit)).toEqual(["4", "#"]);
  await page.keyboard.press("Escape");
  await expect(page.getByRole("button", { name: "Keypad" })).toBeFocused();

  call.send({ type: "end", end_reason: "agent_hangup" });
  await expect(page.getByText("The agent hung up.")).toBeVisible();
});

test("a lost connection is resumed with its token, and the transcript stays", async ({ page, seed }) => {
  const call = await FakeWebCall.install(page);
  await page.goto(`/agents/${seed.agent}`);
  await settled(page);
  await page.getByRole("button", { name: "Talk", exact: true }).click();
  await expect.poll(() => call.sockets).toBe(1);
  call.state("listening", "resume-1");
  call.says("agent", "Hello, this is Ava.");
  await expect(page.getByText("Live", { exact: true })).toBeVisible();
  await call.lose();
  await expect(page.getByText("Reconnecting", { exact: true })).toBeVisible();
  await expect.poll(() => call.ofType("resume")).toEqual([{ type: "resume", token: "resume-1" }]);
  call.state("listening", "resume-2");
  await expect(page.getByText("Live", { exact: true })).toBeVisible();
  await expect(page.getByRole("log")).toContainText("Hello, this is Ava.");
  expect(call.sockets).toBe(2);
});

test("a quota's refusal stands in the panel, with the way to try again", async ({ page, seed }) => {
  await page.route("**/v1/calls", (route) =>
    route.request().method() === "POST"
      ? route.fulfill({
          status: 429,
          json: { status: 429, code: "concurrent_calls", detail: "All 20 calls are in use.", errors: [], request_id: null },
        })
      : route.fallback(),
  );
  await page.goto(`/agents/${seed.agent}`);
  await settled(page);
  await page.getByRole("button", { name: "Talk", exact: true }).click();
  await expect(page.getByRole("alert")).toHaveText("All 20 calls are in use.");
  await expect(page.getByRole("button", { name: "Talk", exact: true })).toBeEnabled();
});
