// Written by generate.mjs from docs/openapi.json: do not edit.

import { newKey, segment } from "./request.js";
import type { Query, RequestOptions, StreamOptions } from "./shapes.js";
import type { Pages } from "./pages.js";
import { Resource } from "./transport.js";
import { transcriptEvent, type TranscriptEvent } from "./events.js";
import type * as types from "./types.js";

export class Agents extends Resource {
  /** Lists the tenant's agents, newest first. */
  list(query: Query<"list_agents"> = {}, options: RequestOptions = {}): Pages<types.Agent> {
    return this.fetchPages<types.Agent>({ method: "GET", path: "/v1/agents", query }, options);
  }

  /** Creates an agent. */
  create(body: types.CreateAgent, options: RequestOptions = {}): Promise<types.Agent> {
    return this.fetchJson<types.Agent>({ method: "POST", path: "/v1/agents", body }, options);
  }

  /** Returns an agent, with all defaults. */
  get(id: string, options: RequestOptions = {}): Promise<types.Agent> {
    return this.fetchJson<types.Agent>({ method: "GET", path: `/v1/agents/${segment(id)}` }, options);
  }

  /** Updates an agent. Creates a new version, unless nothing or only `traffic` changes. Existing calls keep theirs. */
  update(id: string, body: types.UpdateAgent = {}, options: RequestOptions = {}): Promise<types.Agent> {
    return this.fetchJson<types.Agent>({ method: "PATCH", path: `/v1/agents/${segment(id)}`, body }, options);
  }

  /** Deletes an agent that answers no number. Existing calls keep their version. */
  delete(id: string, options: RequestOptions = {}): Promise<void> {
    return this.fetchNothing({ method: "DELETE", path: `/v1/agents/${segment(id)}` }, options);
  }

  /** Lists the versions of an agent, newest first: the newest 100, those in `traffic`, and those of calls. */
  listVersions(id: string, query: Query<"list_agent_versions"> = {}, options: RequestOptions = {}): Pages<types.AgentVersion> {
    return this.fetchPages<types.AgentVersion>({ method: "GET", path: `/v1/agents/${segment(id)}/versions`, query }, options);
  }

  /** Returns an agent as it was in a version, with its present `traffic`. */
  getVersion(id: string, version: number, options: RequestOptions = {}): Promise<types.Agent> {
    return this.fetchJson<types.Agent>({ method: "GET", path: `/v1/agents/${segment(id)}/versions/${segment(version)}` }, options);
  }

  /** Creates a new version with the name and configuration of an earlier one. `traffic` and existing calls keep theirs. */
  restoreVersion(id: string, version: number, options: RequestOptions = {}): Promise<types.Agent> {
    return this.fetchJson<types.Agent>({ method: "POST", path: `/v1/agents/${segment(id)}/versions/${segment(version)}/restore` }, options);
  }
}

export class ApiKeys extends Resource {
  /** Lists the tenant's keys, newest first, including revoked and expired ones. */
  list(query: Query<"list_api_keys"> = {}, options: RequestOptions = {}): Pages<types.ApiKey> {
    return this.fetchPages<types.ApiKey>({ method: "GET", path: "/v1/api-keys", query }, options);
  }

  /**
   * Creates a key for the same tenant.
   *
   * Only this response contains the whole key.
   */
  create(body: types.CreateApiKey = {}, options: RequestOptions = {}): Promise<types.NewApiKey> {
    return this.fetchJson<types.NewApiKey>({ method: "POST", path: "/v1/api-keys", body }, options);
  }

  /** Returns a key without its secret. */
  get(id: string, options: RequestOptions = {}): Promise<types.ApiKey> {
    return this.fetchJson<types.ApiKey>({ method: "GET", path: `/v1/api-keys/${segment(id)}` }, options);
  }

  /** Revokes a key: the next request with it gets 401. Revoking it again has no effect. */
  revoke(id: string, options: RequestOptions = {}): Promise<void> {
    return this.fetchNothing({ method: "DELETE", path: `/v1/api-keys/${segment(id)}` }, options);
  }
}

