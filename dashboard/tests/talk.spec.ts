/** Talking to an agent: the real service, its own speech models, and a caller at Chromium's microphone. */
import axe from "axe-core";
import { callerSays } from "./caller";
import { listenTo, playsSpeech } from "./loudspeaker";
import { expect, test } from "./look";
import { endCall, ended, GREETING, linesOf, liveCall, openedCall, talk, type Call } from "./talk";

const LONG_GREETING =
  "Good evening. First of all, let me tell you when we are open. We are open from Tuesday to Sunday, " +
  "from noon until ten in the evening, and the kitchen closes at half past nine. May I have your name, please?";

test("a whole conversation is understood, and the call is one like any other", async ({ page, seed, service }) => {
  test.setTimeout(150_000);
  callerSays(
    { afterSeconds: 4, line: "name" },
    { afterSeconds: 6, line: "day" },
    { afterSeconds: 5, line: "time" },
    { afterSeconds: 5, line: "people" },
    { afterSeconds: 10, line: "yes" },
  );
  const call = await talk(page, seed.agent);
  await expect(linesOf(page, "Ava").first()).toContainText(GREETING);
  await expect(linesOf(page, "You").first()).toContainText("Sarah Miller", { timeout: 30_000 });
  await expect(linesOf(page, "Ava").nth(1)).toContainText("Which day", { timeout: 20_000 });
  // The answer stands there with the time that the caller waited for it.
  await expect(linesOf(page, "Ava").nth(1)).toContainText(/\d m?s/);
  await expect(linesOf(page, "Ava").first()).not.toContainText(/\d m?s/);
  await expect(page.getByText("Last turn")).toBeVisible();

  await page.evaluate(axe.source);
  const { violations } = await page.evaluate(() => (window as unknown as { axe: typeof axe }).axe.run());
  expect(violations.map(({ id, nodes }) => `${id}: ${nodes[0]?.target.join(" ")}`)).toEqual([]);

  await expect(page.getByText("The agent hung up.")).toBeVisible({ timeout: 90_000 });
  await expect(page.getByRole("button", { name: "Talk again" })).toBeVisible();
  const id = await openedCall(page);
  expect(await ended(service, id)).toMatchObject({
    direction: "web",
    status: "completed",
    end_reason: "agent_hangup",
    outcome: { name: "Sarah Miller", day: "Friday", time: "19:30", people: 4, confirmed: true },
  });

  // 20 ms of 16 kHz in each frame, all of them sent; each mark is answered once it was played.
  expect(new Set(call.microphone.map((frame) => frame.length))).toEqual(new Set([640]));
  expect(call.agentFrames).toBeGreaterThan(500);
  const marks = call.sentOf("mark").map(({ name }) => name);
  expect(marks.length).toBeGreaterThan(4);
  expect(call.receivedOf("mark").map(({ name }) => name)).toEqual(expect.arrayContaining(marks));
  const latencies = call.receivedOf("latency").map(({ latency_ms }) => Number(latency_ms));
  expect(latencies.length).toBeGreaterThan(3);

  const { recording_url } = await service.get<Call>(`/v1/calls/${id}`);
  const recording = await service.bytes(recording_url);
  expect({ channels: recording.readUInt16LE(22), rate: recording.readUInt32LE(24) }).toEqual({ channels: 2, rate: 16_000 });

  await page.getByRole("link", { name: "Open call" }).click();
  await page.getByRole("alertdialog", { name: "Discard 1 change?" }).getByRole("button", { name: "Discard" }).click();
  await expect(page.getByText("Sarah Miller booked a table for 4", { exact: false })).toBeVisible();
});

