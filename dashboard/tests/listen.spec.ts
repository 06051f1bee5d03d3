/** A live call is heard from its page. */
import { withoutMicrophone } from "./chromium";
import { expect, settled, test } from "./look";

test.use({ launchOptions: withoutMicrophone });

test("both sides of a live call are heard without a microphone, until one listens no more", async ({ page, seed, service }) => {
  const { id } = await service.post<{ id: string }>("/v1/calls", { agent_id: seed.agent, to: "+12025550109" });
  // What the page plays, by the messages that reach its loudspeaker.
  await page.addInitScript(() => {
    const post = MessagePort.prototype.postMessage;
    MessagePort.prototype.postMessage = function (this: MessagePort, message: unknown, ...rest: unknown[]) {
      const { type, pcm } = (message ?? {}) as { type?: string; pcm?: ArrayBuffer };
      if (type === "audio" && pcm) {
        const heard = window as unknown as { loud: number };
        heard.loud = Math.max(heard.loud ?? 0, ...new Int16Array(pcm));
      }
      return Reflect.apply(post, this, [message, ...rest]) as void;
    } as typeof post;
  });
  await page.goto(`/calls/${id}`);
  await settled(page);
  await page.getByRole("button", { name: "Listen", exact: true }).click({ timeout: 30_000 });
  const stop = page.getByRole("button", { name: "Stop listening" });
  await expect(stop).toHaveAttribute("aria-pressed", "true");
  await service.post(`/v1/calls/${id}/say`, { text: "A colleague will join us in a minute." });
  await expect.poll(() => page.evaluate(() => (window as unknown as { loud?: number }).loud ?? 0)).toBeGreaterThan(1_000);
  await stop.click();
  await expect(page.getByRole("button", { name: "Listen", exact: true })).toBeVisible();
  await service.post(`/v1/calls/${id}/hangup`, {});
  await expect(page.getByRole("button", { name: "Listen", exact: true })).toHaveCount(0, { timeout: 20_000 });
});