export class Calls extends Resource {
  /**
   * Lists calls, newest first. Filters take one value or up to 100, separated by commas or in repeated parameters; up to 10 `metadata[key]=value` filters
   * match the calls with this metadata.
   */
  list(query: Query<"list_calls"> = {}, options: RequestOptions = {}): Pages<types.Call> {
    return this.fetchPages<types.Call>({ method: "GET", path: "/v1/calls", query }, options);
  }

  /**
   * Places a call.
   *
   * The call is queued; follow it by its status, its events or webhooks. With an `Idempotency-Key` header a repeated request
   * places no second call.
   */
  create(body: types.CreateCall, options: RequestOptions & { idempotencyKey?: string } = {}): Promise<types.Call> {
    return this.fetchJson<types.Call>({ method: "POST", path: "/v1/calls", body, idempotencyKey: options.idempotencyKey ?? newKey() }, options);
  }

  /** Checks what the other method would do, and does nothing. */
  check(body: types.CreateCall, options: RequestOptions = {}): Promise<types.UnplacedCall> {
    return this.fetchJson<types.UnplacedCall>({ method: "POST", path: "/v1/calls", body: { ...body, dry_run: true }, repeatable: true }, options);
  }

  /** Returns a call. */
  get(id: string, options: RequestOptions = {}): Promise<types.Call> {
    return this.fetchJson<types.Call>({ method: "GET", path: `/v1/calls/${segment(id)}` }, options);
  }

  /**
   * Ends a call.
   *
   * A queued call ends at once, a live call when its carrier hangs up. Ending a call that has ended has no effect.
   */
  hangUp(id: string, options: RequestOptions = {}): Promise<types.Call> {
    return this.fetchJson<types.Call>({ method: "POST", path: `/v1/calls/${segment(id)}/hangup`, repeatable: true }, options);
  }

  /**
   * Makes the agent say something on a live call.
   *
   * The words become part of the conversation: the transcript includes what was heard, and the language model sees it. An agent
   * that is saying goodbye says nothing more.
   */
  say(id: string, body: types.Say, options: RequestOptions = {}): Promise<types.Call> {
    return this.fetchJson<types.Call>({ method: "POST", path: `/v1/calls/${segment(id)}/say`, body }, options);
  }

  /**
   * Sends DTMF on a live call, for example to a phone menu.
   *
   * The agent's speech pauses while the tones are sent.
   */
  sendDtmf(id: string, body: types.SendDtmf, options: RequestOptions = {}): Promise<types.Call> {
    return this.fetchJson<types.Call>({ method: "POST", path: `/v1/calls/${segment(id)}/dtmf`, body }, options);
  }

  /**
   * Transfers the caller without an announcement (a cold transfer).
   *
   * The agent stops speaking and the carrier transfers the call. Once the number answers, the call ends as `completed` with `end_reason`
   * `transferred`. Otherwise the agent takes the caller back.
   */
  transfer(id: string, body: types.TransferCall, options: RequestOptions = {}): Promise<types.Call> {
    return this.fetchJson<types.Call>({ method: "POST", path: `/v1/calls/${segment(id)}/transfer`, body }, options);
  }

  /**
   * Lets somebody listen to a live call, both sides.
   *
   * The socket brings `{"type":"start","sample_rate":8000,"channels":2}` (or 16000, like the call), then 20 ms of 16 bit PCM at a time, caller
   * left, agent right, until the call ends or the key or session that asked stops working, as it does for a person who becomes a viewer. It must
   * reach the node that runs the call. A listener who is too slow misses audio; the call never waits.
   */
  listen(id: string, options: RequestOptions = {}): Promise<types.ListenAddress> {
    return this.fetchJson<types.ListenAddress>({ method: "POST", path: `/v1/calls/${segment(id)}/listen`, repeatable: true }, options);
  }

  /**
   * Returns the call's events.
   *
   * With `Accept: text/event-stream`, this is `GET /v1/calls/{id}/events/stream`.
   */
  events(id: string, options: RequestOptions = {}): Promise<types.CallEvents> {
    return this.fetchJson<types.CallEvents>({ method: "GET", path: `/v1/calls/${segment(id)}/events` }, options);
  }

