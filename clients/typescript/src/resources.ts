// Written by generate.mjs from docs/openapi.json: do not edit.

import { newKey, segment } from "./request.js";
import type { Query, RequestOptions, StreamOptions } from "./shapes.js";
import type { Pages } from "./pages.js";
import { Resource } from "./transport.js";
import { transcriptEvent, type TranscriptEvent } from "./events.js";
import type * as types from "./types.js";

export class Agents extends Resource {
  /**
   * List agents.
   *
   * The newest come first.
   */
  list(query: Query<"list_agents"> = {}, options: RequestOptions = {}): Pages<types.Agent> {
    return this.fetchPages<types.Agent>({ method: "GET", path: "/v1/agents", query }, options);
  }

  /**
   * Create an agent.
   *
   * Absent fields take their defaults.
   */
  create(body: types.CreateAgent, options: RequestOptions = {}): Promise<types.Agent> {
    return this.fetchJson<types.Agent>({ method: "POST", path: "/v1/agents", body }, options);
  }

  /**
   * Get an agent.
   *
   * Returns the current version with all defaults.
   */
  get(id: string, options: RequestOptions = {}): Promise<types.Agent> {
    return this.fetchJson<types.Agent>({ method: "GET", path: `/v1/agents/${segment(id)}` }, options);
  }

  /**
   * Update an agent.
   *
   * Creates a version, unless nothing or only `traffic` changes. Existing calls keep theirs.
   */
  update(id: string, body: types.UpdateAgent = {}, options: RequestOptions = {}): Promise<types.Agent> {
    return this.fetchJson<types.Agent>({ method: "PATCH", path: `/v1/agents/${segment(id)}`, body }, options);
  }

  /**
   * Delete an agent.
   *
   * The agent must answer no number; existing calls keep their version.
   */
  delete(id: string, options: RequestOptions = {}): Promise<void> {
    return this.fetchNothing({ method: "DELETE", path: `/v1/agents/${segment(id)}` }, options);
  }

  /**
   * List an agent's versions.
   *
   * Lists the latest 100 and those in `traffic` or calls, newest first.
   */
  listVersions(id: string, query: Query<"list_agent_versions"> = {}, options: RequestOptions = {}): Pages<types.AgentVersion> {
    return this.fetchPages<types.AgentVersion>({ method: "GET", path: `/v1/agents/${segment(id)}/versions`, query }, options);
  }

  /**
   * Get an agent's version.
   *
   * Returns the agent as of this version, with its current `traffic`.
   */
  getVersion(id: string, version: number, options: RequestOptions = {}): Promise<types.Agent> {
    return this.fetchJson<types.Agent>({ method: "GET", path: `/v1/agents/${segment(id)}/versions/${segment(version)}` }, options);
  }

  /**
   * Restore an agent's version.
   *
   * Its name and configuration become a new version; `traffic` and existing calls keep their versions.
   */
  restoreVersion(id: string, version: number, options: RequestOptions = {}): Promise<types.Agent> {
    return this.fetchJson<types.Agent>({ method: "POST", path: `/v1/agents/${segment(id)}/versions/${segment(version)}/restore` }, options);
  }
}

export class ApiKeys extends Resource {
  /**
   * List API keys.
   *
   * The newest come first, including revoked and expired ones.
   */
  list(query: Query<"list_api_keys"> = {}, options: RequestOptions = {}): Pages<types.ApiKey> {
    return this.fetchPages<types.ApiKey>({ method: "GET", path: "/v1/api-keys", query }, options);
  }

  /**
   * Create an API key.
   *
   * Only this response contains the full key.
   */
  create(body: types.CreateApiKey = {}, options: RequestOptions = {}): Promise<types.NewApiKey> {
    return this.fetchJson<types.NewApiKey>({ method: "POST", path: "/v1/api-keys", body }, options);
  }

  /**
   * Get an API key.
   *
   * The secret is not included.
   */
  get(id: string, options: RequestOptions = {}): Promise<types.ApiKey> {
    return this.fetchJson<types.ApiKey>({ method: "GET", path: `/v1/api-keys/${segment(id)}` }, options);
  }

  /**
   * Revoke an API key.
   *
   * The next request with it gets 401; revoking it again has no effect.
   */
  revoke(id: string, options: RequestOptions = {}): Promise<void> {
    return this.fetchNothing({ method: "DELETE", path: `/v1/api-keys/${segment(id)}` }, options);
  }
}

