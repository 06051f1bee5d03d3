/** Uses the client of @hey-api/openapi-ts. */
import { createClient } from "./generated/hey-api/client/index.js";
import * as api from "./generated/hey-api/index.js";
import { KEY, UNKNOWN, URL, tell, type Client, type Event } from "./story.js";

const clientOf = (auth: string) => createClient({ baseUrl: URL, auth });
const client = clientOf(KEY);
const throwOnError = true;

function ofWebhook(event: api.WebhookEvent): Event {
  if (event.event === "webhook.test") throw new Error(event.data.message);
  if (event.event === "call.completed") event.data.summary.trim();
  return { kind: event.event, call: event.data.call_id, sequence: event.data.sequence };
}

const tool = { type: "http" as const, name: "tables", url: "https://example.com/tables" };

const hey: Client = {
  connect: async (name, provider, settings) => (await api.createConnection({ client, throwOnError, body: { name, provider, settings } })).data.id,
  agent: async (connection_id) => {
    const part = { connection_id };
    const body = { name: "Ava", instructions: "Book a table.", stt: part, llm: part, tts: part, tools: [tool] };
    return (await api.createAgent({ client, throwOnError, body })).data.id;
  },
  number: async (connection_id) => (await api.createNumber({ client, throwOnError, body: { number: "+12025550188", connection_id } })).data.id,
  webhook: async (url) => (await api.createWebhook({ client, throwOnError, body: { url } })).data.secret,
  call: async (agent_id, to, batch, key) => {
    const headers = { "Idempotency-Key": key };
    const { data } = await api.createCall({ client, throwOnError, body: { agent_id, to, metadata: { batch } }, headers });
    if (!("id" in data)) throw new Error("a dry run");
    return data.id;
  },
  calls: async (batch, cursor) => {
    const query: api.ListCallsData["query"] = { status: ["completed", "failed"], metadata: { batch }, limit: 1, ...(cursor && { cursor }) };
    const { data } = await api.listCalls({ client, throwOnError, query });
    return { ids: data.data.map(({ id }) => id), next: data.next_cursor };
  },
  greet: async (id, text) => void (await api.updateAgent({ client, throwOnError, path: { id }, body: { greeting: { text } } })),
  greeting: async (id) => {
    const { data } = await api.showAgent({ client, throwOnError, path: { id } });
    return { name: data.name, text: data.greeting.text };
  },
  callUnknownAgent: async () => {
    const { error, response } = await api.createCall({ client, body: { agent_id: UNKNOWN, to: "+12025550100" } });
    if (!error) throw new Error("an unknown agent called");
    return { status: response.status, code: error.code, path: error.errors[0]?.path };
  },
  listAgents: async (key) => {
    const { error, response } = await api.listAgents({ client: clientOf(key) });
    return error ? { status: response.status, code: error.code, retryAfter: response.headers.get("Retry-After") } : null;
  },
  async *stream(id) {
    const { stream } = await api.streamCallEvents({ client, path: { id } });
    // The type of an event includes the body of a 204, which is none.
    for await (const event of stream) {
      if (event) yield { kind: event.event, call: event.data.call_id, sequence: event.sequence };
    }
  },
  delivered: (body) => ofWebhook(body as api.WebhookEvent),
};

await tell(hey);