  /**
   * Streams the call's events until the call has ended.
   *
   * Follows them across reconnects. Ends with the call.
   *
   * A stream also ends when the key stops working or the service stops; resume it with `Last-Event-ID`. A tenant can have 32
   * streams per node; sessions and event tokens have 24 of them, one person or token 8. Further ones get 429.
   */
  streamEvents(id: string, options: StreamOptions = {}): AsyncGenerator<types.CallEvent, void, undefined> {
    return this.follow({ method: "GET", path: `/v1/calls/${segment(id)}/events/stream` }, ["call.completed","call.failed"], (event) => event.json<types.CallEvent>(), options);
  }

  /**
   * Returns the transcript, up to now for a live call. The agent's lines contain only what the caller heard.
   *
   * With `Accept: text/event-stream`, this is `GET /v1/calls/{id}/transcript/stream`.
   */
  transcript(id: string, options: RequestOptions = {}): Promise<types.Transcript> {
    return this.fetchJson<types.Transcript>({ method: "GET", path: `/v1/calls/${segment(id)}/transcript` }, options);
  }

  /**
   * Streams the transcript: `line` and `tool_call` events as they are written, then `end` with the call's status.
   *
   * Follows them across reconnects. Ends with the call.
   *
   * A stream also ends when the key or session stops working or the service stops; resume it with `Last-Event-ID`. A
   * tenant can have 32 streams per node; sessions and event tokens have 24 of them, one person or token 8.
   */
  streamTranscript(id: string, options: StreamOptions = {}): AsyncGenerator<TranscriptEvent, void, undefined> {
    return this.follow({ method: "GET", path: `/v1/calls/${segment(id)}/transcript/stream` }, ["end"], transcriptEvent, options);
  }

  /**
   * Returns what was decided about turns in an ended call, and by which evidence. Empty for a live call, and with a speech-to-speech model,
   * which takes turns itself.
   */
  decisions(id: string, options: RequestOptions = {}): Promise<types.CallDecisions> {
    return this.fetchJson<types.CallDecisions>({ method: "GET", path: `/v1/calls/${segment(id)}/decisions` }, options);
  }

  /** Lists the deliveries of a call's events to all endpoints, newest first, each with its attempts. */
  listDeliveries(id: string, query: Query<"list_call_deliveries"> = {}, options: RequestOptions = {}): Pages<types.CallDelivery> {
    return this.fetchPages<types.CallDelivery>({ method: "GET", path: `/v1/calls/${segment(id)}/deliveries`, query }, options);
  }

  /**
   * Returns the recording: a stereo WAV, 8 or 16 kHz like the call, caller left, agent right.
   *
   * Supports one byte range (RFC 9110 section 14); several return the whole file. `If-Range` takes the `ETag`.
   */
  recording(id: string, options: RequestOptions & { range?: string } = {}): Promise<ArrayBuffer> {
    return this.fetchBytes({ method: "GET", path: `/v1/calls/${segment(id)}/recording`, headers: { Accept: "audio/wav", ...(options.range === undefined ? {} : { Range: options.range }) } }, options);
  }
}

export class Connections extends Resource {
  /** Lists the tenant's connections, newest first. */
  list(query: Query<"list_connections"> = {}, options: RequestOptions = {}): Pages<types.Connection> {
    return this.fetchPages<types.Connection>({ method: "GET", path: "/v1/connections", query }, options);
  }

  /** Creates a connection. */
  create(body: types.CreateConnection, options: RequestOptions = {}): Promise<types.Connection> {
    return this.fetchJson<types.Connection>({ method: "POST", path: "/v1/connections", body }, options);
  }

  /** Returns a connection. */
  get(id: string, options: RequestOptions = {}): Promise<types.Connection> {
    return this.fetchJson<types.Connection>({ method: "GET", path: `/v1/connections/${segment(id)}` }, options);
  }

  /**
   * Updates a connection. Its provider cannot change. A patch that changes nothing leaves `updated_at`.
   *
   * A change of the origin of `settings.base_url`, or of `settings.space` or `settings.host`, requires all credentials again in
   * the same request: stored credentials are not sent to a new address.
   */
  update(id: string, body: types.UpdateConnection = {}, options: RequestOptions = {}): Promise<types.Connection> {
    return this.fetchJson<types.Connection>({ method: "PATCH", path: `/v1/connections/${segment(id)}`, body }, options);
  }

  /** Deletes an unused connection. */
  delete(id: string, options: RequestOptions = {}): Promise<void> {
    return this.fetchNothing({ method: "DELETE", path: `/v1/connections/${segment(id)}` }, options);
  }

