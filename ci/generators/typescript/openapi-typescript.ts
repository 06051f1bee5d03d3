/** Uses the types of openapi-typescript with openapi-fetch. */
import createClient from "openapi-fetch";
import type { components, paths } from "./generated/openapi-typescript.js";
import { KEY, UNKNOWN, URL, sent, tell, type Client, type Event } from "./story.js";

type Schemas = components["schemas"];
const clientOf = (key: string) => createClient<paths>({ baseUrl: URL, headers: { Authorization: `Bearer ${key}` } });
const api = clientOf(KEY);

/** The body of a success. */
async function ok<T>(answer: Promise<{ data?: T; error?: Schemas["ErrorBody"] }>): Promise<T> {
  const { data, error } = await answer;
  if (data === undefined) throw new Error(error?.detail ?? "no body");
  return data;
}

const tool = { type: "http" as const, name: "tables", url: "https://example.com/tables" };

const client: Client = {
  connect: async (name, provider, settings) => (await ok(api.POST("/v1/connections", { body: { name, provider, settings } }))).id,
  agent: async (connection_id) => {
    const part = { connection_id };
    return (await ok(api.POST("/v1/agents", { body: { name: "Ava", instructions: "Book a table.", stt: part, llm: part, tts: part, tools: [tool] } }))).id;
  },
  number: async (connection_id) => (await ok(api.POST("/v1/numbers", { body: { number: "+12025550188", connection_id } }))).id,
  webhook: async (url) => (await ok(api.POST("/v1/webhooks", { body: { url } }))).secret,
  call: async (agent_id, to, batch, key) => {
    const made = await ok(api.POST("/v1/calls", { body: { agent_id, to, metadata: { batch } }, params: { header: { "Idempotency-Key": key } } }));
    if (!("id" in made)) throw new Error("a dry run");
    return made.id;
  },
  calls: async (batch, cursor) => {
    const query = { status: ["completed", "failed"] satisfies Schemas["CallStatus"][], metadata: { batch }, limit: 1, ...(cursor && { cursor }) };
    const { data, next_cursor } = await ok(api.GET("/v1/calls", { params: { query } }));
    return { ids: data.map(({ id }) => id), next: next_cursor };
  },
  greet: async (id, text) => void (await ok(api.PATCH("/v1/agents/{id}", { params: { path: { id } }, body: { greeting: { text } } }))),
  greeting: async (id) => {
    const { name, greeting } = await ok(api.GET("/v1/agents/{id}", { params: { path: { id } } }));
    return { name, text: greeting.text };
  },
  callUnknownAgent: async () => {
    const { error, response } = await api.POST("/v1/calls", { body: { agent_id: UNKNOWN, to: "+12025550100" } });
    if (!error) throw new Error("an unknown agent called");
    return { status: response.status, code: error.code, path: error.errors[0]?.path };
  },
  listAgents: async (key) => {
    const { error, response } = await clientOf(key).GET("/v1/agents");
    return error ? { status: response.status, code: error.code, retryAfter: response.headers.get("Retry-After") } : null;
  },
  async *stream(id) {
    const { data } = await api.GET("/v1/calls/{id}/events/stream", { params: { path: { id } }, parseAs: "stream" });
    for await (const event of sent(data ?? null)) {
      const one = event as Schemas["CallEvent"];
      // The kind decides the type of the data.
      if (one.event === "call.completed") one.data.summary.trim();
      yield { kind: one.event, call: one.data.call_id, sequence: one.sequence };
    }
  },
  delivered: (body) => ofWebhook(body as Schemas["WebhookEvent"]),
};

function ofWebhook(event: Schemas["WebhookEvent"]): Event {
  if (event.event === "webhook.test") throw new Error(event.data.message);
  if (event.event === "call.completed") event.data.summary.trim();
  return { kind: event.event, call: event.data.call_id, sequence: event.data.sequence };
}

await tell(client);
