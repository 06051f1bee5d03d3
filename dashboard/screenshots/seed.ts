/** A tenant as it is after a day of work: real calls, copies of them at other times, and things that need attention. */
import type { FullConfig } from "@playwright/test";
import { execFileSync } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { save, seedBasics, signedIn } from "../tests/seed";
import type { Service } from "../tests/service";

export default async function seed(config: FullConfig): Promise<() => void> {
  const receiver = await startReceiver();
  await signedIn(config, async (service) => {
    await service.post("/v1/webhooks", { url: receiver.url });
    const basics = await seedBasics(service);
    await settings(service);
    await service.ended(basics.conversation);
    await calls(service, basics.agent);
    execFileSync("python3", ["screenshots/day.py", database()], { stdio: "inherit" });
    save(basics);
  });
  return receiver.stop;
}

function database(): string {
  const file = process.env.SWITCHHOOK_DEV_DATABASE;
  if (!file) throw new Error("SWITCHHOOK_DEV_DATABASE does not name the database: start dashboard/screenshots.sh");
  return file;
}

/** A receiver of webhooks that takes each `call.completed` at the second attempt. */
async function startReceiver(): Promise<{ url: string; stop: () => void }> {
  const seen = new Set<string>();
  const server = createServer(async (request, answer) => {
    const body = (await request.toArray()).join("");
    const refused = body.includes('"call.completed"') && !seen.has(body);
    seen.add(body);
    answer.statusCode = refused ? 503 : 200;
    answer.end(refused ? "upstream connect error" : '{"ok":true}');
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const stop = () => void server.close().closeAllConnections();
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/calls`, stop };
}

async function settings(service: Service): Promise<void> {
  const instructions =
    "You answer the phone of the dentist Harbor Dental. Say when the practice is open, and take messages.";
  await service.post("/v1/agents", { name: "Front desk", instructions });
  await service.post("/v1/agents", {
    name: "Reminders",
    instructions: "You remind people of their appointment tomorrow.",
  });
  const twilio = await service.post<{ id: string }>("/v1/connections", {
    name: "Twilio main",
    provider: "twilio",
    credentials: { account_sid: "AC00000000000000000000000000000001", auth_token: "0123456789abcdef0123456789ab3f2a" },
  });
  await service.post("/v1/numbers", { number: "+12025550188", connection_id: twilio.id, label: "Front desk" });
  await service.post("/v1/api-keys", { name: "ci", expires_in_days: 90 });
  await service.post("/v1/api-keys", { name: "booking site" });
  await service.post("/v1/people", { email: "ana@example.com", role: "member" });
}

/** With those of `seedBasics`, one of each kind that screenshots/day.py copies. Two talk at a time, so that two cores keep up. */
async function calls(service: Service, agent: string): Promise<void> {
  const call = { agent_id: agent, from: "+12025550199" };
  const place = async (to: string) => (await service.post<{ id: string }>("/v1/calls", { ...call, to })).id;
  const inbound = { to: call.from, from: "+12025550144" };
  const talks = [
    await place("+12025550143"),
    (await service.post<{ id: string }>("/v1/simulator/inbound", inbound)).id,
  ];
  for (const to of ["+12025550102", "+12025550103", "+12025550104"]) await service.ended(await place(to));
  for (const call of talks) await service.ended(call);
}