  /**
   * Tests a connection against the real service, without placing a call.
   *
   * A carrier checks the credentials; a language model responds with a word, speech-to-text transcribes one, text-to-speech speaks
   * one. That may cost a fraction of a cent, and takes at most 15 seconds. A failed check is not an error of this request. A tenant
   * tests one connection at a time per node, others get 429. A node runs eight tests at once; others wait and get 503 after 15 seconds.
   */
  test(id: string, options: RequestOptions = {}): Promise<types.ConnectionTest> {
    return this.fetchJson<types.ConnectionTest>({ method: "POST", path: `/v1/connections/${segment(id)}/test`, repeatable: true }, options);
  }

  /**
   * Lists the voices of a connection's text to speech.
   *
   * ElevenLabs and Cartesia list the voices of the account. Lists for OpenAI and Deepgram are Switchhook's, and not `complete`; other
   * servers with OpenAI's API have the connection's own voice only. A connection without text to speech gets 422, a viewer's session 403.
   * A provider's list is kept for five minutes, a failure for 15 seconds, until the connection is changed.
   */
  voices(id: string, options: RequestOptions = {}): Promise<types.VoiceList> {
    return this.fetchJson<types.VoiceList>({ method: "GET", path: `/v1/connections/${segment(id)}/voices` }, options);
  }

  /**
   * Returns a short sample of a voice, as callers hear it: a mono WAV.
   *
   * The provider charges it like any speech. Samples take part in the limits of connection tests: a tenant has one at a time per
   * node.
   */
  sampleVoice(id: string, voice: string, body: types.CreateVoiceSample = {}, options: RequestOptions = {}): Promise<ArrayBuffer> {
    return this.fetchBytes({ method: "POST", path: `/v1/connections/${segment(id)}/voices/${segment(voice)}/sample`, body }, options);
  }

  /** Lists the voices of agents without a `tts.connection_id`. */
  localVoices(options: RequestOptions = {}): Promise<types.VoiceList> {
    return this.fetchJson<types.VoiceList>({ method: "GET", path: "/v1/connections/local/voices" }, options);
  }

  /** Returns a short sample of a local voice, as callers hear it: a mono WAV. */
  sampleLocalVoice(voice: string, body: types.CreateVoiceSample = {}, options: RequestOptions = {}): Promise<ArrayBuffer> {
    return this.fetchBytes({ method: "POST", path: `/v1/connections/local/voices/${segment(voice)}/sample`, body, repeatable: true }, options);
  }
}

export class Events extends Resource {
  /**
   * Creates a token for event streams, good for ten minutes.
   *
   * It opens `GET /v1/events?token=`, `/v1/calls/{id}/events?token=` and `/v1/calls/{id}/transcript?token=`, each also with
   * `/stream` before the `?`, and nothing else, also from pages of other origins. It stops working with the key or session that
   * asked, and when the person becomes a viewer.
   */
  createToken(options: RequestOptions = {}): Promise<types.EventToken> {
    return this.fetchJson<types.EventToken>({ method: "POST", path: "/v1/event-tokens", repeatable: true }, options);
  }

  /**
   * Lists the events of all calls, newest first.
   *
   * With `Accept: text/event-stream`, this is `GET /v1/events/stream`.
   */
  list(query: Query<"list_events"> = {}, options: RequestOptions = {}): Pages<types.TenantEvent> {
    return this.fetchPages<types.TenantEvent>({ method: "GET", path: "/v1/events", query }, options);
  }

  /**
   * Streams the events of all calls as they happen.
   *
   * Follows them across reconnects. Never ends by itself.
   *
   * A stream starts now, or after `Last-Event-ID`, which can be a day old. An event can arrive twice around a reconnect and in the
   * first seconds: ignore an `id` that you know. A stream ends when the key or session stops working, the service stops, or the client reads
   * too slowly. A tenant can have 32 streams per node; sessions and event tokens have 24 of them, one person or token 8.
   */
  stream(options: StreamOptions = {}): AsyncGenerator<types.TenantEvent, void, undefined> {
    return this.follow({ method: "GET", path: "/v1/events/stream" }, [], (event) => event.json<types.TenantEvent>(), options);
  }
}

