/** Uses the client of orval for fetch, and its zod schemas on what is sent and received. */
import * as api from "./generated/orval/client.js";
import * as schemas from "./generated/orval/schemas.js";
import { KEY, UNKNOWN, sent, tell, type Client, type Event } from "./story.js";

const options = (key = KEY, headers: Record<string, string> = {}) => ({ headers: { Authorization: `Bearer ${key}`, ...headers } });

/** The body of a success. */
function ok<T extends { status: number; data: unknown }, S extends T["status"]>(answer: T, status: S): Extract<T, { status: S }>["data"] {
  if (answer.status !== status) throw new Error(`${answer.status}: ${JSON.stringify(answer.data)}`);
  return answer.data as Extract<T, { status: S }>["data"];
}

function ofWebhook(event: api.WebhookEvent): Event {
  if (event.event === "webhook.test") throw new Error(event.data.message);
  return { kind: event.event, call: event.data.call_id, sequence: event.data.sequence };
}

const tool = { type: "http" as const, name: "tables", url: "https://example.com/tables" };

const orval: Client = {
  connect: async (name, provider, settings) => {
    const body = schemas.createConnectionBody.parse({ name, provider, settings });
    return ok(await api.createConnection(body, options()), 201).id;
  },
  agent: async (connection_id) => {
    const part = { connection_id };
    const body = schemas.createAgentBody.parse({ name: "Ava", instructions: "Book a table.", stt: part, llm: part, tts: part, tools: [tool] });
    return ok(await api.createAgent(body, options()), 201).id;
  },
  number: async (connection_id) => ok(await api.createNumber({ number: "+12025550188", connection_id }, options()), 201).id,
  webhook: async (url) => ok(await api.createWebhook(schemas.createWebhookBody.parse({ url }), options()), 201).secret,
  call: async (agent_id, to, batch, key) => {
    const body = schemas.createCallBody.parse({ agent_id, to, metadata: { batch } });
    return ok(await api.createCall(body, options(KEY, { "Idempotency-Key": key })), 201).id;
  },
  calls: async (batch, cursor) => {
    // The generated function cannot write `metadata[batch]`.
    const url = api.getListCallsUrl({ status: ["completed", "failed"], limit: 1, ...(cursor && { cursor }) });
    const answer = await fetch(`${url}&${new URLSearchParams({ "metadata[batch]": batch })}`, options());
    const page = schemas.listCallsResponse.parse(await answer.json());
    return { ids: page.data.map(({ id }) => id), next: page.next_cursor };
  },
  greet: async (id, text) => {
    const body = schemas.updateAgentBody.parse({ greeting: { text } });
    schemas.updateAgentResponse.parse(ok(await api.updateAgent(id, body, options()), 200));
  },
  greeting: async (id) => {
    const { name, greeting } = schemas.showAgentResponse.parse(ok(await api.showAgent(id, options()), 200));
    return { name, text: greeting.text };
  },
  callUnknownAgent: async () => {
    const answer = await api.createCall({ agent_id: UNKNOWN, to: "+12025550100" }, options());
    if (answer.status !== 422) throw new Error(String(answer.status));
    return { status: answer.status, code: answer.data.code, path: answer.data.errors[0]?.path };
  },
  listAgents: async (key) => {
    const answer = await api.listAgents({}, options(key));
    return answer.status === 429 ? { status: 429, code: answer.data.code, retryAfter: answer.headers.get("Retry-After") } : null;
  },
  async *stream(id) {
    const answer = await fetch(api.getStreamCallEventsUrl(id), options());
    for await (const event of sent(answer.body)) {
      const { event: kind, data, sequence } = event as api.CallEvent;
      yield { kind, call: data.call_id, sequence };
    }
  },
  delivered: (body) => ofWebhook(body as api.WebhookEvent),
};

await tell(orval);
