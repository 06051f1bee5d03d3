// Prints the calls of the last day that failed, and why.
//
//   node examples/list-calls.mjs
import { Switchhook } from "@switchhook/client";

const since = new Date(Date.now() - 24 * 3_600_000);
for await (const call of new Switchhook().calls.list({ status: "failed", created_after: since, limit: 100 })) {
  console.log(`${call.created_at}  ${call.to}  ${call.error_code}  ${call.error}`);
}
