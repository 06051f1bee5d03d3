/** Talking to an agent: the real service, its own speech models, and a caller at Chromium's microphone. */
import axe from "axe-core";
import { ANSWER_MS } from "./caller";
import { listenTo, playsSpeech } from "./loudspeaker";
import { expect, test } from "./look";
import { endCall, ended, GREETING, linesOf, openedCall, talk, TALK_MS, type Call } from "./talk";

test.describe.configure({ timeout: TALK_MS });

test("a whole conversation is understood, and the call is one like any other", async ({
  page,
  caller,
  seed,
  service,
}) => {
  const call = await talk(page, seed.agent);
  await caller.answers(GREETING, "name");
  await expect(page.getByRole("log")).toContainText("Which day", { timeout: ANSWER_MS });
  await expect(linesOf(page, "You").first()).toContainText("Sarah Miller");
  // An answer stands there with the time that the caller waited for it.
  const latencies = page.getByRole("log").getByTitle("From the end of your words", { exact: false });
  await expect(latencies.first()).toHaveText(/\d m?s/);
  await expect(linesOf(page, "Ava").first()).not.toContainText(/\d m?s/);
  await expect(page.getByText("Last turn")).toBeVisible();

  // The panel alone: axe would keep a busy machine so long with the whole page that the service hears nothing and thinks it lost.
  await page.evaluate(axe.source);
  const { violations } = await page.evaluate(() =>
    (window as unknown as { axe: typeof axe }).axe.run("[data-transport]"),
  );
  expect(violations.map(({ id, nodes }) => `${id}: ${nodes[0]?.target.join(" ")}`)).toEqual([]);

  await caller.answers("Which day", "day");
  await caller.answers("at what time?", "time");
  await caller.answers("how many people", "people");
  await caller.answers("Is that right?", "yes");
  await expect(page.getByText("The agent hung up.")).toBeVisible({ timeout: ANSWER_MS });
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
  expect(call.receivedOf("latency").length).toBeGreaterThan(3);

  const { recording_url } = await service.get<Call>(`/v1/calls/${id}`);
  const recording = await service.bytes(recording_url);
  expect({ channels: recording.readUInt16LE(22), rate: recording.readUInt32LE(24) }).toEqual({
    channels: 2,
    rate: 16_000,
  });

  await page.getByRole("link", { name: "Open call" }).click();
  await page.getByRole("alertdialog", { name: "Discard 1 change?" }).getByRole("button", { name: "Discard" }).click();
  await expect(page.getByText("Sarah Miller booked a table for 4", { exact: false })).toBeVisible();
});

test("a colleague listens to a talk from a page of their own, and the talk continues", async ({
  page,
  context,
  seed,
  service,
}) => {
  const call = await talk(page, seed.agent);
  const { id } = call;
  const colleague = await context.newPage();
  await listenTo(colleague);
  await colleague.goto(`/calls/${id}`);
  await colleague.getByRole("button", { name: "Listen", exact: true }).click({ timeout: 20_000 });
  await expect(colleague.getByRole("button", { name: "Stop listening" })).toBeVisible();
  await service.post(`/v1/calls/${id}/say`, { text: "A colleague will join us in a minute." });
  await playsSpeech(colleague);
  for (const one of [page, colleague]) {
    await expect(one.getByRole("log", { name: "Transcript" })).toContainText("A colleague will join us", {
      timeout: 20_000,
    });
  }

  // The caller is heard as before when the colleague has gone.
  await colleague.close();
  const sent = call.microphone.length;
  await expect.poll(() => call.microphone.length).toBeGreaterThan(sent + 25);
  expect((await ended(service, await endCall(page))).end_reason).toBe("caller_hangup");
});

test("a muted microphone sends silence, and keys are the caller's words", async ({ page, caller, seed, service }) => {
  const call = await talk(page, seed.agent);
  const isSilent = (frame: Buffer) => frame.every((byte) => byte === 0);
  const mute = page.getByRole("button", { name: "Mute" });
  const place = await mute.boundingBox();
  await caller.answers(GREETING, "name");
  await expect.poll(() => call.microphone.some((frame) => !isSilent(frame))).toBe(true);
  await expect(linesOf(page, "You").first()).toBeVisible({ timeout: ANSWER_MS });
  expect(await mute.boundingBox(), "the button moves away from whoever presses it").toEqual(place);
  await mute.click();
  await expect(page.getByText("You are muted.", { exact: false })).toBeVisible();
  const from = call.microphone.length + 5;
  await caller.says("name");
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
  await service.post(`/v1/calls/${call.id}/hangup`, {});
  await expect(page.getByText("The call was ended through the API.")).toBeVisible();
});
