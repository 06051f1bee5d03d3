import { ANSWER_MS, Caller } from "./caller";
import { expect, test } from "./look";
import { endCall, ended, GREETING, talk, TALK_MS } from "./talk";

test.describe.configure({ timeout: TALK_MS });

test("three people have calls at once, and each is understood", async ({ context, seed, service }) => {
  const callers: Caller[] = [];
  for (let person = 0; person < 3; person += 1) callers.push(await Caller.at(await context.newPage()));
  for (const { page } of callers) await talk(page, seed.agent);
  const live = () => service.get<{ data: unknown[] }>("/v1/calls?direction=web&status=in_progress");
  await expect.poll(async () => (await live()).data.length).toBe(3);
  // One after the other: two cores do not keep up with three at the same moment. Nobody waits for somebody else's answer.
  for (const caller of callers) await caller.answers(GREETING, "name");
  for (const { page } of callers) {
    await expect(page.getByRole("log")).toContainText("Thank you, Sarah Miller. Which day", { timeout: ANSWER_MS });
  }
  for (const { page } of callers) expect((await ended(service, await endCall(page))).end_reason).toBe("caller_hangup");
});
