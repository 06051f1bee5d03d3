/** A whole conversation with the real service: Chromium's microphone plays a recorded caller. */
import { resolve } from "node:path";
import { writeCallerTrack } from "./caller-track";
import { expect, settled, test } from "./look";
import { withMicrophone } from "./microphone";

const TAPE = resolve("tests/out/caller.wav");
// The greeting takes some seconds, and so does each answer.
writeCallerTrack(TAPE, [
  { afterSeconds: 11, line: "name" },
  { afterSeconds: 9, line: "day" },
  { afterSeconds: 9, line: "time" },
  { afterSeconds: 60, line: "bye" },
]);
test.use(withMicrophone({ file: TAPE }));

test("the agent understands the caller and answers, and the call is one like any other", async ({ page, seed, service }) => {
  test.setTimeout(180_000);
  await page.goto(`/agents/${seed.agent}`);
  await settled(page);
  await page.getByRole("button", { name: "Talk", exact: true }).click();
  await expect(page.getByText("Live", { exact: true })).toBeVisible({ timeout: 20_000 });

  const log = page.getByRole("log", { name: "Transcript" });
  const caller = log.getByRole("listitem").filter({ hasText: "You" });
  await expect(caller.first()).toBeVisible({ timeout: 60_000 });
  await expect(caller.first()).toContainText(/sarah|miller/i, { timeout: 60_000 });
  // The answer to what was said comes with its latency.
  await expect(log.getByRole("listitem").filter({ hasText: /\d ms|\d s/ }).first()).toBeVisible({ timeout: 60_000 });

  await page.getByRole("button", { name: "End call" }).click();
  await page.getByRole("link", { name: "Open call" }).click();
  await expect(page.getByText("Completed").first()).toBeVisible({ timeout: 30_000 });
  const id = new URL(page.url()).pathname.split("/").at(-1);
  const call = await service.get<{ direction: string; status: string; turns: number }>(`/v1/calls/${id}`);
  expect(call).toMatchObject({ direction: "web", status: "completed" });
  expect(call.turns).toBeGreaterThan(0);
});
