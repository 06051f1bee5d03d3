import { callerSays } from "./caller";
import { expect, test } from "./look";
import { endCall, ended, talk } from "./talk";

test("three people talk at once, and each is understood", async ({ context, seed, service }) => {
  test.setTimeout(150_000);
  // Whoever is not understood is asked again, and repeats it.
  callerSays({ afterSeconds: 12, line: "name" }, { afterSeconds: 16, line: "name" });
  const pages = [await context.newPage(), await context.newPage(), await context.newPage()];
  for (const page of pages) await talk(page, seed.agent);
  const live = () => service.get<{ data: unknown[] }>("/v1/calls?direction=web&status=in_progress");
  await expect.poll(async () => (await live()).data.length).toBe(3);
  for (const page of pages) {
    await expect(page.getByRole("log")).toContainText("Thank you, Sarah Miller. Which day", { timeout: 60_000 });
  }
  for (const page of pages) expect((await ended(service, await endCall(page))).end_reason).toBe("caller_hangup");
});