test("an interruption silences the agent, is understood and answered", async ({ page, seed, service }) => {
  callerSays({ afterSeconds: 6, line: "interrupt" });
  const call = await talk(page, seed.agent, LONG_GREETING);
  await expect(page.getByText("Ava is speaking. Talk over it to interrupt.")).toBeVisible();
  await expect.poll(() => call.receivedOf("clear").length, { timeout: 20_000 }).toBeGreaterThan(0);
  await expect(linesOf(page, "You").first()).toContainText("Saturday", { timeout: 20_000 });
  await expect(linesOf(page, "Ava").first()).not.toContainText("kitchen closes at half past nine");
  await expect(linesOf(page, "Ava").nth(1)).toBeVisible({ timeout: 20_000 });

  // All of it over the socket.
  expect(call.agentFrames).toBeGreaterThan(0);
  const id = await endCall(page);
  expect((await ended(service, id)).end_reason).toBe("caller_hangup");
  const { data } = await service.get<{ data: { role: string; interrupted: boolean }[] }>(`/v1/calls/${id}/transcript`);
  expect(data[0]).toMatchObject({ role: "agent", interrupted: true });

  // Whoever reads the call sees where the agent was cut off, and that this was decided.
  await page.goto(`/calls/${id}`);
  const greeting = page.getByRole("log", { name: "Transcript" }).getByRole("listitem").first();
  await expect(greeting).toContainText("interrupted");
  await expect(greeting).not.toContainText("kitchen closes at half past nine");
  await page.locator("summary", { hasText: "Turn decisions" }).click();
  await expect(page.getByRole("cell", { name: "Interruption", exact: true }).first()).toBeVisible();
});

test("a colleague listens to a talk from a page of their own, and the talk goes on", async ({ page, context, seed, service }) => {
  callerSays();
  const call = await talk(page, seed.agent);
  const id = await liveCall(service);
  const colleague = await context.newPage();
  await listenTo(colleague);
  await colleague.goto(`/calls/${id}`);
  await colleague.getByRole("button", { name: "Listen", exact: true }).click({ timeout: 20_000 });
  await expect(colleague.getByRole("button", { name: "Stop listening" })).toBeVisible();
  await service.post(`/v1/calls/${id}/say`, { text: "A colleague will join us in a minute." });
  await playsSpeech(colleague);
  for (const one of [page, colleague]) {
    await expect(one.getByRole("log", { name: "Transcript" })).toContainText("A colleague will join us", { timeout: 20_000 });
  }

  // The caller is heard as before when the colleague has gone.
  await colleague.close();
  const sent = call.microphone.length;
  await expect.poll(() => call.microphone.length).toBeGreaterThan(sent + 25);
  expect((await ended(service, await endCall(page))).end_reason).toBe("caller_hangup");
});

test("a muted microphone sends silence, and keys are the caller's words", async ({ page, seed, service }) => {
  callerSays({ afterSeconds: 0, line: "name" });
  const call = await talk(page, seed.agent);
  const isSilent = (frame: Buffer) => frame.every((byte) => byte === 0);
  await expect.poll(() => call.microphone.some((frame) => !isSilent(frame))).toBe(true);
  await page.getByRole("button", { name: "Mute" }).click();
  await expect(page.getByText("You are muted.", { exact: false })).toBeVisible();
  const from = call.microphone.length + 5;
  await expect.poll(() => call.microphone.length).toBeGreaterThan(from + 50);
  expect(call.microphone.slice(from).every(isSilent)).toBe(true);

  await page.getByRole("button", { name: "Keypad" }).click();
  await page.getByRole("group", { name: "Keypad" }).getByRole("button", { name: "4" }).click();
  await page.keyboard.press("7");
  await page.keyboard.press("#");
  await expect(linesOf(page, "You").last()).toContainText("47", { timeout: 20_000 });
  await page.keyboard.press("Escape");
  await expect(page.getByRole("button", { name: "Keypad" })).toBeFocused();

  // Somebody else ends the call.
  await service.post(`/v1/calls/${await liveCall(service)}/hangup`, {});
  await expect(page.getByText("The call was ended through the API.")).toBeVisible();
});
