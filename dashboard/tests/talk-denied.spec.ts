import { withoutMicrophone } from "./chromium";
import { expect, settled, test } from "./look";

test.use({ launchOptions: withoutMicrophone });

test("without a microphone the panel says what to do, and places no call", async ({ page, seed }) => {
  let calls = 0;
  page.on("request", (request) => {
    if (request.method() === "POST" && request.url().endsWith("/v1/calls")) calls += 1;
  });
  await page.goto(`/agents/${seed.agent}`);
  await settled(page);
  await page.getByRole("button", { name: "Talk", exact: true }).click();
  await expect(page.getByRole("alert")).toHaveText(/microphone.*press Talk/i);
  await expect(page.getByRole("button", { name: "Talk", exact: true })).toBeEnabled();
  expect(calls).toBe(0);
});