export class Calls extends Resource {
  /**
   * List calls.
   *
   * The newest come first. Filters take up to 100 values, separated by commas or in repeated parameters.
   */
  list(query: Query<"list_calls"> = {}, options: RequestOptions = {}): Pages<types.Call> {
    return this.fetchPages<types.Call>({ method: "GET", path: "/v1/calls", query }, options);
  }

  /**
   * Place a call.
   *
   * The call is queued; follow its status, events or webhooks. Repeating a request with its `Idempotency-Key` places no second call.
   */
  create(body: types.CreateCall, options: RequestOptions & { idempotencyKey?: string } = {}): Promise<types.Call> {
    return this.fetchJson<types.Call>({ method: "POST", path: "/v1/calls", body, idempotencyKey: options.idempotencyKey ?? newKey() }, options);
  }

  /** Checks what the other method would do, and does nothing. */
  check(body: types.CreateCall, options: RequestOptions = {}): Promise<types.UnplacedCall> {
    return this.fetchJson<types.UnplacedCall>({ method: "POST", path: "/v1/calls", body: { ...body, dry_run: true }, repeatable: true }, options);
  }

  /**
   * Get a call.
   *
   * Returns its present status, or its result once it has ended.
   */
  get(id: string, options: RequestOptions = {}): Promise<types.Call> {
    return this.fetchJson<types.Call>({ method: "GET", path: `/v1/calls/${segment(id)}` }, options);
  }

  /**
   * Hang up a call.
   *
   * A queued call ends at once, a live one when the carrier hangs up. No effect on an ended call.
   */
  hangUp(id: string, options: RequestOptions = {}): Promise<types.Call> {
    return this.fetchJson<types.Call>({ method: "POST", path: `/v1/calls/${segment(id)}/hangup`, repeatable: true }, options);
  }

  /**
   * Speak in a call.
   *
   * The agent says the text on a live call: the language model sees it, the transcript includes what was heard. No effect while the agent says
   * goodbye.
   */
  say(id: string, body: types.Say, options: RequestOptions = {}): Promise<types.Call> {
    return this.fetchJson<types.Call>({ method: "POST", path: `/v1/calls/${segment(id)}/say`, body }, options);
  }

  /**
   * Send DTMF.
   *
   * Presses keys on a live call, for example in a phone menu. The agent's speech pauses while the tones are sent.
   */
  sendDtmf(id: string, body: types.SendDtmf, options: RequestOptions = {}): Promise<types.Call> {
    return this.fetchJson<types.Call>({ method: "POST", path: `/v1/calls/${segment(id)}/dtmf`, body }, options);
  }

  /**
   * Transfer a call.
   *
   * Transfers the caller without an announcement (cold transfer). The agent stops speaking and the carrier transfers the call. Once the number
   * answers, the call ends as `completed` with `end_reason` `transferred`. Otherwise the agent takes the caller back.
   */
  transfer(id: string, body: types.TransferCall, options: RequestOptions = {}): Promise<types.Call> {
    return this.fetchJson<types.Call>({ method: "POST", path: `/v1/calls/${segment(id)}/transfer`, body }, options);
  }

  /**
   * Listen to a call.
   *
   * Streams both sides of a live call. The WebSocket sends `{"type":"start","sample_rate":8000,"channels":2}` (or 16000, like the call), then 20
   * ms of 16-bit PCM at a time, caller left, agent right. It closes when the call ends, the key or session stops working, or the person becomes
   * a viewer. Connect to the node that runs the call. Slow listeners miss audio.
   */
  listen(id: string, options: RequestOptions = {}): Promise<types.ListenAddress> {
    return this.fetchJson<types.ListenAddress>({ method: "POST", path: `/v1/calls/${segment(id)}/listen`, repeatable: true }, options);
  }

  /**
   * List a call's events.
   *
   * `Accept: text/event-stream` streams, as `/stream` does.
   */
  events(id: string, options: RequestOptions = {}): Promise<types.CallEvents> {
    return this.fetchJson<types.CallEvents>({ method: "GET", path: `/v1/calls/${segment(id)}/events` }, options);
  }

