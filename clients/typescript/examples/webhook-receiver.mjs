// Receives webhooks, verifies them and prints them, with nothing but Node.js.
//
//   node examples/webhook-receiver.mjs 9000
//
// WEBHOOK_SECRET holds the endpoint's secret, or both, separated by a comma, while it is rotated.
import { createServer } from "node:http";
import { verifyWebhook, WebhookVerificationError } from "@switchhook/client";

const secrets = (process.env["WEBHOOK_SECRET"] ?? "").split(",");
// In production, a table: a delivery can come more than once, also after a restart.
const handled = new Set();

const server = createServer(async (request, response) => {
  try {
    const body = Buffer.concat(await request.toArray());
    const event = await verifyWebhook(body, request.headers, secrets);
    if (!handled.has(event.id)) {
      handled.add(event.id);
      console.log(`${event.event} ${event.data.call_id} ${event.data.status}`);
    }
    response.writeHead(204).end();
  } catch (error) {
    const isForged = error instanceof WebhookVerificationError;
    console.log(isForged ? `refused: ${error.message}` : error);
    response.writeHead(isForged ? 401 : 500).end();
  }
});
server.listen(Number(process.argv[2]), "127.0.0.1", () => {
  const address = server.address();
  console.log(`listening on http://127.0.0.1:${typeof address === "object" && address?.port}`);
});
