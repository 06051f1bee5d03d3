/**
 * Signs in as the developer does and makes what the tests look at: one whole conversation
 * over the simulated network, and calls that end in other ways.
 */
import { chromium, type FullConfig } from "@playwright/test";
import { mkdirSync, writeFileSync } from "node:fs";
import { BASE, Service, type Seed } from "./service";

export default async function seed(config: FullConfig): Promise<void> {
  mkdirSync("tests/out", { recursive: true });
  const browser = await chromium.launch(config.projects[0]?.use.launchOptions);
  const context = await browser.newContext({ baseURL: BASE });
  const page = await context.newPage();
  await page.goto("/");
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByRole("heading", { name: "Overview" }).waitFor();
  await context.storageState({ path: "tests/out/session.json" });

  const service = new Service(context.request);
  const agents = await service.get<{ data: { id: string }[] }>("/v1/agents");
  const agent = agents.data[0]?.id;
  if (agent === undefined) throw new Error("the service has no agent: start it with `switchhook dev`");
  const call = (to: string) =>
    service
      .post<{ id: string }>("/v1/calls", { agent_id: agent, to, variables: { name: "Sarah" } })
      .then(({ id }) => id);
  const busy = await call("+12025550101");
  const others = [await call("+12025550108"), await call("+12025550106")];
  const conversation = await call("+12025550100");
  for (const id of [busy, ...others, conversation]) await service.ended(id);
  writeFileSync("tests/out/seed.json", JSON.stringify({ agent, conversation, busy } satisfies Seed));
  await browser.close();
}