export class Numbers extends Resource {
  /** Lists the tenant's numbers, newest first. */
  list(query: Query<"list_numbers"> = {}, options: RequestOptions = {}): Pages<types.PhoneNumber> {
    return this.fetchPages<types.PhoneNumber>({ method: "GET", path: "/v1/numbers", query }, options);
  }

  /** Adds a number. */
  create(body: types.CreateNumber, options: RequestOptions = {}): Promise<types.PhoneNumber> {
    return this.fetchJson<types.PhoneNumber>({ method: "POST", path: "/v1/numbers", body }, options);
  }

  /** Returns a number. */
  get(id: string, options: RequestOptions = {}): Promise<types.PhoneNumber> {
    return this.fetchJson<types.PhoneNumber>({ method: "GET", path: `/v1/numbers/${segment(id)}` }, options);
  }

  /** Updates a number. */
  update(id: string, body: types.UpdateNumber = {}, options: RequestOptions = {}): Promise<types.PhoneNumber> {
    return this.fetchJson<types.PhoneNumber>({ method: "PATCH", path: `/v1/numbers/${segment(id)}`, body }, options);
  }

  /** Deletes a number. Existing calls continue. */
  delete(id: string, options: RequestOptions = {}): Promise<void> {
    return this.fetchNothing({ method: "DELETE", path: `/v1/numbers/${segment(id)}` }, options);
  }
}

export class People extends Resource {
  /** Lists the tenant's people, newest first, including invited ones. */
  list(query: Query<"list_people"> = {}, options: RequestOptions = {}): Pages<types.Person> {
    return this.fetchPages<types.Person>({ method: "GET", path: "/v1/people", query }, options);
  }

  /**
   * Invites a person.
   *
   * Only this response contains the link, which is good for seven days and one acceptance. Send it to the person, who signs in with this
   * address, verified by the identity provider, and accepts or declines. Inviting an address again ends its earlier link.
   * A tenant has at most 100 open invitations, and makes at most 20 in an hour.
   */
  invite(body: types.InvitePerson, options: RequestOptions = {}): Promise<types.InvitedPerson> {
    return this.fetchJson<types.InvitedPerson>({ method: "POST", path: "/v1/people", body }, options);
  }

  /** Returns a person. */
  get(id: string, options: RequestOptions = {}): Promise<types.Person> {
    return this.fetchJson<types.Person>({ method: "GET", path: `/v1/people/${segment(id)}` }, options);
  }

  /** Changes a person's role. It takes effect with the person's next request. */
  update(id: string, body: types.UpdatePerson = {}, options: RequestOptions = {}): Promise<types.Person> {
    return this.fetchJson<types.Person>({ method: "PATCH", path: `/v1/people/${segment(id)}`, body }, options);
  }

  /** Removes a person from the tenant; their sessions in it end at once. Removing an invited person ends the invitation's link. */
  remove(id: string, options: RequestOptions = {}): Promise<void> {
    return this.fetchNothing({ method: "DELETE", path: `/v1/people/${segment(id)}` }, options);
  }
}

export class Simulator extends Resource {
  /** Calls one of the tenant's numbers from the simulated phone network. The call counts towards the concurrent call limit. */
  call(body: types.SimulateCall, options: RequestOptions = {}): Promise<types.Call> {
    return this.fetchJson<types.Call>({ method: "POST", path: "/v1/simulator/inbound", body }, options);
  }
}

export class Statistics extends Resource {
  /**
   * Returns what the ended calls of a time span came to, by hour or day.
   *
   * A call counts in the interval in which it ended. At most 31 days by hour, 366 by day.
   */
  get(query: Query<"show_statistics"> = {}, options: RequestOptions = {}): Promise<types.Statistics> {
    return this.fetchJson<types.Statistics>({ method: "GET", path: "/v1/statistics", query }, options);
  }
}

export class Usage extends Resource {
  /**
   * Returns calls, minutes and cost per day, by agent and by connection.
   *
   * A call counts on the day on which it ended. At most 366 days.
   */
  get(query: Query<"show_usage"> = {}, options: RequestOptions = {}): Promise<types.Usage> {
    return this.fetchJson<types.Usage>({ method: "GET", path: "/v1/usage", query }, options);
  }
}

