/** Signs in as the developer does, and makes what the tests look at. */
import { chromium, type FullConfig } from "@playwright/test";
import { mkdirSync, writeFileSync } from "node:fs";
import { callerSays } from "./caller";
import { BASE, Service, type Seed } from "./service";
import { signIn } from "./sign-in";

/** On a busy machine callers are late, and so is what is understood of them: the agent neither asks again nor hangs up nor interrupts. */
const PATIENT = {
  silence: { reprompt_after_seconds: 600, hangup_after_seconds: 600 },
  turn_taking: { max_silence_ms: 10_000 },
};

export default async function seed(config: FullConfig): Promise<void> {
  // The fake microphone is silent: callers speak when a test says so.
  callerSays();
  await signedIn(config, async (service) => {
    const basics = await seedBasics(service);
    await service.patch(`/v1/agents/${basics.agent}`, PATIENT);
    save(basics);
  });
}

/** Signs in, keeps the session for the tests, and gives the service to `work`. */
export async function signedIn(config: FullConfig, work: (service: Service) => Promise<void>): Promise<void> {
  mkdirSync("tests/out", { recursive: true });
  const browser = await chromium.launch(config.projects[0]?.use.launchOptions);
  const context = await browser.newContext({ baseURL: BASE });
  const page = await context.newPage();
  await page.goto("/");
  await signIn(page);
  await page.getByRole("heading", { name: "Overview" }).waitFor();
  await context.storageState({ path: "tests/out/session.json" });
  await work(new Service(context.request));
  await browser.close();
}

export function save(seed: Seed): void {
  writeFileSync("tests/out/seed.json", JSON.stringify(seed));
}

/** A key for the tests, so that what they ask for does not count as a person's requests; one whole conversation over the simulated network, calls that end in other ways, and an endpoint that nobody answers at. */
export async function seedBasics(service: Service): Promise<Seed> {
  const first = async (path: string): Promise<string> => {
    const { data } = await service.get<{ data: { id: string }[] }>(path);
    if (!data[0]) throw new Error(`${path} is empty: start the service with \`switchhook dev\``);
    return data[0].id;
  };
  const [agent, connection] = [await first("/v1/agents"), await first("/v1/connections")];
  const endpoint = { url: "https://hooks.invalid/calls", events: ["call.failed"] };
  const webhook = await service.post<{ id: string }>("/v1/webhooks", endpoint);
  const call = async (to: string) => (await service.post<{ id: string }>("/v1/calls", { agent_id: agent, to })).id;
  // The calls go on while the first tests run; a test that looks at the conversation waits for its end.
  const conversation = await call("+12025550100");
  await service.spoken(conversation);
  const busy = await call("+12025550101");
  for (const to of ["+12025550108", "+12025550106"]) await call(to);
  const { key } = await service.post<{ key: string }>("/v1/api-keys", { name: "tests" });
  return { agent, conversation, busy, connection, webhook: webhook.id, key };
}