  /**
   * Stream a call's events.
   *
   * Follows them across reconnects. Ends with the call.
   *
   * Ends with the call, or when the key stops working or the service stops; resume with `Last-Event-ID`. Limits as for `GET /v1/events/stream`.
   */
  streamEvents(id: string, options: StreamOptions = {}): AsyncGenerator<types.CallEvent, void, undefined> {
    return this.follow({ method: "GET", path: `/v1/calls/${segment(id)}/events/stream` }, ["call.completed","call.failed"], (event) => event.json<types.CallEvent>(), options);
  }

  /**
   * Get a transcript.
   *
   * Returns what was said, up to now for a live call. Agent lines contain only what the caller heard. `Accept: text/event-stream` streams, as
   * `/stream` does.
   */
  transcript(id: string, options: RequestOptions = {}): Promise<types.Transcript> {
    return this.fetchJson<types.Transcript>({ method: "GET", path: `/v1/calls/${segment(id)}/transcript` }, options);
  }

  /**
   * Stream a transcript.
   *
   * Follows them across reconnects. Ends with the call.
   *
   * Sends lines and tool calls as they are written, then `end` with the call's status. Also ends when the key or session stops working or the
   * service stops; resume with `Last-Event-ID`. Limits as for `GET /v1/events/stream`.
   */
  streamTranscript(id: string, options: StreamOptions = {}): AsyncGenerator<TranscriptEvent, void, undefined> {
    return this.follow({ method: "GET", path: `/v1/calls/${segment(id)}/transcript/stream` }, ["end"], transcriptEvent, options);
  }

  /**
   * List turn-taking decisions.
   *
   * Lists those of an ended call; there are none for live calls and speech-to-speech models.
   */
  decisions(id: string, options: RequestOptions = {}): Promise<types.CallDecisions> {
    return this.fetchJson<types.CallDecisions>({ method: "GET", path: `/v1/calls/${segment(id)}/decisions` }, options);
  }

  /**
   * List a call's deliveries.
   *
   * Lists webhook deliveries of its events, newest first, with their attempts.
   */
  listDeliveries(id: string, query: Query<"list_call_deliveries"> = {}, options: RequestOptions = {}): Pages<types.CallDelivery> {
    return this.fetchPages<types.CallDelivery>({ method: "GET", path: `/v1/calls/${segment(id)}/deliveries`, query }, options);
  }

  /**
   * Download a recording.
   *
   * The recording is a stereo WAV, 8 or 16 kHz like the call, caller left, agent right. Supports one byte range; several return the whole file.
   */
  recording(id: string, options: RequestOptions & { range?: string } = {}): Promise<ArrayBuffer> {
    return this.fetchBytes({ method: "GET", path: `/v1/calls/${segment(id)}/recording`, headers: { Accept: "audio/wav", ...(options.range === undefined ? {} : { Range: options.range }) } }, options);
  }
}

export class Connections extends Resource {
  /**
   * List connections.
   *
   * The newest come first.
   */
  list(query: Query<"list_connections"> = {}, options: RequestOptions = {}): Pages<types.Connection> {
    return this.fetchPages<types.Connection>({ method: "GET", path: "/v1/connections", query }, options);
  }

  /**
   * Create a connection.
   *
   * Credentials are stored encrypted and never returned in full.
   */
  create(body: types.CreateConnection, options: RequestOptions = {}): Promise<types.Connection> {
    return this.fetchJson<types.Connection>({ method: "POST", path: "/v1/connections", body }, options);
  }

  /**
   * Get a connection.
   *
   * Returns only the last characters of credentials.
   */
  get(id: string, options: RequestOptions = {}): Promise<types.Connection> {
    return this.fetchJson<types.Connection>({ method: "GET", path: `/v1/connections/${segment(id)}` }, options);
  }

  /**
   * Update a connection.
   *
   * The provider cannot change. Changing `settings.space`, `settings.host` or the origin of `settings.base_url` requires all credentials in the
   * same request. If nothing changes, `updated_at` stays the same.
   */
  update(id: string, body: types.UpdateConnection = {}, options: RequestOptions = {}): Promise<types.Connection> {
    return this.fetchJson<types.Connection>({ method: "PATCH", path: `/v1/connections/${segment(id)}`, body }, options);
  }

  /**
   * Delete a connection.
   *
   * No agent or number may use it.
   */
  delete(id: string, options: RequestOptions = {}): Promise<void> {
    return this.fetchNothing({ method: "DELETE", path: `/v1/connections/${segment(id)}` }, options);
  }

