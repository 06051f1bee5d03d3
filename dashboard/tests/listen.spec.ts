/** A live call is heard from its page. */
import { withoutMicrophone } from "./chromium";
import { listenTo, playsSpeech } from "./loudspeaker";
import { expect, settled, test } from "./look";

test.use({ launchOptions: withoutMicrophone });

test("both sides of a live call are heard without a microphone, until one listens no more", async ({
  page,
  seed,
  service,
}) => {
  const { id } = await service.post<{ id: string }>("/v1/calls", { agent_id: seed.agent, to: "+12025550109" });
  await listenTo(page);
  await page.goto(`/calls/${id}`);
  await settled(page);
  await page.getByRole("button", { name: "Listen", exact: true }).click({ timeout: 30_000 });
  const stop = page.getByRole("button", { name: "Stop listening" });
  await expect(stop).toHaveAttribute("aria-pressed", "true");
  await service.post(`/v1/calls/${id}/say`, { text: "A colleague will join us in a minute." });
  await playsSpeech(page);
  await stop.click();
  await expect(page.getByRole("button", { name: "Listen", exact: true })).toBeVisible();
  await service.post(`/v1/calls/${id}/hangup`, {});
  await expect(page.getByRole("button", { name: "Listen", exact: true })).toHaveCount(0, { timeout: 20_000 });
});
