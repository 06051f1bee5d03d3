import { defineConfig } from "@playwright/test";

// One worker: the tests share one service, and two cores are all a machine may have.
export default defineConfig({
  testDir: "tests",
  outputDir: "tests/out",
  workers: 1,
  fullyParallel: false,
  forbidOnly: true,
  retries: 0,
  timeout: 90_000,
  expect: { timeout: 10_000 },
  reporter: [["list"]],
  globalSetup: "./tests/seed.ts",
  use: {
    baseURL: process.env.SWITCHHOOK_URL ?? "http://127.0.0.1:8080",
    storageState: "tests/out/session.json",
    timezoneId: "Europe/Berlin",
    locale: "en-GB",
    launchOptions: {
      executablePath: process.env.SWITCHHOOK_CHROMIUM ?? "/usr/bin/chromium",
      // No sandbox, because CI runs as root; no traffic of the browser's own.
      args: [
        "--no-sandbox",
        "--disable-gpu",
        "--disable-quic",
        "--no-first-run",
        "--disable-background-networking",
        "--disable-component-update",
        "--disable-sync",
      ],
    },
  },
});