  /**
   * Test a connection.
   *
   * Tests it against the provider, without placing a call. Checks a carrier's credentials; has a language model, speech-to-text or
   * text-to-speech process one word, which can cost a fraction of a cent. Takes up to 15 seconds. A failed check still returns 200. Limits: one
   * test at a time per tenant and node (429); eight per node, others wait up to 15 seconds (503).
   */
  test(id: string, options: RequestOptions = {}): Promise<types.ConnectionTest> {
    return this.fetchJson<types.ConnectionTest>({ method: "POST", path: `/v1/connections/${segment(id)}/test`, repeatable: true }, options);
  }

  /**
   * List a connection's voices.
   *
   * ElevenLabs and Cartesia return the account's voices; OpenAI and Deepgram a built-in list, not `complete`; other OpenAI-compatible servers
   * only the connection's voice. Returns 422 without text-to-speech, 403 for viewers. Cached for five minutes (failures 15 seconds) or until the
   * connection changes.
   */
  voices(id: string, options: RequestOptions = {}): Promise<types.VoiceList> {
    return this.fetchJson<types.VoiceList>({ method: "GET", path: `/v1/connections/${segment(id)}/voices` }, options);
  }

  /**
   * Sample a voice.
   *
   * Returns a few words as callers hear them, as mono WAV. The provider charges for it. Shares the limit of connection tests: one at a time per
   * tenant and node.
   */
  sampleVoice(id: string, voice: string, body: types.CreateVoiceSample = {}, options: RequestOptions = {}): Promise<ArrayBuffer> {
    return this.fetchBytes({ method: "POST", path: `/v1/connections/${segment(id)}/voices/${segment(voice)}/sample`, body }, options);
  }

  /**
   * List local voices.
   *
   * Lists the voices for agents without a `tts.connection_id`.
   */
  localVoices(options: RequestOptions = {}): Promise<types.VoiceList> {
    return this.fetchJson<types.VoiceList>({ method: "GET", path: "/v1/connections/local/voices" }, options);
  }

  /**
   * Sample a local voice.
   *
   * Returns a few words as callers hear them, as mono WAV.
   */
  sampleLocalVoice(voice: string, body: types.CreateVoiceSample = {}, options: RequestOptions = {}): Promise<ArrayBuffer> {
    return this.fetchBytes({ method: "POST", path: `/v1/connections/local/voices/${segment(voice)}/sample`, body, repeatable: true }, options);
  }
}

export class Events extends Resource {
  /**
   * Create an event token.
   *
   * The token is valid for ten minutes. It opens only `GET /v1/events?token=`, `/v1/calls/{id}/events?token=` and
   * `/v1/calls/{id}/transcript?token=`, also with `/stream` before the `?`, from any origin. It ends with the key or session that created it,
   * and when the person becomes a viewer.
   */
  createToken(options: RequestOptions = {}): Promise<types.EventToken> {
    return this.fetchJson<types.EventToken>({ method: "POST", path: "/v1/event-tokens", repeatable: true }, options);
  }

  /**
   * List events.
   *
   * Lists those of all calls, newest first. `Accept: text/event-stream` streams, as `/stream` does.
   */
  list(query: Query<"list_events"> = {}, options: RequestOptions = {}): Pages<types.CallEvent> {
    return this.fetchPages<types.CallEvent>({ method: "GET", path: "/v1/events", query }, options);
  }

  /**
   * Stream events.
   *
   * Follows them across reconnects. Never ends by itself.
   *
   * Sends those of all calls as they happen. Starts now, or after a `Last-Event-ID` up to a day old. Ignore known `id`s: events can repeat
   * around a reconnect and in the first seconds. Ends when the key or session stops working, the service stops, or the client reads too slowly.
   * Limits per node: 32 streams per tenant, 24 of them for sessions and event tokens, 8 per person or token; more get 429.
   */
  stream(options: StreamOptions = {}): AsyncGenerator<types.CallEvent, void, undefined> {
    return this.follow({ method: "GET", path: "/v1/events/stream" }, [], (event) => event.json<types.CallEvent>(), options);
  }
}

export class Numbers extends Resource {
  /**
   * List numbers.
   *
   * The newest come first.
   */
  list(query: Query<"list_numbers"> = {}, options: RequestOptions = {}): Pages<types.PhoneNumber> {
    return this.fetchPages<types.PhoneNumber>({ method: "GET", path: "/v1/numbers", query }, options);
  }

