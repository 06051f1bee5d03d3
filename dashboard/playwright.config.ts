import { defineConfig } from "@playwright/test";
import { withCaller } from "./tests/chromium";

const TALK = /(talk.*|embed)\.spec\.ts/;
const ALONE = /(talk-three|talk-interrupted.*|budget|pages)\.spec\.ts/;

// Two cores are all a machine may have. Conversations take their time rather than a core, so pages are tested beside them;
// what needs both cores, or measures, or keeps one busy for long as axe does, runs after them.
export default defineConfig({
  testDir: "tests",
  outputDir: "tests/out/results",
  workers: 2,
  fullyParallel: false,
  forbidOnly: true,
  retries: 0,
  timeout: 90_000,
  expect: { timeout: 10_000 },
  reporter: [["list"]],
  projects: [
    { name: "talk", testMatch: TALK, testIgnore: ALONE, workers: 1 },
    { name: "pages", testIgnore: [TALK, ALONE], workers: 1 },
    { name: "alone", testMatch: ALONE, dependencies: ["talk", "pages"], workers: 1 },
  ],
  globalSetup: "./tests/seed.ts",
  use: {
    baseURL: process.env.SWITCHHOOK_URL ?? "http://127.0.0.1:8080",
    storageState: "tests/out/session.json",
    timezoneId: "Europe/Berlin",
    locale: "en-GB",
    launchOptions: withCaller,
  },
});
