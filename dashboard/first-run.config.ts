import { defineConfig } from "@playwright/test";
import { withCaller } from "./tests/chromium";

/** The first minutes of a new user, from an installed package: see ci/packaging.sh, which names the command. */
export default defineConfig({
  testDir: "first-run",
  outputDir: "tests/out/first-run",
  workers: 1,
  forbidOnly: true,
  retries: 0,
  // The test allows two minutes after the speech models are there, which may have to be downloaded.
  timeout: 240_000,
  expect: { timeout: 20_000 },
  reporter: [["list"]],
  use: { locale: "en-GB", launchOptions: withCaller },
});