  /**
   * Add a number.
   *
   * The number belongs to a carrier connection.
   */
  create(body: types.CreateNumber, options: RequestOptions = {}): Promise<types.PhoneNumber> {
    return this.fetchJson<types.PhoneNumber>({ method: "POST", path: "/v1/numbers", body }, options);
  }

  /**
   * Get a number.
   *
   * Returns the number with the agent that answers it.
   */
  get(id: string, options: RequestOptions = {}): Promise<types.PhoneNumber> {
    return this.fetchJson<types.PhoneNumber>({ method: "GET", path: `/v1/numbers/${segment(id)}` }, options);
  }

  /**
   * Update a number.
   *
   * Changes apply from the next call on.
   */
  update(id: string, body: types.UpdateNumber = {}, options: RequestOptions = {}): Promise<types.PhoneNumber> {
    return this.fetchJson<types.PhoneNumber>({ method: "PATCH", path: `/v1/numbers/${segment(id)}`, body }, options);
  }

  /**
   * Delete a number.
   *
   * Existing calls continue.
   */
  delete(id: string, options: RequestOptions = {}): Promise<void> {
    return this.fetchNothing({ method: "DELETE", path: `/v1/numbers/${segment(id)}` }, options);
  }
}

export class People extends Resource {
  /**
   * List people.
   *
   * The newest come first, including invited ones.
   */
  list(query: Query<"list_people"> = {}, options: RequestOptions = {}): Pages<types.Person> {
    return this.fetchPages<types.Person>({ method: "GET", path: "/v1/people", query }, options);
  }

  /**
   * Invite a person.
   *
   * Only this response contains the link, valid for seven days and one acceptance. The person signs in with this address, verified by the
   * identity provider, to accept or decline. A new invitation revokes the earlier link. Limits per tenant: 100 open invitations, 20 new ones an
   * hour.
   */
  invite(body: types.InvitePerson, options: RequestOptions = {}): Promise<types.InvitedPerson> {
    return this.fetchJson<types.InvitedPerson>({ method: "POST", path: "/v1/people", body }, options);
  }

  /**
   * Get a person.
   *
   * Returns a member or an open invitation.
   */
  get(id: string, options: RequestOptions = {}): Promise<types.Person> {
    return this.fetchJson<types.Person>({ method: "GET", path: `/v1/people/${segment(id)}` }, options);
  }

  /**
   * Change a person's role.
   *
   * The role applies from their next request on.
   */
  update(id: string, body: types.UpdatePerson = {}, options: RequestOptions = {}): Promise<types.Person> {
    return this.fetchJson<types.Person>({ method: "PATCH", path: `/v1/people/${segment(id)}`, body }, options);
  }

  /**
   * Remove a person.
   *
   * Their sessions in the tenant end at once; an invitation is revoked.
   */
  remove(id: string, options: RequestOptions = {}): Promise<void> {
    return this.fetchNothing({ method: "DELETE", path: `/v1/people/${segment(id)}` }, options);
  }
}

export class Simulator extends Resource {
  /**
   * Simulate an inbound call.
   *
   * Calls one of the tenant's numbers from the simulated network. Counts towards the concurrent call limit.
   */
  call(body: types.SimulateCall, options: RequestOptions = {}): Promise<types.Call> {
    return this.fetchJson<types.Call>({ method: "POST", path: "/v1/simulator/inbound", body }, options);
  }
}

export class Statistics extends Resource {
  /**
   * Get call statistics.
   *
   * Returns figures of ended calls by hour or day. Calls count when they end. At most 31 days by hour, 366 by day.
   */
  get(query: Query<"show_statistics"> = {}, options: RequestOptions = {}): Promise<types.Statistics> {
    return this.fetchJson<types.Statistics>({ method: "GET", path: "/v1/statistics", query }, options);
  }
}

export class Usage extends Resource {
  /**
   * Get usage.
   *
   * Returns calls, minutes and cost per day, by agent and by connection. Calls count on the day they end. At most 366 days.
   */
  get(query: Query<"show_usage"> = {}, options: RequestOptions = {}): Promise<types.Usage> {
    return this.fetchJson<types.Usage>({ method: "GET", path: "/v1/usage", query }, options);
  }
}

export class Attention extends Resource {
  /**
   * Get what needs attention.
   *
   * Lists refused connections, failing endpoints, limits nearly reached and unanswered numbers.
   */
  get(options: RequestOptions = {}): Promise<types.Attention> {
    return this.fetchJson<types.Attention>({ method: "GET", path: "/v1/attention" }, options);
  }
}

