import { defineConfig } from "@playwright/test";
import { withCaller } from "./tests/chromium";

/** The first minutes of a new user, from an installed package: see ci/packaging.sh, which names the command. */
export default defineConfig({
  testDir: "first-run",
  outputDir: "tests/out/first-run",
  workers: 1,
  forbidOnly: true,
  retries: 0,
  // Two minutes are what a new user is promised; a machine that builds beside this gets more.
  timeout: 240_000,
  expect: { timeout: 20_000 },
  reporter: [["list"]],
  use: { locale: "en-GB", launchOptions: withCaller },
});