export class Attention extends Resource {
  /** Returns what needs attention: connections that are refused, endpoints that fail, limits that are near, numbers that nobody answers. */
  get(options: RequestOptions = {}): Promise<types.Attention> {
    return this.fetchJson<types.Attention>({ method: "GET", path: "/v1/attention" }, options);
  }
}

export class Tenant extends Resource {
  /** Returns the key's tenant with its limits and their use. */
  get(options: RequestOptions = {}): Promise<types.Tenant> {
    return this.fetchJson<types.Tenant>({ method: "GET", path: "/v1/tenant" }, options);
  }
}

export class Webhooks extends Resource {
  /** Lists the tenant's webhook endpoints, newest first. */
  list(query: Query<"list_webhooks"> = {}, options: RequestOptions = {}): Pages<types.Webhook> {
    return this.fetchPages<types.Webhook>({ method: "GET", path: "/v1/webhooks", query }, options);
  }

  /**
   * Registers a webhook endpoint.
   *
   * Only this response contains the signing secret. A tenant has at most 20 endpoints, unless the operator sets another limit.
   */
  create(body: types.CreateWebhook, options: RequestOptions = {}): Promise<types.WebhookWithSecret> {
    return this.fetchJson<types.WebhookWithSecret>({ method: "POST", path: "/v1/webhooks", body }, options);
  }

  /** Returns a webhook endpoint without its secret. */
  get(id: string, options: RequestOptions = {}): Promise<types.Webhook> {
    return this.fetchJson<types.Webhook>({ method: "GET", path: `/v1/webhooks/${segment(id)}` }, options);
  }

  /** Updates a webhook endpoint. Pending deliveries go to the new URL; disabling the endpoint cancels them. */
  update(id: string, body: types.UpdateWebhook = {}, options: RequestOptions = {}): Promise<types.Webhook> {
    return this.fetchJson<types.Webhook>({ method: "PATCH", path: `/v1/webhooks/${segment(id)}`, body }, options);
  }

  /** Deletes a webhook endpoint and its deliveries. An attempt in flight may still arrive. */
  delete(id: string, options: RequestOptions = {}): Promise<void> {
    return this.fetchNothing({ method: "DELETE", path: `/v1/webhooks/${segment(id)}` }, options);
  }

  /** Lists an endpoint's deliveries, newest first. */
  listDeliveries(id: string, query: Query<"list_deliveries"> = {}, options: RequestOptions = {}): Pages<types.WebhookDelivery> {
    return this.fetchPages<types.WebhookDelivery>({ method: "GET", path: `/v1/webhooks/${segment(id)}/deliveries`, query }, options);
  }

  /** Returns a delivery with every attempt. */
  getDelivery(id: string, deliveryId: string, options: RequestOptions = {}): Promise<types.WebhookDeliveryWithAttempts> {
    return this.fetchJson<types.WebhookDeliveryWithAttempts>({ method: "GET", path: `/v1/webhooks/${segment(id)}/deliveries/${segment(deliveryId)}` }, options);
  }

  /**
   * Redelivers now.
   *
   * A pending delivery is tried at once (200), as one of its 8 attempts. For one that succeeded, failed or was canceled a new
   * delivery is created (201), with a new id, the same `created` and `data`, and 8 attempts of its own.
   */
  redeliver(id: string, deliveryId: string, options: RequestOptions = {}): Promise<types.WebhookDelivery> {
    return this.fetchJson<types.WebhookDelivery>({ method: "POST", path: `/v1/webhooks/${segment(id)}/deliveries/${segment(deliveryId)}/redeliver` }, options);
  }

  /**
   * Creates a new signing secret. Only this response contains it.
   *
   * For 24 hours deliveries are also signed with the previous secret: `t=…,v1=<new>,v1=<old>`.
   */
  rotateSecret(id: string, options: RequestOptions = {}): Promise<types.WebhookWithSecret> {
    return this.fetchJson<types.WebhookWithSecret>({ method: "POST", path: `/v1/webhooks/${segment(id)}/rotate-secret` }, options);
  }

  /** Sends a `webhook.test` event to the endpoint, whatever its filter. It is retried like any other event. */
  test(id: string, options: RequestOptions = {}): Promise<types.WebhookDelivery> {
    return this.fetchJson<types.WebhookDelivery>({ method: "POST", path: `/v1/webhooks/${segment(id)}/test` }, options);
  }
}