export class Tenant extends Resource {
  /**
   * Get the tenant.
   *
   * Returns the key's tenant with its limits and their use.
   */
  get(options: RequestOptions = {}): Promise<types.Tenant> {
    return this.fetchJson<types.Tenant>({ method: "GET", path: "/v1/tenant" }, options);
  }
}

export class Webhooks extends Resource {
  /**
   * List webhooks.
   *
   * The newest come first.
   */
  list(query: Query<"list_webhooks"> = {}, options: RequestOptions = {}): Pages<types.Webhook> {
    return this.fetchPages<types.Webhook>({ method: "GET", path: "/v1/webhooks", query }, options);
  }

  /**
   * Create a webhook.
   *
   * Only this response contains the signing secret. At most 20 endpoints per tenant, unless the operator changes it.
   */
  create(body: types.CreateWebhook, options: RequestOptions = {}): Promise<types.WebhookWithSecret> {
    return this.fetchJson<types.WebhookWithSecret>({ method: "POST", path: "/v1/webhooks", body }, options);
  }

  /**
   * Get a webhook.
   *
   * The secret is not included.
   */
  get(id: string, options: RequestOptions = {}): Promise<types.Webhook> {
    return this.fetchJson<types.Webhook>({ method: "GET", path: `/v1/webhooks/${segment(id)}` }, options);
  }

  /**
   * Update a webhook.
   *
   * Pending deliveries go to the new URL; disabling the endpoint cancels them.
   */
  update(id: string, body: types.UpdateWebhook = {}, options: RequestOptions = {}): Promise<types.Webhook> {
    return this.fetchJson<types.Webhook>({ method: "PATCH", path: `/v1/webhooks/${segment(id)}`, body }, options);
  }

  /**
   * Delete a webhook.
   *
   * Its deliveries are deleted too; an attempt in flight may still arrive.
   */
  delete(id: string, options: RequestOptions = {}): Promise<void> {
    return this.fetchNothing({ method: "DELETE", path: `/v1/webhooks/${segment(id)}` }, options);
  }

  /**
   * List a webhook's deliveries.
   *
   * The newest come first.
   */
  listDeliveries(id: string, query: Query<"list_deliveries"> = {}, options: RequestOptions = {}): Pages<types.WebhookDelivery> {
    return this.fetchPages<types.WebhookDelivery>({ method: "GET", path: `/v1/webhooks/${segment(id)}/deliveries`, query }, options);
  }

  /**
   * Get a delivery.
   *
   * Returns the delivery with every attempt.
   */
  getDelivery(id: string, deliveryId: string, options: RequestOptions = {}): Promise<types.WebhookDeliveryWithAttempts> {
    return this.fetchJson<types.WebhookDeliveryWithAttempts>({ method: "GET", path: `/v1/webhooks/${segment(id)}/deliveries/${segment(deliveryId)}` }, options);
  }

  /**
   * Repeat a delivery.
   *
   * Tries a pending delivery at once (200), as one of its 8 attempts. For a finished one, creates a delivery (201) with a new id, the same
   * `created` and `data`, and 8 attempts of its own.
   */
  redeliver(id: string, deliveryId: string, options: RequestOptions = {}): Promise<types.WebhookDelivery> {
    return this.fetchJson<types.WebhookDelivery>({ method: "POST", path: `/v1/webhooks/${segment(id)}/deliveries/${segment(deliveryId)}/redeliver` }, options);
  }

  /**
   * Rotate a webhook's secret.
   *
   * Only this response contains the new one. For 24 hours, the previous one also signs: `t=…,v1=<new>,v1=<old>`.
   */
  rotateSecret(id: string, options: RequestOptions = {}): Promise<types.WebhookWithSecret> {
    return this.fetchJson<types.WebhookWithSecret>({ method: "POST", path: `/v1/webhooks/${segment(id)}/rotate-secret` }, options);
  }

  /**
   * Test a webhook.
   *
   * Sends `webhook.test`, whatever the endpoint's filter. Retried like any other event.
   */
  test(id: string, options: RequestOptions = {}): Promise<types.WebhookDelivery> {
    return this.fetchJson<types.WebhookDelivery>({ method: "POST", path: `/v1/webhooks/${segment(id)}/test` }, options);
  }
}
