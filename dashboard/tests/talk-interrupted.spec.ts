/** Talking over the agent. The words are understood in time only where no other call keeps the speech models busy. */
import { ANSWER_MS } from "./caller";
import { expect, test } from "./look";
import { agentOfTones, endCall, ended, LAST_WORDS, linesOf, LONG_TEXT, talk, TALK_MS } from "./talk";

test.describe.configure({ timeout: TALK_MS });

test("an interruption silences the agent, is understood and answered", async ({ page, caller, seed, service }) => {
  const { id: agent, name } = await agentOfTones(service, seed);
  const call = await talk(page, agent, LONG_TEXT);
  await expect(page.getByText(`${name} is speaking. Talk over it to interrupt.`)).toBeVisible({ timeout: 20_000 });
  // A few words are heard, which stand in the transcript.
  await expect.poll(() => call.agentFrames).toBeGreaterThan(100);
  await caller.says("interrupt");
  await expect.poll(() => call.receivedOf("clear").length, { timeout: 20_000 }).toBeGreaterThan(0);
  await expect(linesOf(page, "You").first()).toContainText("Saturday", { timeout: ANSWER_MS });
  await expect(linesOf(page, name).first()).not.toContainText(LAST_WORDS);
  // Each response is reported with its latency.
  await expect.poll(() => call.receivedOf("latency").length, { timeout: ANSWER_MS }).toBeGreaterThan(0);

  // All of it over the socket.
  expect(call.receivedOf("transport")).toEqual([]);
  const id = await endCall(page);
  expect((await ended(service, id)).end_reason).toBe("caller_hangup");
  const { data } = await service.get<{ data: { role: string; interrupted: boolean }[] }>(`/v1/calls/${id}/transcript`);
  expect(data[0]).toMatchObject({ role: "agent", interrupted: true });

  // The call's page shows where the agent was cut off, and the decision.
  await page.goto(`/calls/${id}`);
  const greeting = page.getByRole("log", { name: "Transcript" }).getByRole("listitem").first();
  await expect(greeting).toContainText("interrupted");
  await expect(greeting).not.toContainText(LAST_WORDS);
  await page.locator("summary", { hasText: "Turn decisions" }).click();
  await expect(page.getByRole("cell", { name: "Interruption", exact: true }).first()).toBeVisible();
});
