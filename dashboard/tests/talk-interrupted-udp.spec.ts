/** Talking over the agent, over WebRTC, while no other call keeps the speech models busy. */
import { ANSWER_MS } from "./caller";
import { withCallerOverUdp } from "./chromium";
import { expect, test } from "./look";
import { agentOfTones, endCall, ended, LAST_WORDS, linesOf, LONG_TEXT, talk, TALK_MS } from "./talk";

test.use({ launchOptions: withCallerOverUdp });
test.describe.configure({ timeout: TALK_MS });

test("an interruption silences the agent over UDP, too", async ({ page, caller, seed, service }) => {
  const { id: agent, name } = await agentOfTones(service, seed);
  const call = await talk(page, agent);
  // It goes over UDP once the greeting is over.
  await expect(page.getByRole("region", { name: `Talk to ${name}` })).toHaveAttribute("data-transport", "udp", {
    timeout: 20_000,
  });
  await service.post(`/v1/calls/${call.id}/say`, { text: LONG_TEXT });
  await expect(page.getByText(`${name} is speaking. Talk over it to interrupt.`)).toBeVisible({ timeout: 20_000 });
  await caller.says("interrupt");
  await expect.poll(() => call.receivedOf("clear").length, { timeout: 20_000 }).toBeGreaterThan(0);
  await expect(linesOf(page, "You").first()).toContainText("Saturday", { timeout: ANSWER_MS });
  // Each response is reported with its latency.
  await expect.poll(() => call.receivedOf("latency").length, { timeout: ANSWER_MS }).toBeGreaterThan(0);
  await expect(page.getByRole("log")).not.toContainText(LAST_WORDS);
  expect((await ended(service, await endCall(page))).end_reason).toBe("caller_hangup");
  expect(call.receivedOf("transport").length).toBe(1);
});
