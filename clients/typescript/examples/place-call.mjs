// Places a call, prints what happens as it happens, and waits for its end.
//
//   node examples/place-call.mjs AGENT_ID +12025550100
//
// SWITCHHOOK_API_KEY holds the key; SWITCHHOOK_URL the address, if it is not http://127.0.0.1:8080.
import { APIError, Switchhook } from "@switchhook/client";

const [agentId = "", to = ""] = process.argv.slice(2);
const client = new Switchhook();
try {
  const { id } = await client.calls.create({ agent_id: agentId, to });
  for await (const { event } of client.calls.streamEvents(id)) console.log(event);
  const call = await client.calls.wait(id);
  console.log(`${call.status} after ${call.duration_seconds} s: ${call.error ?? call.summary}`);
  for (const { role, text } of (await client.calls.transcript(id)).data) console.log(`${role.padStart(6)}: ${text}`);
  process.exitCode = call.status === "completed" ? 0 : 2;
} catch (error) {
  if (!(error instanceof APIError)) throw error;
  console.error(`The call was not placed: ${error.detail}`);
  process.exitCode = 1;
}
