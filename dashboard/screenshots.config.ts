import { defineConfig } from "@playwright/test";
import tests from "./playwright.config";

export default defineConfig({
  ...tests,
  projects: undefined,
  workers: 1,
  testDir: "screenshots",
  globalSetup: "./screenshots/seed.ts",
  globalTimeout: 600_000,
  timeout: 180_000,
});
