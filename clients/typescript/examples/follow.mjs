// Prints the events of all calls as they happen. Stop it with Ctrl+C.
//
//   node examples/follow.mjs
import { Switchhook } from "@switchhook/client";

for await (const event of new Switchhook().events.stream()) console.log(`${event.created_at}  ${event.call_id}  ${event.event}`);
