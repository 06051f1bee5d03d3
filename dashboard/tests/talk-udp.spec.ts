/** Talking to an agent over WebRTC, as browsers do wherever UDP gets through. */
import { callerSays } from "./caller";
import { withCallerOverUdp } from "./chromium";
import { expect, test } from "./look";
import { ended, GREETING, linesOf, openedCall, talk } from "./talk";

test.use({ launchOptions: withCallerOverUdp });

test("a whole conversation goes over UDP, and the socket carries its texts only", async ({ page, seed, service }) => {
  test.setTimeout(150_000);
  callerSays(
    { afterSeconds: 6, line: "name" },
    { afterSeconds: 6, line: "day" },
    { afterSeconds: 5, line: "time" },
    { afterSeconds: 5, line: "people" },
    { afterSeconds: 10, line: "yes" },
  );
  const call = await talk(page, seed.agent);
  const panel = page.getByRole("region", { name: "Talk to Ava" });
  await expect(linesOf(page, "Ava").first()).toContainText(GREETING);
  await expect(panel).toHaveAttribute("data-transport", "udp", { timeout: 5_000 });
  expect(call.sentOf("transport")).toEqual([{ type: "transport", transport: "udp" }]);
  const [spoken, heard] = [call.microphone.length, call.agentFrames];

  await expect(linesOf(page, "You").first()).toContainText("Sarah Miller", { timeout: 30_000 });
  await expect(page.getByRole("log", { name: "Transcript" })).toContainText("Which day", { timeout: 20_000 });
  await expect(page.getByText("The agent hung up.")).toBeVisible({ timeout: 90_000 });
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

test("an interruption silences the agent over UDP, too", async ({ page, seed, service }) => {
  callerSays({ afterSeconds: 6, line: "name" }, { afterSeconds: 7, line: "interrupt" });
  const call = await talk(page, seed.agent);
  await expect(page.getByRole("region", { name: "Talk to Ava" })).toHaveAttribute("data-transport", "udp", { timeout: 10_000 });
  await expect(linesOf(page, "Ava").nth(1)).toBeVisible({ timeout: 30_000 });
  await expect(linesOf(page, "You").nth(1)).toBeVisible({ timeout: 30_000 });
  await page.getByRole("button", { name: "End call" }).click();
  await expect(page.getByText("You ended the call.")).toBeVisible();
  expect((await ended(service, await openedCall(page))).end_reason).toBe("caller_hangup");
  expect(call.receivedOf("transport").length).toBe(1);
});
