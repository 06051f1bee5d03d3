/** Talking to an agent over WebRTC, as browsers do wherever UDP gets through. */
import { ANSWER_MS } from "./caller";
import { withCallerOverUdp } from "./chromium";
import { expect, test } from "./look";
import { ended, GREETING, linesOf, openedCall, talk, TALK_MS } from "./talk";

test.use({ launchOptions: withCallerOverUdp });
test.describe.configure({ timeout: TALK_MS });

test("a whole conversation goes over UDP, and the socket carries its texts only", async ({
  page,
  caller,
  seed,
  service,
}) => {
  const call = await talk(page, seed.agent);
  const panel = page.getByRole("region", { name: "Talk to Ava" });
  await expect(linesOf(page, "Ava").first()).toContainText(GREETING);
  await expect(panel).toHaveAttribute("data-transport", "udp");
  expect(call.sentOf("transport")).toEqual([{ type: "transport", transport: "udp" }]);
  const [spoken, heard] = [call.microphone.length, call.agentFrames];

  await caller.answers(GREETING, "name");
  await caller.answers("Which day", "day");
  await caller.answers("at what time?", "time");
  await caller.answers("how many people", "people");
  await caller.answers("Is that right?", "yes");
  await expect(page.getByText("The agent hung up.")).toBeVisible({ timeout: ANSWER_MS });
  expect(await ended(service, await openedCall(page))).toMatchObject({
    direction: "web",
    status: "completed",
    end_reason: "agent_hangup",
    outcome: { name: "Sarah Miller", day: "Friday", time: "19:30", people: 4, confirmed: true },
  });
  expect(call.microphone.length).toBe(spoken);
  expect(call.agentFrames).toBe(heard);
  const marks = call.sentOf("mark").map(({ name }) => name);
  expect(marks.length).toBeGreaterThan(4);
  expect(call.receivedOf("transport")).toEqual([{ type: "transport", transport: "udp" }]);
});
