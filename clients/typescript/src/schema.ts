// Written by generate.mjs from docs/openapi.json: do not edit.

export interface paths {
    "/v1/agents": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Lists the tenant's agents, newest first. */
        get: operations["list_agents"];
        put?: never;
        /** Creates an agent. */
        post: operations["create_agent"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/agents/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Returns an agent, with all defaults. */
        get: operations["show_agent"];
        put?: never;
        post?: never;
        /** Deletes an agent that answers no number. Existing calls keep their version. */
        delete: operations["delete_agent"];
        options?: never;
        head?: never;
        /** Updates an agent. Creates a new version, unless nothing or only `traffic` changes. Existing calls keep theirs. */
        patch: operations["update_agent"];
        trace?: never;
    };
    "/v1/agents/{id}/versions": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Lists the versions of an agent, newest first: the newest 100, those in `traffic`, and those of calls. */
        get: operations["list_agent_versions"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/agents/{id}/versions/{version}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Returns an agent as it was in a version, with its present `traffic`. */
        get: operations["show_agent_version"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/agents/{id}/versions/{version}/restore": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Creates a new version with the name and configuration of an earlier one. `traffic` and existing calls keep theirs. */
        post: operations["restore_agent_version"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/api-keys": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Lists the tenant's keys, newest first, including revoked and expired ones. */
        get: operations["list_api_keys"];
        put?: never;
        /**
         * Creates a key for the same tenant.
         * @description Only this response contains the whole key.
         */
        post: operations["create_api_key"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/api-keys/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Returns a key without its secret. */
        get: operations["show_api_key"];
        put?: never;
        post?: never;
        /** Revokes a key: the next request with it gets 401. Revoking it again has no effect. */
        delete: operations["revoke_api_key"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/attention": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Returns what needs attention: connections that are refused, endpoints that fail, limits that are near, numbers that nobody answers. */
        get: operations["show_attention"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/calls": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Lists calls, newest first. Filters take one value or up to 100, separated by commas or in repeated parameters; up to 10 `metadata[key]=value` filters
         *     match the calls with this metadata.
         */
        get: operations["list_calls"];
        put?: never;
        /**
         * Places a call.
         * @description The call is queued; follow it by its status, its events or webhooks. With an `Idempotency-Key` header a repeated request
         *     places no second call.
         */
        post: operations["create_call"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/calls/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Returns a call. */
        get: operations["show_call"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/calls/{id}/decisions": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Returns what was decided about turns in an ended call, and by which evidence. Empty for a live call, and with a speech-to-speech model,
         *     which takes turns itself.
         */
        get: operations["list_decisions"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/calls/{id}/deliveries": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Lists the deliveries of a call's events to all endpoints, newest first, each with its attempts. */
        get: operations["list_call_deliveries"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/calls/{id}/dtmf": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Sends DTMF on a live call, for example to a phone menu.
         * @description The agent's speech pauses while the tones are sent.
         */
        post: operations["send_dtmf"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/calls/{id}/events": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Returns the call's events.
         * @description With `Accept: text/event-stream`, this is `GET /v1/calls/{id}/events/stream`.
         */
        get: operations["list_call_events"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/calls/{id}/events/stream": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Streams the call's events until the call has ended.
         * @description A stream also ends when the key stops working or the service stops; resume it with `Last-Event-ID`. A tenant can have 32
         *     streams per node; sessions and event tokens have 24 of them, one person or token 8. Further ones get 429.
         */
        get: operations["stream_call_events"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/calls/{id}/hangup": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Ends a call.
         * @description A queued call ends at once, a live call when its carrier hangs up. Ending a call that has ended has no effect.
         */
        post: operations["hang_up_call"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/calls/{id}/listen": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Lets somebody listen to a live call, both sides.
         * @description The socket brings `{"type":"start","sample_rate":8000,"channels":2}` (or 16000, like the call), then 20 ms of 16 bit PCM at a time, caller
         *     left, agent right, until the call ends or the key or session that asked stops working, as it does for a person who becomes a viewer. It must
         *     reach the node that runs the call. A listener who is too slow misses audio; the call never waits.
         */
        post: operations["listen_to_call"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/calls/{id}/recording": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Returns the recording: a stereo WAV, 8 or 16 kHz like the call, caller left, agent right.
         * @description Supports one byte range (RFC 9110 section 14); several return the whole file. `If-Range` takes the `ETag`.
         */
        get: operations["fetch_recording"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/calls/{id}/say": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Makes the agent say something on a live call.
         * @description The words become part of the conversation: the transcript includes what was heard, and the language model sees it. An agent
         *     that is saying goodbye says nothing more.
         */
        post: operations["say_in_call"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/calls/{id}/transcript": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Returns the transcript, up to now for a live call. The agent's lines contain only what the caller heard.
         * @description With `Accept: text/event-stream`, this is `GET /v1/calls/{id}/transcript/stream`.
         */
        get: operations["show_transcript"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/calls/{id}/transcript/stream": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Streams the transcript: `line` and `tool_call` events as they are written, then `end` with the call's status.
         * @description A stream also ends when the key or session stops working or the service stops; resume it with `Last-Event-ID`. A
         *     tenant can have 32 streams per node; sessions and event tokens have 24 of them, one person or token 8.
         */
        get: operations["stream_transcript"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/calls/{id}/transfer": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Transfers the caller without an announcement (a cold transfer).
         * @description The agent stops speaking and the carrier transfers the call. Once the number answers, the call ends as `completed` with `end_reason`
         *     `transferred`. Otherwise the agent takes the caller back.
         */
        post: operations["transfer_call"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/connections": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Lists the tenant's connections, newest first. */
        get: operations["list_connections"];
        put?: never;
        /** Creates a connection. */
        post: operations["create_connection"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/connections/local/voices": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Lists the voices of agents without a `tts.connection_id`. */
        get: operations["list_local_voices"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/connections/local/voices/{voice}/sample": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Returns a short sample of a local voice, as callers hear it: a mono WAV. */
        post: operations["sample_local_voice"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/connections/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Returns a connection. */
        get: operations["show_connection"];
        put?: never;
        post?: never;
        /** Deletes an unused connection. */
        delete: operations["delete_connection"];
        options?: never;
        head?: never;
        /**
         * Updates a connection. Its provider cannot change. A patch that changes nothing leaves `updated_at`.
         * @description A change of the origin of `settings.base_url`, or of `settings.space` or `settings.host`, requires all credentials again in
         *     the same request: stored credentials are not sent to a new address.
         */
        patch: operations["update_connection"];
        trace?: never;
    };
    "/v1/connections/{id}/test": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Tests a connection against the real service, without placing a call.
         * @description A carrier checks the credentials; a language model responds with a word, speech-to-text transcribes one, text-to-speech speaks
         *     one. That may cost a fraction of a cent, and takes at most 15 seconds. A failed check is not an error of this request. A tenant
         *     tests one connection at a time per node, others get 429. A node runs eight tests at once; others wait and get 503 after 15 seconds.
         */
        post: operations["test_connection"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/connections/{id}/voices": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Lists the voices of a connection's text to speech.
         * @description ElevenLabs and Cartesia list the voices of the account. Lists for OpenAI and Deepgram are Switchhook's, and not `complete`; other
         *     servers with OpenAI's API have the connection's own voice only. A connection without text to speech gets 422, a viewer's session 403.
         *     A provider's list is kept for five minutes, a failure for 15 seconds, until the connection is changed.
         */
        get: operations["list_voices"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/connections/{id}/voices/{voice}/sample": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Returns a short sample of a voice, as callers hear it: a mono WAV.
         * @description The provider charges it like any speech. Samples take part in the limits of connection tests: a tenant has one at a time per
         *     node.
         */
        post: operations["sample_voice"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/event-tokens": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Creates a token for event streams, good for ten minutes.
         * @description It opens `GET /v1/events?token=`, `/v1/calls/{id}/events?token=` and `/v1/calls/{id}/transcript?token=`, each also with
         *     `/stream` before the `?`, and nothing else, also from pages of other origins. It stops working with the key or session that
         *     asked, and when the person becomes a viewer.
         */
        post: operations["create_event_token"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/events": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Lists the events of all calls, newest first.
         * @description With `Accept: text/event-stream`, this is `GET /v1/events/stream`.
         */
        get: operations["list_events"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/events/stream": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Streams the events of all calls as they happen.
         * @description A stream starts now, or after `Last-Event-ID`, which can be a day old. An event can arrive twice around a reconnect and in the
         *     first seconds: ignore an `id` that you know. A stream ends when the key or session stops working, the service stops, or the client reads
         *     too slowly. A tenant can have 32 streams per node; sessions and event tokens have 24 of them, one person or token 8.
         */
        get: operations["stream_events"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/numbers": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Lists the tenant's numbers, newest first. */
        get: operations["list_numbers"];
        put?: never;
        /** Adds a number. */
        post: operations["create_number"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/numbers/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Returns a number. */
        get: operations["show_number"];
        put?: never;
        post?: never;
        /** Deletes a number. Existing calls continue. */
        delete: operations["delete_number"];
        options?: never;
        head?: never;
        /** Updates a number. */
        patch: operations["update_number"];
        trace?: never;
    };
    "/v1/people": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Lists the tenant's people, newest first, including invited ones. */
        get: operations["list_people"];
        put?: never;
        /**
         * Invites a person.
         * @description Only this response contains the link, which is good for seven days and one acceptance. Send it to the person, who signs in with this
         *     address, verified by the identity provider, and accepts or declines. Inviting an address again ends its earlier link.
         *     A tenant has at most 100 open invitations, and makes at most 20 in an hour.
         */
        post: operations["invite_person"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/people/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Returns a person. */
        get: operations["show_person"];
        put?: never;
        post?: never;
        /** Removes a person from the tenant; their sessions in it end at once. Removing an invited person ends the invitation's link. */
        delete: operations["remove_person"];
        options?: never;
        head?: never;
        /** Changes a person's role. It takes effect with the person's next request. */
        patch: operations["update_person"];
        trace?: never;
    };
    "/v1/simulator/inbound": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Calls one of the tenant's numbers from the simulated phone network. The call counts towards the concurrent call limit. */
        post: operations["simulate_inbound_call"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/statistics": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Returns what the ended calls of a time span came to, by hour or day.
         * @description A call counts in the interval in which it ended. At most 31 days by hour, 366 by day.
         */
        get: operations["show_statistics"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/tenant": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Returns the key's tenant with its limits and their use. */
        get: operations["show_tenant"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/usage": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Returns calls, minutes and cost per day, by agent and by connection.
         * @description A call counts on the day on which it ended. At most 366 days.
         */
        get: operations["show_usage"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/webhooks": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Lists the tenant's webhook endpoints, newest first. */
        get: operations["list_webhooks"];
        put?: never;
        /**
         * Registers a webhook endpoint.
         * @description Only this response contains the signing secret. A tenant has at most 20 endpoints, unless the operator sets another limit.
         */
        post: operations["create_webhook"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/webhooks/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Returns a webhook endpoint without its secret. */
        get: operations["show_webhook"];
        put?: never;
        post?: never;
        /** Deletes a webhook endpoint and its deliveries. An attempt in flight may still arrive. */
        delete: operations["delete_webhook"];
        options?: never;
        head?: never;
        /** Updates a webhook endpoint. Pending deliveries go to the new URL; disabling the endpoint cancels them. */
        patch: operations["update_webhook"];
        trace?: never;
    };
    "/v1/webhooks/{id}/deliveries": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Lists an endpoint's deliveries, newest first. */
        get: operations["list_deliveries"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/webhooks/{id}/deliveries/{delivery_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Returns a delivery with every attempt. */
        get: operations["show_delivery"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/webhooks/{id}/deliveries/{delivery_id}/redeliver": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Redelivers now.
         * @description A pending delivery is tried at once (200), as one of its 8 attempts. For one that succeeded, failed or was canceled a new
         *     delivery is created (201), with a new id, the same `created` and `data`, and 8 attempts of its own.
         */
        post: operations["redeliver"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/webhooks/{id}/rotate-secret": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Creates a new signing secret. Only this response contains it.
         * @description For 24 hours deliveries are also signed with the previous secret: `t=…,v1=<new>,v1=<old>`.
         */
        post: operations["rotate_webhook_secret"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/webhooks/{id}/test": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Sends a `webhook.test` event to the endpoint, whatever its filter. It is retried like any other event. */
        post: operations["test_webhook"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
}
export interface webhooks {
    event: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Delivers an event.
         * @description Sent to the `url` of each webhook that takes the event, until it answers with 2XX. Verify a signature, then ignore an `id` that you know.
         */
        post: operations["receive_event"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
}
export interface components {
    schemas: {
        /**
         * @description An agent.
         * @example {
         *       "analysis": {
         *         "schema": null,
         *         "summary": true
         *       },
         *       "answering_machine": {
         *         "message": null,
         *         "mode": "off",
         *         "on_machine": "hangup"
         *       },
         *       "created_at": "2026-01-31T12:00:00.032488Z",
         *       "dtmf": {
         *         "digit_timeout_ms": 2000,
         *         "enabled": true,
         *         "finish_on_key": "#",
         *         "interrupt": true,
         *         "max_digits": 32
         *       },
         *       "greeting": {
         *         "interruptible": true,
         *         "mode": "speak",
         *         "text": "Hello, how can I help you?"
         *       },
         *       "id": "0198c6a0-0000-7000-8000-000000000000",
         *       "instructions": "You answer the phone of a restaurant.",
         *       "interruption": {
         *         "backchannels": [
         *           "mm-hmm",
         *           "mhm",
         *           "uh-huh",
         *           "mm",
         *           "hmm",
         *           "okay",
         *           "ok",
         *           "right",
         *           "yeah",
         *           "yes",
         *           "sure",
         *           "i see"
         *         ],
         *         "enabled": true,
         *         "min_speech_ms": 500,
         *         "min_words": 2
         *       },
         *       "language": "en-US",
         *       "limits": {
         *         "max_duration_seconds": 1800,
         *         "ring_timeout_seconds": 30
         *       },
         *       "llm": {
         *         "connection_id": "0198c6a0-0000-7000-8000-000000000001",
         *         "fallbacks": [],
         *         "hedge": false,
         *         "max_tokens": null,
         *         "model": null,
         *         "temperature": null
         *       },
         *       "name": "Reception",
         *       "privacy": {
         *         "redact": [],
         *         "retention_days": null
         *       },
         *       "realtime": null,
         *       "recording": {
         *         "enabled": true
         *       },
         *       "silence": {
         *         "hangup_after_seconds": 30,
         *         "max_reprompts": 2,
         *         "reprompt_after_seconds": 8
         *       },
         *       "stt": {
         *         "connection_id": "0198c6a0-0000-7000-8000-000000000001",
         *         "fallbacks": [],
         *         "keyterms": [],
         *         "model": null
         *       },
         *       "tools": [],
         *       "traffic": null,
         *       "tts": {
         *         "connection_id": "0198c6a0-0000-7000-8000-000000000001",
         *         "fallbacks": [],
         *         "model": null,
         *         "speed": null,
         *         "voice": null
         *       },
         *       "turn_taking": {
         *         "eagerness": "normal",
         *         "max_silence_ms": 2000,
         *         "min_silence_ms": 400,
         *         "speculative": true
         *       },
         *       "updated_at": "2026-01-31T12:00:00.032488Z",
         *       "variables": {},
         *       "version": 1
         *     }
         */
        Agent: components["schemas"]["AgentConfig"] & {
            /**
             * Format: date-time
             * @description When it was created.
             */
            created_at: string;
            /**
             * Format: uuid
             * @description Its id.
             */
            id: string;
            /** @description Unique per tenant. */
            name: string;
            traffic: components["schemas"]["Traffic"] | null;
            /**
             * Format: date-time
             * @description When it was last changed.
             */
            updated_at: string;
            /**
             * Format: int64
             * @description Increases with each change but those of `traffic`; a call keeps the version it was placed with.
             */
            version: number;
        };
        /** @description One version of an agent's configuration. A call keeps the version it was placed with. */
        AgentConfig: {
            /** @description Post-call analysis. */
            analysis: components["schemas"]["AnalysisSettings"];
            /** @description How to handle answering machines. */
            answering_machine: components["schemas"]["AnsweringMachine"];
            /** @description How to handle DTMF from the caller. */
            dtmf: components["schemas"]["Dtmf"];
            /** @description How the conversation starts. */
            greeting: components["schemas"]["Greeting"];
            /** @description System prompt of the language model; `{{variable}}` is replaced by the call's variables. */
            instructions: string;
            /** @description What happens when the caller interrupts. */
            interruption: components["schemas"]["Interruption"];
            /**
             * @description BCP 47 tag of the spoken language.
             * @example en-US
             */
            language: string;
            /** @description Maximum ring time and duration of a call. */
            limits: components["schemas"]["AgentLimits"];
            llm: components["schemas"]["LlmChoice"] | null;
            /** @description Redaction and retention of a call's words. */
            privacy: components["schemas"]["Privacy"];
            realtime: components["schemas"]["RealtimeChoice"] | null;
            /** @description Whether calls are recorded. */
            recording: components["schemas"]["Recording"];
            /** @description What happens when the caller is silent. */
            silence: components["schemas"]["Silence"];
            stt: components["schemas"]["SttChoice"] | null;
            /** @description Tools that the model can call. */
            tools: components["schemas"]["Tool"][];
            tts: components["schemas"]["TtsChoice"] | null;
            /** @description When a caller's turn ends. */
            turn_taking: components["schemas"]["TurnTaking"];
            /** @description Variables that calls can or must set; at most 50, and 16 KiB of JSON. */
            variables: {
                [key: string]: components["schemas"]["AgentVariable"];
            };
        };
        /** @description Maximum ring time and duration of a call. */
        AgentLimits: {
            /** @description Maximum duration of the conversation, in seconds, 10 to 14400. */
            max_duration_seconds: number;
            /** @description Ring timeout, in seconds, 5 to 120. */
            ring_timeout_seconds: number;
        };
        /** @description Maximum ring time and duration of a call. */
        AgentLimitsInput: {
            /** @description Maximum duration of the conversation, in seconds, 10 to 14400. Default: `1800`. */
            max_duration_seconds?: number | null;
            /** @description Ring timeout, in seconds, 5 to 120. Default: `30`. */
            ring_timeout_seconds?: number | null;
        };
        /** @description One page of a list, newest first. */
        AgentList: {
            data: components["schemas"]["Agent"][];
            has_more: boolean;
            /** Format: uuid */
            next_cursor: string | null;
        };
        /** @description A variable of a call, used as `{{name}}` in texts. */
        AgentVariable: {
            /** @description Used if a call does not set it. */
            default: string | null;
            /** @description Whether a call must set it. */
            required: boolean;
        };
        /** @description A variable of a call, used as `{{name}}` in texts. */
        AgentVariableInput: {
            /** @description Used if a call does not set it. */
            default?: string | null;
            /** @description Whether a call must set it. Default: `false`. */
            required?: boolean | null;
        };
        /** @description A version of an agent. */
        AgentVersion: {
            /**
             * @description The fields that differ from the version before; a list counts as one field.
             * @example [
             *       "greeting.text",
             *       "tools"
             *     ]
             */
            changed: string[];
            /**
             * Format: date-time
             * @description When it was made.
             */
            created_at: string;
            /**
             * @description The agent's name in it.
             * @example Reception
             */
            name: string;
            /**
             * Format: int64
             * @description Its number.
             * @example 12
             */
            version: number;
        };
        /** @description One page of a list, newest first. */
        AgentVersionList: {
            data: components["schemas"]["AgentVersion"][];
            has_more: boolean;
            /** Format: uuid */
            next_cursor: string | null;
        };
        AgentWithWarnings: components["schemas"]["Agent"] & components["schemas"]["RequestWarnings"];
        /** @description Post-call analysis. */
        AnalysisSettings: {
            /**
             * @description JSON Schema of `outcome`. Without a schema the provider chooses the facts to extract; without a summary either, there
             *     is no post-call analysis.
             */
            schema: {
                [key: string]: unknown;
            } | null;
            /** @description Whether the language model writes a summary. */
            summary: boolean;
        };
        /** @description Post-call analysis. */
        AnalysisSettingsInput: {
            /**
             * @description JSON Schema of `outcome`. Without a schema the provider chooses the facts to extract; without a summary either, there
             *     is no post-call analysis.
             */
            schema?: {
                [key: string]: unknown;
            } | null;
            /** @description Whether the language model writes a summary. Default: `true`. */
            summary?: boolean | null;
        };
        /**
         * @description Who answered a call.
         * @enum {string}
         */
        AnsweredBy: "human" | "voicemail" | (string & {});
        /** @description How to handle answering machines. */
        AnsweringMachine: {
            /** @description The message after the beep, for `leave_message`. */
            message: string | null;
            /** @description Whether to detect machines. */
            mode: components["schemas"]["MachineDetection"];
            /** @description What to do when a machine answers. */
            on_machine: components["schemas"]["OnMachine"];
        };
        /** @description How to handle answering machines. */
        AnsweringMachineInput: {
            /** @description The message after the beep, for `leave_message`. */
            message?: string | null;
            /** @description Whether to detect machines. Default: `"off"`. */
            mode?: components["schemas"]["MachineDetection"] | null;
            /** @description What to do when a machine answers. Default: `"hangup"`. */
            on_machine?: components["schemas"]["OnMachine"] | null;
        };
        /**
         * @description A key without its secret.
         * @example {
         *       "created_at": "2026-01-31T12:00:00.000000Z",
         *       "expires_at": null,
         *       "id": "0198c6a0-0000-7000-8000-000000000002",
         *       "last_used_at": "2026-01-31T12:00:09.730607Z",
         *       "name": "first key",
         *       "prefix": "k3v9x0a1b2c3",
         *       "revoked_at": null
         *     }
         */
        ApiKey: {
            /**
             * Format: date-time
             * @description When it was created.
             */
            created_at: string;
            /**
             * Format: date-time
             * @description When it expires; `null` means never.
             */
            expires_at: string | null;
            /**
             * Format: uuid
             * @description Its id, for example to revoke it.
             */
            id: string;
            /**
             * Format: date-time
             * @description When it was last used; uses on other nodes appear after a few seconds.
             */
            last_used_at: string | null;
            /** @description Its label. */
            name: string | null;
            /** @description Its public part. */
            prefix: string;
            /**
             * Format: date-time
             * @description When it was revoked; `null` if it is not.
             */
            revoked_at: string | null;
        };
        /** @description One page of a list, newest first. */
        ApiKeyList: {
            data: components["schemas"]["ApiKey"][];
            has_more: boolean;
            /** Format: uuid */
            next_cursor: string | null;
        };
        /** @description What needs attention. */
        Attention: {
            /** @description The items, the worst first, at most 20 of a kind. */
            data: components["schemas"]["AttentionItem"][];
        };
        /**
         * @description Something that needs attention.
         * @example {
         *       "count": 3,
         *       "detail": "twilio refuses the credentials of \"Main line\".",
         *       "kind": "credentials_refused",
         *       "limit": null,
         *       "since": "2026-01-31T12:00:00.000000Z",
         *       "subject": {
         *         "id": "0198c6a0-0000-7000-8000-000000000000",
         *         "name": "Main line",
         *         "type": "connection"
         *       }
         *     }
         */
        AttentionItem: {
            /**
             * Format: int64
             * @description How many calls were refused, or how many deliveries wait (up to 1000).
             */
            count: number | null;
            /** @description What is the matter, in a sentence. */
            detail: string;
            /** @description What is the matter. */
            kind: components["schemas"]["AttentionKind"];
            limit: components["schemas"]["NearLimit"] | null;
            /**
             * Format: date-time
             * @description Since when, if that is known.
             */
            since: string | null;
            /** @description What it is the matter with. */
            subject: components["schemas"]["AttentionSubject"];
        };
        /**
         * @description What is the matter.
         * @enum {string}
         */
        AttentionKind: "credentials_refused" | "webhook_failing" | "limit_near" | "number_without_agent" | (string & {});
        /** @description What something is the matter with. */
        AttentionSubject: {
            /**
             * Format: uuid
             * @description Its id.
             */
            id: string;
            /** @description Its name, URL or number. */
            name: string;
            /** @description What it is. */
            type: components["schemas"]["AttentionSubjectKind"];
        };
        /**
         * @description What something is.
         * @enum {string}
         */
        AttentionSubjectKind: "connection" | "webhook" | "tenant" | "number" | (string & {});
        /**
         * @description A call.
         * @example {
         *       "agent_id": "0198c6a0-0000-7000-8000-000000000000",
         *       "agent_version": 1,
         *       "analysis": {
         *         "error": null,
         *         "status": "completed"
         *       },
         *       "answered_at": "2026-01-31T12:00:00.166823Z",
         *       "answered_by": null,
         *       "carrier": {
         *         "call_id": "SIM-0198c6a0-0000-7000-8000-000000000003",
         *         "cause": "normal",
         *         "connection_id": "0198c6a0-0000-7000-8000-000000000004",
         *         "provider": "simulator",
         *         "sip_code": null
         *       },
         *       "created_at": "2026-01-31T12:00:00.050768Z",
         *       "dialing_at": "2026-01-31T12:00:00.080583Z",
         *       "direction": "outbound",
         *       "duration_seconds": 9,
         *       "end_reason": "api_hangup",
         *       "ended_at": "2026-01-31T12:00:09.615603Z",
         *       "ended_by": "api",
         *       "error": null,
         *       "error_code": null,
         *       "from": "+12025550199",
         *       "id": "0198c6a0-0000-7000-8000-000000000003",
         *       "latency": {
         *         "after_turn_ms": {
         *           "max": 5,
         *           "n": 1,
         *           "p50": 5,
         *           "p95": 5
         *         },
         *         "greeting_ms": 10,
         *         "response_ms": {
         *           "max": 443,
         *           "n": 1,
         *           "p50": 443,
         *           "p95": 443
         *         }
         *       },
         *       "metadata": {
         *         "order": "A-17"
         *       },
         *       "number_id": "0198c6a0-0000-7000-8000-000000000005",
         *       "outcome": {
         *         "confirmed": false,
         *         "day": null,
         *         "name": "Sarah Miller",
         *         "people": null,
         *         "time": null
         *       },
         *       "recording_url": "/v1/calls/0198c6a0-0000-7000-8000-000000000003/recording",
         *       "ringing_at": "2026-01-31T12:00:00.105128Z",
         *       "schedule_at": null,
         *       "status": "completed",
         *       "summary": "The caller confirmed nothing, but gave: name Sarah Miller.",
         *       "to": "+12025550100",
         *       "turns": 1,
         *       "usage": {
         *         "audio_cached_tokens": 0,
         *         "audio_input_tokens": 0,
         *         "audio_output_tokens": 0,
         *         "cost_usd": 0,
         *         "costs": {
         *           "carrier_usd": null,
         *           "llm_usd": 0,
         *           "realtime_usd": 0,
         *           "stt_usd": 0,
         *           "tts_usd": 0
         *         },
         *         "llm_cache_write_tokens": 0,
         *         "llm_cached_tokens": 0,
         *         "llm_estimated": false,
         *         "llm_input_tokens": 0,
         *         "llm_output_tokens": 0,
         *         "stt_audio_ms": 9400,
         *         "tts_characters": 83,
         *         "unpriced": false
         *       },
         *       "variables": {
         *         "name": "Ana"
         *       }
         *     }
         */
        Call: components["schemas"]["UnplacedCall"] & {
            /**
             * Format: uuid
             * @description Its id.
             */
            id: string;
        };
        /**
         * @description A phone number or SIP address, or `web`. Commas separate values, so an address with a comma cannot be found.
         * @example +12025550100
         */
        CallAddress: string;
        /** @description How post-call analysis went. */
        CallAnalysis: {
            /**
             * @description Why not, if it failed.
             * @example null
             */
            error: string | null;
            /** @description Whether a language model analysed the conversation. */
            status: components["schemas"]["CallAnalysisStatus"];
        };
        /**
         * @description Whether a language model analysed a conversation.
         * @enum {string}
         */
        CallAnalysisStatus: "completed" | "failed" | "skipped" | (string & {});
        /** @description The carrier's data of a call. */
        CallCarrier: {
            /** @description The carrier's id of the call. */
            call_id: string | null;
            cause: components["schemas"]["CarrierCause"] | null;
            /**
             * Format: uuid
             * @description The connection of the call; none of a web call.
             */
            connection_id: string | null;
            /** @description Its provider. */
            provider: string;
            /**
             * Format: int64
             * @description The SIP status code, if any.
             */
            sip_code: number | null;
        };
        CallCompletedData: components["schemas"]["CallEventData"] & {
            /** @description Seconds from answer to end. */
            duration_seconds: number;
            end_reason: components["schemas"]["CallEndReason"] | null;
            /** @description `null`: the call did not fail. */
            error: string | null;
            /** @description The result, in the shape of the agent's `analysis.schema`. */
            outcome: unknown;
            /** @description The conversation in a few sentences. */
            summary: string;
            /** @description The caller's turns that were answered. */
            turns: number;
        };
        CallCompletedEvent: components["schemas"]["WebhookEventHead"] & {
            data: components["schemas"]["CallCompletedData"];
            /** @constant */
            event: "call.completed";
        } & {
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            event: "call.completed" | (string & {});
        };
        /** @description Costs by part, in US dollars. */
        CallCosts: {
            /**
             * Format: double
             * @description The carrier; nothing, since carriers bill on their own.
             */
            carrier_usd: number | null;
            /**
             * Format: double
             * @description Language models, those of the analysis after the call included.
             */
            llm_usd: number;
            /**
             * Format: double
             * @description Speech-to-speech models.
             */
            realtime_usd: number;
            /**
             * Format: double
             * @description Speech to text.
             */
            stt_usd: number;
            /**
             * Format: double
             * @description Text to speech.
             */
            tts_usd: number;
        };
        /**
         * @description One decision about a turn.
         * @example {
         *       "at_ms": 5281,
         *       "ended_by": "silence",
         *       "evidence": [
         *         {
         *           "name": "closed_sentence",
         *           "value": 1,
         *           "weight": 0.46
         *         }
         *       ],
         *       "kind": "turn_ended",
         *       "probability": 0.758,
         *       "silence_ms": 402,
         *       "silence_needed_ms": 400
         *     }
         */
        CallDecision: {
            /**
             * Format: int64
             * @description When, in milliseconds since the start of the conversation, as in the transcript.
             */
            at_ms: number;
            ended_by: components["schemas"]["TurnEndedBy"] | null;
            /** @description What spoke for the end (positive weight) or against it. */
            evidence: components["schemas"]["CallDecisionEvidence"][];
            /**
             * @description `turn_ended`: the caller has finished. `turn_reopened`: they continue, and the agent responds once to all of it. `interruption`,
             *     `false_interruption`: they spoke over the agent, which stopped or continued. `backchannel`: words over the agent without a
             *     response. `speculation`: the model is asked early; `speculation_discarded`: that request was discarded. `machine_ignored`: a
             *     reported machine is a person.
             */
            kind: components["schemas"]["CallDecisionKind"];
            /**
             * Format: float
             * @description How probable the end of the turn was, from 0 to 1.
             */
            probability: number | null;
            /**
             * Format: int64
             * @description How long the caller had been silent, in milliseconds; `null` if they spoke or it did not matter.
             */
            silence_ms: number | null;
            /**
             * Format: int64
             * @description How much silence the evidence asked for, in milliseconds.
             */
            silence_needed_ms: number | null;
        };
        /** @description Something that speaks for or against the end of a turn. */
        CallDecisionEvidence: {
            /**
             * @description Its kind.
             * @example open_word
             */
            name: string;
            /**
             * Format: float
             * @description How much of it there is: 1, or a share.
             */
            value: number;
            /**
             * Format: float
             * @description What 1 of it adds to the log odds of an end.
             * @example -2.6
             */
            weight: number;
        };
        /**
         * @description What was decided.
         * @enum {string}
         */
        CallDecisionKind: "turn_ended" | "turn_reopened" | "interruption" | "false_interruption" | "backchannel" | "speculation" | "speculation_discarded" | "machine_ignored" | (string & {});
        /** @description The decisions of a call. */
        CallDecisions: {
            /** @description In the order in which they were made. */
            data: components["schemas"]["CallDecision"][];
        };
        /** @description A delivery of one of the call's events. */
        CallDelivery: components["schemas"]["WebhookDeliveryWithAttempts"] & {
            /**
             * Format: uri
             * @description Its present URL.
             * @example https://example.com/hooks/calls
             */
            url: string;
            /**
             * Format: uuid
             * @description The endpoint.
             */
            webhook_id: string;
        };
        /** @description One page of a list, newest first. */
        CallDeliveryList: {
            data: components["schemas"]["CallDelivery"][];
            has_more: boolean;
            /** Format: uuid */
            next_cursor: string | null;
        };
        CallDialingEvent: components["schemas"]["WebhookEventHead"] & {
            data: components["schemas"]["CallEventData"];
            /** @constant */
            event: "call.dialing";
        } & {
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            event: "call.dialing" | (string & {});
        };
        /**
         * @description Who placed the call.
         * @enum {string}
         */
        CallDirection: "inbound" | "outbound" | "web" | (string & {});
        /**
         * @description Why a completed call ended.
         * @enum {string}
         */
        CallEndReason: "caller_hangup" | "agent_hangup" | "transferred" | "api_hangup" | "canceled" | "voicemail" | "silence" | "max_duration" | "drained" | (string & {});
        /**
         * @description Who ended a call.
         * @enum {string}
         */
        CallEndedBy: "caller" | "agent" | "api" | "carrier" | "system" | (string & {});
        /**
         * @description An event of a call, as the API returns it.
         * @example {
         *       "created_at": "2026-01-31T12:00:09.618512Z",
         *       "data": {
         *         "agent_id": "0198c6a0-0000-7000-8000-000000000000",
         *         "call_id": "0198c6a0-0000-7000-8000-000000000003",
         *         "direction": "outbound",
         *         "duration_seconds": 9,
         *         "end_reason": "api_hangup",
         *         "error": null,
         *         "from": "+12025550199",
         *         "metadata": {
         *           "order": "A-17"
         *         },
         *         "outcome": {
         *           "confirmed": false,
         *           "day": null,
         *           "name": "Sarah Miller",
         *           "people": null,
         *           "time": null
         *         },
         *         "sequence": 5,
         *         "status": "completed",
         *         "summary": "The caller confirmed nothing, but gave: name Sarah Miller.",
         *         "to": "+12025550100",
         *         "turns": 1
         *       },
         *       "event": "call.completed",
         *       "sequence": 5
         *     }
         */
        CallEvent: {
            /**
             * Format: date-time
             * @description When it happened.
             */
            created_at: string;
            data: components["schemas"]["EventData"];
            /** @description The kind of event. */
            event: components["schemas"]["EventKind"];
            /**
             * Format: int64
             * @description Its number within the call, from 1.
             */
            sequence: number;
        };
        /** @description What the data of every event of a call holds. */
        CallEventData: {
            /**
             * Format: uuid
             * @description The agent.
             */
            agent_id: string;
            /**
             * Format: uuid
             * @description The call.
             */
            call_id: string;
            direction: components["schemas"]["CallDirection"];
            /** @description The caller. */
            from: string;
            metadata: components["schemas"]["Metadata"];
            /** @description The event's number within the call. */
            sequence: number;
            status: components["schemas"]["CallStatus"];
            /** @description The callee. */
            to: string;
        };
        /** @description Events of a call. */
        CallEvents: {
            /** @description The events, in order. */
            data: components["schemas"]["CallEvent"][];
        };
        CallFailedData: components["schemas"]["CallEventData"] & {
            /** @description Seconds from answer to end. */
            duration_seconds: number;
            /** @description What went wrong, as a sentence. */
            error: string;
            error_code: components["schemas"]["CallFailure"];
            /** @description The caller's turns that were answered. */
            turns: number;
        };
        CallFailedEvent: components["schemas"]["WebhookEventHead"] & {
            data: components["schemas"]["CallFailedData"];
            /** @constant */
            event: "call.failed";
        } & {
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            event: "call.failed" | (string & {});
        };
        /**
         * @description Why a call failed. The list is closed: a code never changes its meaning, and none is added.
         * @enum {string}
         */
        CallFailure: "carrier_unauthorized" | "carrier_error" | "busy" | "no_answer" | "rejected" | "invalid_number" | "no_media" | "config_error" | "provider_timeout" | "pipeline_error" | "unknown_error" | (string & {});
        CallInProgressEvent: components["schemas"]["WebhookEventHead"] & {
            data: components["schemas"]["CallEventData"];
            /** @constant */
            event: "call.in_progress";
        } & {
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            event: "call.in_progress" | (string & {});
        };
        /** @description How long the caller waited, in whole milliseconds. */
        CallLatency: {
            /** @description From the decision that the caller's turn is over to the first audio of the answer: model, voice and ourselves. */
            after_turn_ms: components["schemas"]["LatencyPercentiles"];
            /**
             * Format: int64
             * @description From the start of media to the first audio of the greeting.
             */
            greeting_ms: number | null;
            /** @description From the end of the caller's speech to the first audio of the answer. */
            response_ms: components["schemas"]["LatencyPercentiles"];
        };
        /** @description Overrides for the agent's limits. */
        CallLimitOverrides: {
            /** @description Maximum duration of the call, in seconds. */
            max_duration_seconds?: number | null;
            /** @description Ring timeout, in seconds. */
            ring_timeout_seconds?: number | null;
        };
        /** @description One page of a list, newest first. */
        CallList: {
            data: components["schemas"]["Call"][];
            has_more: boolean;
            /** Format: uuid */
            next_cursor: string | null;
        };
        /** @description Agent settings to override for one call. */
        CallOverrides: {
            greeting?: components["schemas"]["GreetingOverride"] | null;
            /** @description The complete instructions. */
            instructions?: string | null;
            limits?: components["schemas"]["CallLimitOverrides"] | null;
        };
        CallQueuedEvent: components["schemas"]["WebhookEventHead"] & {
            data: components["schemas"]["CallEventData"];
            /** @constant */
            event: "call.queued";
        } & {
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            event: "call.queued" | (string & {});
        };
        CallReceivedEvent: components["schemas"]["WebhookEventHead"] & {
            data: components["schemas"]["CallEventData"];
            /** @constant */
            event: "call.received";
        } & {
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            event: "call.received" | (string & {});
        };
        /**
         * @description Where a call stands. It only moves down this list; the last two are final.
         * @enum {string}
         */
        CallStatus: "queued" | "dialing" | "in_progress" | "completed" | "failed" | (string & {});
        /** @description Usage in the units that providers bill. */
        CallUsage: {
            /**
             * Format: int64
             * @description Of these, tokens that came from the provider's cache.
             */
            audio_cached_tokens: number;
            /**
             * Format: int64
             * @description Tokens of audio input of a speech-to-speech model, those from its cache included. Its tokens of text count as the model's.
             */
            audio_input_tokens: number;
            /**
             * Format: int64
             * @description Tokens of audio spoken by a speech-to-speech model.
             */
            audio_output_tokens: number;
            /**
             * Format: double
             * @description Cost in US dollars, by the price table.
             */
            cost_usd: number;
            /** @description The cost by part. */
            costs: components["schemas"]["CallCosts"];
            /**
             * Format: int64
             * @description Of these, tokens that were written to it.
             */
            llm_cache_write_tokens: number;
            /**
             * Format: int64
             * @description Of these, tokens that came from the provider's cache.
             */
            llm_cached_tokens: number;
            /** @description Whether some of the tokens are an estimate: the provider did not say, or was interrupted. */
            llm_estimated: boolean;
            /**
             * Format: int64
             * @description Tokens read by the model, those from and for its cache included.
             */
            llm_input_tokens: number;
            /**
             * Format: int64
             * @description Tokens written by the model, its reasoning included.
             */
            llm_output_tokens: number;
            /**
             * Format: int64
             * @description Audio transcribed, in milliseconds.
             */
            stt_audio_ms: number;
            /**
             * Format: int64
             * @description Characters spoken.
             */
            tts_characters: number;
            /** @description Whether some of it has no price in the table, so that the cost is not all. */
            unpriced: boolean;
        };
        CallWithWarnings: components["schemas"]["Call"] & components["schemas"]["RequestWarnings"];
        /**
         * @description What a carrier says about the end of a call, in one vocabulary for all carriers.
         * @enum {string}
         */
        CarrierCause: "normal" | "busy" | "no_answer" | "rejected" | "invalid_number" | "canceled" | "failed" | (string & {});
        CarrierHangupData: components["schemas"]["CallEventData"] & {
            /** @description The carrier's own code. */
            carrier_code: string | null;
            cause: components["schemas"]["CarrierCause"];
            hung_up_by: components["schemas"]["CallEndedBy"] | null;
            /** @description The SIP status. */
            sip_code: number | null;
        };
        CarrierHangupEvent: components["schemas"]["WebhookEventHead"] & {
            data: components["schemas"]["CarrierHangupData"];
            /** @constant */
            event: "carrier.hangup";
        } & {
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            event: "carrier.hangup" | (string & {});
        };
        /** @description Concurrent calls. */
        ConcurrentCalls: {
            /**
             * Format: int32
             * @description The current number.
             */
            in_use: number;
            /**
             * Format: int32
             * @description The limit.
             */
            limit: number;
        };
        /**
         * @description A connection.
         * @example {
         *       "created_at": "2026-01-31T12:00:00.026978Z",
         *       "credentials": {},
         *       "id": "0198c6a0-0000-7000-8000-000000000004",
         *       "kind": "carrier",
         *       "kinds": [
         *         "carrier"
         *       ],
         *       "limits": {
         *         "max_concurrent": null
         *       },
         *       "name": "Main line",
         *       "provider": "simulator",
         *       "settings": {
         *         "time_scale": 0.05
         *       },
         *       "updated_at": "2026-01-31T12:00:00.026978Z"
         *     }
         */
        Connection: {
            /**
             * Format: date-time
             * @description When it was created.
             */
            created_at: string;
            /** @description Names of the credentials with their last characters. */
            credentials: {
                [key: string]: string;
            };
            /**
             * Format: uuid
             * @description Its id.
             */
            id: string;
            /** @description Its kind. */
            kind: components["schemas"]["ConnectionKind"];
            /** @description Every kind it supports. */
            kinds: components["schemas"]["ConnectionKind"][];
            /** @description Its limits. */
            limits: components["schemas"]["ConnectionLimits"];
            /** @description Unique per tenant. */
            name: string;
            /** @description The carrier or provider. */
            provider: components["schemas"]["ProviderName"];
            /** @description Settings that are not secret. */
            settings: {
                [key: string]: unknown;
            };
            /**
             * Format: date-time
             * @description When it was last changed.
             */
            updated_at: string;
        };
        /** @description One thing that was tried. */
        ConnectionCheck: {
            /**
             * @description What came of it, in a sentence.
             * @example It responded.
             */
            detail: string;
            /**
             * Format: int64
             * @description How long it took.
             */
            duration_ms: number;
            /** @description What was tried. */
            name: components["schemas"]["ConnectionCheckName"];
            /** @description Whether it worked. */
            ok: boolean;
        };
        /**
         * @description What a check tries.
         * @enum {string}
         */
        ConnectionCheckName: "settings" | "carrier" | "language_model" | "speech_to_text" | "text_to_speech" | "speech_to_speech" | "service" | (string & {});
        /**
         * @description What a connection can be used for.
         * @enum {string}
         */
        ConnectionKind: "carrier" | "stt" | "llm" | "tts" | "realtime" | "tool" | "several" | (string & {});
        /** @description Limits of a connection. */
        ConnectionLimits: {
            /**
             * Format: int64
             * @description Concurrent calls; `null` is no limit.
             */
            max_concurrent: number | null;
        };
        /** @description Limits of a connection. */
        ConnectionLimitsInput: {
            /**
             * Format: int64
             * @description Concurrent calls; `null` is no limit.
             */
            max_concurrent?: number | null;
        };
        /** @description One page of a list, newest first. */
        ConnectionList: {
            data: components["schemas"]["Connection"][];
            has_more: boolean;
            /** Format: uuid */
            next_cursor: string | null;
        };
        /**
         * @description Result of a connection test.
         * @example {
         *       "checks": [
         *         {
         *           "detail": "It accepts the credentials.",
         *           "duration_ms": 0,
         *           "name": "carrier",
         *           "ok": true
         *         }
         *       ],
         *       "ok": true
         *     }
         */
        ConnectionTest: {
            /** @description The individual checks. */
            checks: components["schemas"]["ConnectionCheck"][];
            /** @description Whether every check passed. */
            ok: boolean;
        };
        ConnectionWithWarnings: components["schemas"]["Connection"] & components["schemas"]["RequestWarnings"];
        /**
         * @description An agent to create. Only `name` and `instructions` are required.
         * @example {
         *       "instructions": "You answer the phone of a dentist.",
         *       "name": "Reception"
         *     }
         */
        CreateAgent: {
            /** @description Post-call analysis. */
            analysis?: components["schemas"]["AnalysisSettingsInput"] | null;
            /** @description How to handle answering machines. */
            answering_machine?: components["schemas"]["AnsweringMachineInput"] | null;
            /** @description How to handle DTMF from the caller. */
            dtmf?: components["schemas"]["DtmfInput"] | null;
            /** @description How the conversation starts. */
            greeting?: components["schemas"]["GreetingInput"] | null;
            /** @description System prompt of the language model; `{{variable}}` is replaced by the call's variables. */
            instructions: string;
            /** @description What happens when the caller interrupts. */
            interruption?: components["schemas"]["InterruptionInput"] | null;
            /** @description BCP 47 tag of the spoken language. */
            language?: string | null;
            /** @description Maximum ring time and duration of a call. */
            limits?: components["schemas"]["AgentLimitsInput"] | null;
            llm?: components["schemas"]["LlmChoiceInput"] | null;
            /** @description Unique per tenant. */
            name: string;
            /** @description Redaction and retention of a call's words. */
            privacy?: components["schemas"]["PrivacyInput"] | null;
            realtime?: components["schemas"]["RealtimeChoiceInput"] | null;
            /** @description Whether calls are recorded. */
            recording?: components["schemas"]["RecordingInput"] | null;
            /** @description What happens when the caller is silent. */
            silence?: components["schemas"]["SilenceInput"] | null;
            stt?: components["schemas"]["SttChoiceInput"] | null;
            /** @description Tools that the model can call. */
            tools?: components["schemas"]["ToolInput"][] | null;
            traffic?: components["schemas"]["Traffic"] | null;
            tts?: components["schemas"]["TtsChoiceInput"] | null;
            /** @description When a caller's turn ends. */
            turn_taking?: components["schemas"]["TurnTakingInput"] | null;
            /** @description Variables that calls can or must set; at most 50, and 16 KiB of JSON. */
            variables?: {
                [key: string]: components["schemas"]["AgentVariableInput"] | null;
            } | null;
        };
        /**
         * @description A key to create.
         * @example {
         *       "expires_in_days": 90,
         *       "name": "CRM"
         *     }
         */
        CreateApiKey: {
            /**
             * Format: int64
             * @description Days until it expires; it never expires if absent.
             */
            expires_in_days?: number | null;
            /** @description A label to recognise it by. */
            name?: string | null;
        };
        /**
         * @description A call to place.
         * @example {
         *       "agent_id": "0198c6a0-0000-7000-8000-000000000000",
         *       "metadata": {
         *         "order": "A-17"
         *       },
         *       "to": "+12025550100",
         *       "variables": {
         *         "name": "Ana"
         *       }
         *     }
         */
        CreateCall: {
            /**
             * Format: uuid
             * @description The agent that holds the conversation.
             */
            agent_id: string;
            /**
             * Format: int64
             * @description The agent's version. Defaults to the one that its `traffic` selects, or the newest.
             */
            agent_version?: number | null;
            answering_machine?: components["schemas"]["AnsweringMachineInput"] | null;
            /** @description Validate everything, but place no call. */
            dry_run?: boolean | null;
            /** @description One of the tenant's numbers. Defaults to `number_id`, or to the only number that can dial. */
            from?: string | null;
            /** @description Your own data, returned in the call and its events; at most 50 keys and 16 KiB of JSON. */
            metadata?: components["schemas"]["Metadata"] | null;
            /**
             * Format: uuid
             * @description One of the tenant's numbers.
             */
            number_id?: string | null;
            /** @description Overrides parts of the agent for this call. */
            overrides?: components["schemas"]["CallOverrides"] | null;
            /** @description Overrides the agent's ring timeout, in seconds, 5 to 120. */
            ring_timeout_seconds?: number | null;
            /**
             * Format: date-time
             * @description When to dial, at most 90 days ahead; now if absent. Until then the call is queued and counts towards the concurrent calls.
             */
            schedule_at?: string | null;
            /** @description The callee: a number in E.164 form, a `sip:` URI, or `web` for somebody who talks in a browser. */
            to: string;
            /** @description Values for `{{name}}` in the agent's texts; at most 50 keys and 16 KiB of JSON. Send long ids as strings. */
            variables?: components["schemas"]["Variables"] | null;
        };
        /**
         * @description A connection to create.
         * @example {
         *       "name": "Main line",
         *       "provider": "simulator"
         *     }
         */
        CreateConnection: {
            /** @description Secrets under the provider's names. They are write-only. */
            credentials?: components["schemas"]["Credentials"] | null;
            /** @description Its limits. */
            limits?: components["schemas"]["ConnectionLimitsInput"] | null;
            /** @description Unique per tenant. */
            name: string;
            /** @description The carrier or provider. */
            provider: components["schemas"]["ProviderName"];
            /** @description Settings that are not secret, under the provider's names; every provider supports `base_url`. */
            settings?: {
                [key: string]: unknown;
            } | null;
        };
        /**
         * @description A number to add.
         * @example {
         *       "connection_id": "0198c6a0-0000-7000-8000-000000000000",
         *       "inbound_agent_id": "0198c6a0-0000-7000-8000-000000000000",
         *       "label": "Reception",
         *       "number": "+12025550199"
         *     }
         */
        CreateNumber: {
            /** @description Configure the carrier to send the number's calls here. If that fails, the response has a warning. Default: `false`. */
            configure_carrier?: boolean | null;
            /**
             * Format: uuid
             * @description Its carrier connection.
             */
            connection_id: string;
            /**
             * Format: uuid
             * @description The agent that answers it; `null` rejects inbound calls.
             */
            inbound_agent_id?: string | null;
            /** @description Display name. */
            label?: string | null;
            /** @description E.164; unique per connection. */
            number: string;
        };
        /**
         * @description What a voice says in its sample.
         * @example {
         *       "language": "en-US",
         *       "text": "Good morning, this is Ava."
         *     }
         */
        CreateVoiceSample: {
            /** @description Its language, as a BCP 47 tag; default `en-US`. */
            language?: string | null;
            /** @description The provider's model; default: the connection's. */
            model?: string | null;
            /**
             * Format: float
             * @description Speaking rate; default 1, the voice's own.
             */
            speed?: number | null;
            /** @description The text; default: a greeting in English. */
            text?: string | null;
        };
        /**
         * @description A webhook endpoint to register.
         * @example {
         *       "events": [
         *         "call.completed",
         *         "call.failed"
         *       ],
         *       "url": "https://example.com/hooks/calls"
         *     }
         */
        CreateWebhook: {
            /** @description Whether events are sent; default `true`. */
            enabled?: boolean | null;
            /** @description The events to send; all if empty or absent. */
            events?: components["schemas"]["EventKind"][] | null;
            /**
             * Format: uri
             * @description A public HTTPS URL that receives the events; `http://` only where the operator allows it.
             */
            url: string;
        };
        /** @description New secrets, or `null` to remove one. */
        CredentialChanges: {
            [key: string]: string | null;
        };
        /** @description Secrets under the provider's names. */
        Credentials: {
            [key: string]: string | null;
        };
        /** @description What is left of an event whose words were deleted. */
        DeletedData: Record<string, unknown>;
        /**
         * @description Which numbers a tenant can call; set by the operator. Premium-rate, shared-cost and satellite numbers are refused unless
         *     `allow` names them. The tenant's own numbers are always refused.
         */
        DialPolicy: {
            /**
             * @description Allowed prefixes; empty allows every country.
             * @example [
             *       "+1",
             *       "+44"
             *     ]
             */
            allow: string[];
            /**
             * Format: double
             * @description Cost of a day's calls (UTC) at which no further calls are placed; `null` is no cap.
             * @example 50
             */
            cost_per_day_usd: number | null;
            /**
             * @description Denied prefixes.
             * @example [
             *       "+1900"
             *     ]
             */
            deny: string[];
            /**
             * Format: int32
             * @description Calls and transfers to one number in 24 hours; `null` is no limit.
             * @example 20
             */
            per_number_per_day: number | null;
        };
        /**
         * @description How the caller's keys are collected into one input, which ends with the finish key, after a pause, or at its maximum
         *     length.
         */
        Dtmf: {
            /** @description Pause after a key that ends the input, in milliseconds, 500 to 20000. */
            digit_timeout_ms: number;
            /** @description Whether keys are processed. */
            enabled: boolean;
            /**
             * @description The key that ends an input and is not part of it: `0` to `9`, `*`, `#`, `A` to `D`, or `null` for none.
             * @example #
             */
            finish_on_key: string | null;
            /** @description Whether a key stops the agent's speech, if the caller may interrupt it. */
            interrupt: boolean;
            /** @description Number of keys that ends the input, 1 to 64. */
            max_digits: number;
        };
        /**
         * @description How the caller's keys are collected into one input, which ends with the finish key, after a pause, or at its maximum
         *     length.
         */
        DtmfInput: {
            /** @description Pause after a key that ends the input, in milliseconds, 500 to 20000. Default: `2000`. */
            digit_timeout_ms?: number | null;
            /** @description Whether keys are processed. Default: `true`. */
            enabled?: boolean | null;
            /**
             * @description The key that ends an input and is not part of it: `0` to `9`, `*`, `#`, `A` to `D`, or `null` for none. Default: `"#"`.
             * @example #
             */
            finish_on_key?: string | null;
            /** @description Whether a key stops the agent's speech, if the caller may interrupt it. Default: `true`. */
            interrupt?: boolean | null;
            /** @description Number of keys that ends the input, 1 to 64. Default: `32`. */
            max_digits?: number | null;
        };
        /**
         * @description How soon the agent takes the turn.
         * @enum {string}
         */
        Eagerness: "low" | "normal" | "high" | (string & {});
        /** @description The body of an error response. */
        ErrorBody: {
            /** @description A stable code for programs. */
            code: components["schemas"]["ProblemCode"];
            /** @description The problem in one sentence. */
            detail: string;
            /** @description The invalid fields, for status 422. */
            errors: components["schemas"]["ErrorField"][];
            /**
             * Format: uuid
             * @description The id of this request, as in `X-Request-Id` and the service's logs.
             */
            request_id: string | null;
            /** @description The HTTP status. */
            status: number;
            /** @description The status text. */
            title: string;
            /**
             * Format: uri
             * @description A URI that identifies the kind of error.
             */
            type: string;
        };
        /** @description An invalid field. */
        ErrorField: {
            /** @description The problem. */
            message: string;
            /** @description Its path in the body, for example `limits.max_duration_seconds`, or the name of a parameter or header. */
            path: string;
        };
        /** @description The data of an event, by its kind. */
        EventData: components["schemas"]["CallCompletedData"] | components["schemas"]["CallFailedData"] | components["schemas"]["CarrierHangupData"] | components["schemas"]["CallEventData"] | components["schemas"]["DeletedData"];
        /**
         * @description The events of a call.
         * @enum {string}
         */
        EventKind: "call.queued" | "call.dialing" | "call.in_progress" | "call.completed" | "call.failed" | "call.received" | "carrier.hangup" | (string & {});
        /** @description What opens event streams. */
        EventToken: {
            /**
             * Format: date-time
             * @description Until when a stream can be opened with it. An open stream continues after that.
             */
            expires_at: string;
            /**
             * @description The token, to be sent as `?token=`. It gives access to the tenant's events and transcripts.
             * @example AQIDBA
             */
            token: string;
        };
        /** @description The start of the conversation. */
        Greeting: {
            /** @description Whether the caller can interrupt it. */
            interruptible: boolean;
            /** @description Who speaks first. */
            mode: components["schemas"]["GreetingMode"];
            /** @description The text for mode `speak`. */
            text: string;
        };
        /** @description The start of the conversation. */
        GreetingInput: {
            /** @description Whether the caller can interrupt it. Default: `true`. */
            interruptible?: boolean | null;
            /** @description Who speaks first. Default: `"speak"`. */
            mode?: components["schemas"]["GreetingMode"] | null;
            /** @description The text for mode `speak`. Default: `"Hello, how can I help you?"`. */
            text?: string | null;
        };
        /**
         * @description Who speaks first.
         * @enum {string}
         */
        GreetingMode: "speak" | "wait" | "generate" | (string & {});
        /** @description The greeting's text, as a string or as an agent's `greeting` object. */
        GreetingOverride: string | components["schemas"]["GreetingText"];
        /** @description A greeting's text, as in an agent. */
        GreetingText: {
            /** @description Its text. */
            text: string;
        };
        /**
         * @description The HTTP method of a tool's request.
         * @enum {string}
         */
        HttpMethod: "GET" | "POST" | (string & {});
        /** @description What happens when the caller interrupts. */
        Interruption: {
            /** @description Words that do not interrupt on their own. */
            backchannels: string[];
            /** @description Whether the caller can interrupt. */
            enabled: boolean;
            /** @description Speech that interrupts, in milliseconds, 50 to 5000; shorter noises only pause the agent. */
            min_speech_ms: number;
            /** @description Recognised words that interrupt before `min_speech_ms`; 0 ignores words. */
            min_words: number;
        };
        /** @description What happens when the caller interrupts. */
        InterruptionInput: {
            /** @description Words that do not interrupt on their own. Default: `["mm-hmm","mhm","uh-huh","mm","hmm","okay","ok","right","yeah","yes","sure","i see"]`. */
            backchannels?: string[] | null;
            /** @description Whether the caller can interrupt. Default: `true`. */
            enabled?: boolean | null;
            /** @description Speech that interrupts, in milliseconds, 50 to 5000; shorter noises only pause the agent. Default: `500`. */
            min_speech_ms?: number | null;
            /** @description Recognised words that interrupt before `min_speech_ms`; 0 ignores words. Default: `2`. */
            min_words?: number | null;
        };
        /**
         * @description A person to invite.
         * @example {
         *       "email": "ana@example.com"
         *     }
         */
        InvitePerson: {
            /** @description The address with which the person signs in. */
            email: string;
            /** @description The role; `member` if absent. */
            role?: components["schemas"]["PersonRole"] | null;
        };
        /** @description An invited person with the link of the invitation. */
        InvitedPerson: components["schemas"]["Person"] & {
            /**
             * Format: uri
             * @description The link by which the person accepts or declines. It is shown only this once.
             * @example https://voice.example.com/invitation#NDNjaGFyYWN0ZXJzLXRoYXQtbm9ib2R5LWd1ZXNzZXM
             */
            invitation_url: string;
        };
        InvitedPersonWithWarnings: components["schemas"]["InvitedPerson"] & components["schemas"]["RequestWarnings"];
        /** @description Percentiles by the nearest-rank method. */
        LatencyPercentiles: {
            /**
             * Format: int64
             * @description The longest.
             */
            max: number | null;
            /** @description How many were measured. */
            n: number;
            /**
             * Format: int64
             * @description Half waited no longer.
             */
            p50: number | null;
            /**
             * Format: int64
             * @description 95 of 100 waited no longer.
             */
            p95: number | null;
        };
        /**
         * @description A limit.
         * @enum {string}
         */
        LimitName: "concurrent_calls" | "monthly_calls" | "cost_per_day_usd" | (string & {});
        /** @description Where a live call is heard. */
        ListenAddress: {
            /**
             * Format: date-time
             * @description Until when it can be opened.
             */
            expires_at: string;
            /**
             * @description The address of a websocket, good for one connection. Whoever has it can listen.
             * @example wss://voice.example.com/media/listen/AQIDBA
             */
            url: string;
        };
        /** @description A language model and its settings. */
        LlmChoice: {
            /**
             * Format: uuid
             * @description The connection; `null` is a demo script, which does not follow the instructions.
             */
            connection_id: string | null;
            /** @description Fallbacks, tried in order. */
            fallbacks: components["schemas"]["ProviderFallback"][];
            /**
             * @description Send a second request, to the next model or the same one, when the first has not started its response in its usual
             *     time. The first response to start is spoken; both are charged.
             */
            hedge: boolean;
            /** @description Maximum length of a response, in tokens. */
            max_tokens: number | null;
            /** @description The provider's model name. */
            model: string | null;
            /**
             * Format: float
             * @description Sampling temperature, 0 to 2.
             */
            temperature: number | null;
        };
        /** @description A language model and its settings. */
        LlmChoiceInput: {
            /**
             * Format: uuid
             * @description The connection; `null` is a demo script, which does not follow the instructions.
             */
            connection_id?: string | null;
            /** @description Fallbacks, tried in order. */
            fallbacks?: components["schemas"]["ProviderFallbackInput"][] | null;
            /**
             * @description Send a second request, to the next model or the same one, when the first has not started its response in its usual
             *     time. The first response to start is spoken; both are charged.
             */
            hedge?: boolean | null;
            /** @description Maximum length of a response, in tokens. */
            max_tokens?: number | null;
            /** @description The provider's model name. */
            model?: string | null;
            /**
             * Format: float
             * @description Sampling temperature, 0 to 2.
             */
            temperature?: number | null;
        };
        /**
         * @description Whether to detect answering machines.
         * @enum {string}
         */
        MachineDetection: "off" | "detect" | (string & {});
        /** @description Your own data, returned in the call and its events. */
        Metadata: {
            [key: string]: unknown;
        };
        /** @description Minutes and cost of ended calls. */
        MinutesAndCost: {
            /**
             * Format: double
             * @description What they cost in US dollars, by the price table; `null` if nothing they used has a price.
             * @example 0.42
             */
            cost_usd: number | null;
            /**
             * Format: double
             * @description Minutes from answer to end.
             * @example 34.5
             */
            minutes: number;
            /** @description Whether some of what they used has no price, so that they cost more. */
            unpriced: boolean;
        };
        /** @description Calls per month. */
        MonthlyCalls: {
            /**
             * Format: int32
             * @description The cap; `null` is no cap.
             */
            limit: number | null;
            /**
             * Format: date-time
             * @description When the next month starts.
             */
            resets_at: string;
            /**
             * Format: int32
             * @description Calls so far.
             */
            used: number;
        };
        /** @description A limit that is near. */
        NearLimit: {
            /**
             * Format: double
             * @description What there is.
             */
            limit: number;
            /** @description Which one. */
            name: components["schemas"]["LimitName"];
            /**
             * Format: double
             * @description What is used.
             */
            used: number;
        };
        /** @description A new key. */
        NewApiKey: {
            /**
             * Format: date-time
             * @description When it was created.
             */
            created_at: string;
            /**
             * Format: date-time
             * @description When it expires; `null` means never.
             */
            expires_at: string | null;
            /**
             * Format: uuid
             * @description Its id, for example to revoke it.
             */
            id: string;
            /**
             * @description The whole key. It is shown only this once.
             * @example vk_dev_k3v9x0a1b2c3_0000000000000000000000000000000example
             */
            key: string;
            /** @description Its label. */
            name: string | null;
            /**
             * @description Its public part.
             * @example k3v9x0a1b2c3
             */
            prefix: string;
        };
        NewApiKeyWithWarnings: components["schemas"]["NewApiKey"] & components["schemas"]["RequestWarnings"];
        /**
         * @description What to do when a machine answers.
         * @enum {string}
         */
        OnMachine: "hangup" | "leave_message" | (string & {});
        /** @description A person. */
        Person: {
            /**
             * Format: date-time
             * @description When the person was invited, or made the tenant by the first sign-in.
             */
            created_at: string;
            /**
             * @description The e-mail address that was invited or that the identity provider has verified; `null` if there is none.
             * @example ana@example.com
             */
            email: string | null;
            /**
             * Format: date-time
             * @description When the invitation ends; `null` for a person who belongs to the tenant.
             */
            expires_at: string | null;
            /**
             * Format: uuid
             * @description Its id.
             */
            id: string;
            /**
             * Format: date-time
             * @description When the person last used the dashboard, to the minute.
             */
            last_seen_at: string | null;
            /** @description The name, as the identity provider has it; `null` if the person is only invited. */
            name: string | null;
            /** @description What the person may do. */
            role: components["schemas"]["PersonRole"];
            /** @description `invited` until the person accepts the invitation. */
            status: components["schemas"]["PersonStatus"];
        };
        /** @description One page of a list, newest first. */
        PersonList: {
            data: components["schemas"]["Person"][];
            has_more: boolean;
            /** Format: uuid */
            next_cursor: string | null;
        };
        /**
         * @description What a person may do: `viewer` reads; `member` also changes everything except people, API keys and settings of the tenant; `owner` does everything.
         * @enum {string}
         */
        PersonRole: "owner" | "member" | "viewer" | (string & {});
        /**
         * @description Whether a person belongs to the tenant.
         * @enum {string}
         */
        PersonStatus: "active" | "invited" | (string & {});
        PersonWithWarnings: components["schemas"]["Person"] & components["schemas"]["RequestWarnings"];
        /**
         * @description A phone number.
         * @example {
         *       "connection_id": "0198c6a0-0000-7000-8000-000000000004",
         *       "created_at": "2026-01-31T12:00:00.036356Z",
         *       "id": "0198c6a0-0000-7000-8000-000000000005",
         *       "inbound_agent_id": "0198c6a0-0000-7000-8000-000000000000",
         *       "inbound_url": null,
         *       "label": "Reception",
         *       "number": "+12025550199",
         *       "updated_at": "2026-01-31T12:00:00.036356Z"
         *     }
         */
        PhoneNumber: {
            /**
             * Format: uuid
             * @description Its carrier connection.
             */
            connection_id: string;
            /**
             * Format: date-time
             * @description When it was created.
             */
            created_at: string;
            /**
             * Format: uuid
             * @description Its id.
             */
            id: string;
            /**
             * Format: uuid
             * @description The agent that answers it; `null` rejects inbound calls.
             */
            inbound_agent_id: string | null;
            /**
             * Format: uri
             * @description URL to which the carrier sends the number's calls; `null` if nothing needs to be configured. Requests to it also need
             *     the carrier's signature.
             */
            inbound_url: string | null;
            /** @description Display name. */
            label: string | null;
            /** @description E.164. */
            number: string;
            /**
             * Format: date-time
             * @description When it was last changed.
             */
            updated_at: string;
        };
        /** @description One page of a list, newest first. */
        PhoneNumberList: {
            data: components["schemas"]["PhoneNumber"][];
            has_more: boolean;
            /** Format: uuid */
            next_cursor: string | null;
        };
        PhoneNumberWithWarnings: components["schemas"]["PhoneNumber"] & components["schemas"]["RequestWarnings"];
        /** @description Redaction and retention of a call's words. */
        Privacy: {
            /** @description What to redact from everything stored about a conversation, and from its events. The agent hears the original; recordings keep it. */
            redact: components["schemas"]["RedactedKind"][];
            /** @description Days after the end of a call until its words are deleted, 1 to 3650; `null` keeps them. */
            retention_days: number | null;
        };
        /** @description Redaction and retention of a call's words. */
        PrivacyInput: {
            /** @description What to redact from everything stored about a conversation, and from its events. The agent hears the original; recordings keep it. Default: `[]`. */
            redact?: components["schemas"]["RedactedKind"][] | null;
            /** @description Days after the end of a call until its words are deleted, 1 to 3650; `null` keeps them. */
            retention_days?: number | null;
        };
        /** @description What is wrong, for programs; `docs/api.md` says when. Later versions can have more codes; none changes its meaning. */
        ProblemCode: "agent_in_use" | "already_member" | "bad_signature" | "body_timeout" | "body_too_large" | "busy" | "call_elsewhere" | "call_ended" | "call_not_in_progress" | "calls_stalled" | "carrier_rate_limit" | "connection_in_use" | "database_unavailable" | "deliveries_stalled" | "draining" | "email_taken" | "foreign_origin" | "idempotency_key_reused" | "identity_provider_unavailable" | "internal_error" | "invalid_request" | "invitation_ended" | "invitation_for_another" | "invitation_rate_limit" | "last_owner" | "listener_rate_limit" | "method_not_allowed" | "name_taken" | "no_calls_here" | "no_voices" | "no_websocket" | "not_found" | "number_taken" | "provider_refused" | "provider_unavailable" | "quota_exceeded" | "range_not_satisfiable" | "rate_limited" | "request_in_progress" | "role_forbids" | "sign_in_declined" | "sign_in_expired" | "sign_in_link_required" | "sign_in_local_only" | "sign_in_not_allowed" | "sign_in_off" | "sign_in_rate_limit" | "sign_in_refused" | "stream_open" | "tenant_deactivated" | "test_in_progress" | "timeout" | "token_used" | "too_many_listeners" | "too_many_streams" | "unauthorized" | "web_call_rate_limit" | "webhook_disabled" | (string & {});
        /** @description A provider to try when the previous one fails. */
        ProviderFallback: {
            /**
             * Format: uuid
             * @description The connection.
             */
            connection_id: string;
            /** @description The provider's model name. */
            model: string | null;
            /** @description The provider's voice name, for text-to-speech. */
            voice: string | null;
        };
        /** @description A provider to try when the previous one fails. */
        ProviderFallbackInput: {
            /**
             * Format: uuid
             * @description The connection.
             */
            connection_id: string;
            /** @description The provider's model name. */
            model?: string | null;
            /** @description The provider's voice name, for text-to-speech. */
            voice?: string | null;
        };
        /**
         * @description A carrier or provider.
         * @enum {string}
         */
        ProviderName: "simulator" | "twilio" | "signalwire" | "telnyx" | "plivo" | "vonage" | "sip" | "local" | "scripted" | "openai" | "anthropic" | "gemini" | "deepgram" | "assemblyai" | "elevenlabs" | "cartesia" | "http" | (string & {});
        /** @description Requests in a sliding window. */
        RateLimit: {
            /**
             * Format: int32
             * @description Requests allowed in any window. The `RateLimit` header of every response has the remaining number.
             */
            limit: number;
            /**
             * Format: int64
             * @description The length of the window.
             */
            window_seconds: number;
        };
        /** @description A speech-to-speech model and its settings. */
        RealtimeChanges: {
            /** Format: uuid */
            connection_id?: string;
            fallbacks?: components["schemas"]["ProviderFallbackInput"][] | null;
            model?: string | null;
            voice?: string | null;
        };
        /** @description A speech-to-speech model and its settings. */
        RealtimeChoice: {
            /**
             * Format: uuid
             * @description The connection.
             */
            connection_id: string;
            /** @description Fallbacks, tried in order when the previous one cannot be reached, disconnects repeatedly, or understands nothing. */
            fallbacks: components["schemas"]["ProviderFallback"][];
            /** @description The provider's model name. */
            model: string | null;
            /** @description The provider's voice name. */
            voice: string | null;
        };
        /** @description A speech-to-speech model and its settings. */
        RealtimeChoiceInput: {
            /**
             * Format: uuid
             * @description The connection.
             */
            connection_id: string;
            /** @description Fallbacks, tried in order when the previous one cannot be reached, disconnects repeatedly, or understands nothing. */
            fallbacks?: components["schemas"]["ProviderFallbackInput"][] | null;
            /** @description The provider's model name. */
            model?: string | null;
            /** @description The provider's voice name. */
            voice?: string | null;
        };
        /** @description Whether calls are recorded. */
        Recording: {
            /** @description Keep a stereo WAV: caller left, agent right. */
            enabled: boolean;
        };
        /** @description Whether calls are recorded. */
        RecordingInput: {
            /** @description Keep a stereo WAV: caller left, agent right. Default: `false`. */
            enabled?: boolean | null;
        };
        /**
         * @description A kind of private data.
         * @enum {string}
         */
        RedactedKind: "card_numbers" | "phone_numbers" | "email_addresses" | "digits" | "dtmf" | (string & {});
        RequestWarnings: {
            /** @description Warnings about the request, one sentence each; absent if there are none. */
            warnings?: string[];
        };
        /** @description When a response reached each stage, in milliseconds since the conversation began. */
        ResponseStages: {
            /**
             * Format: int64
             * @description The caller's last audio, or last key.
             */
            end_of_speech_ms: number;
            /**
             * Format: int64
             * @description The turn was judged to be over.
             */
            end_of_turn_ms: number;
            /**
             * Format: int64
             * @description The first audio was made.
             */
            first_audio_ms: number | null;
            /**
             * Format: int64
             * @description The model's first text; `null` for a speech-to-speech model. May be before `end_of_turn_ms` when the model was asked early.
             */
            first_token_ms: number | null;
            /**
             * Format: int64
             * @description The first audio was heard.
             */
            heard_ms: number;
        };
        /** @description Response times in milliseconds, within 5 %. */
        ResponseTimes: {
            /**
             * Format: int64
             * @description How many were measured.
             * @example 88
             */
            n: number;
            /**
             * Format: int64
             * @description Half of the responses took no longer.
             * @example 461
             */
            p50: number | null;
            /**
             * Format: int64
             * @description 95 of 100 took no longer.
             * @example 812
             */
            p95: number | null;
        };
        /**
         * @description Words for the agent to say.
         * @example {
         *       "text": "A colleague will join us in a minute."
         *     }
         */
        Say: {
            /**
             * @description Say it at once and drop the agent's current response. Otherwise it follows that response. The agent never talks over
             *     the caller.
             */
            interrupt?: boolean | null;
            /** @description The text; at least one word. */
            text: string;
        };
        /**
         * @description DTMF digits to send.
         * @example {
         *       "digits": "1w2#"
         *     }
         */
        SendDtmf: {
            /** @description `0` to `9`, `*`, `#`, `A` to `D`; `w` is a pause of half a second. */
            digits: string;
        };
        /** @description What happens when the caller is silent. */
        Silence: {
            /** @description Caller silence after which the agent hangs up, in seconds, 5 to 3600; `null` is never. */
            hangup_after_seconds: number | null;
            /** @description Maximum number of reprompts, 0 to 10. */
            max_reprompts: number;
            /** @description Silence after which the agent reprompts, in seconds, 2 to 600. */
            reprompt_after_seconds: number;
        };
        /** @description What happens when the caller is silent. */
        SilenceInput: {
            /** @description Caller silence after which the agent hangs up, in seconds, 5 to 3600; `null` is never. Default: `30`. */
            hangup_after_seconds?: number | null;
            /** @description Maximum number of reprompts, 0 to 10. Default: `2`. */
            max_reprompts?: number | null;
            /** @description Silence after which the agent reprompts, in seconds, 2 to 600. Default: `8`. */
            reprompt_after_seconds?: number | null;
        };
        /**
         * @description A call to simulate.
         * @example {
         *       "from": "+12025550100",
         *       "to": "+12025550199"
         *     }
         */
        SimulateCall: {
            /** @description The caller's number. It selects the caller's behaviour, like the callee's number of an outbound call. */
            from: string;
            /** @description One of the tenant's numbers in a simulator connection, with an `inbound_agent_id`. */
            to: string;
        };
        /** @description Calls that ended in a time span. */
        Statistics: {
            /**
             * Format: date-time
             * @description The beginning of the first bucket.
             */
            after: string;
            /**
             * Format: date-time
             * @description The end of the last bucket.
             */
            before: string;
            /** @description Every interval of the span, oldest first. */
            buckets: components["schemas"]["StatisticsBucket"][];
            /** @description The length of a bucket. */
            interval: components["schemas"]["StatisticsInterval"];
            /** @description Their sum. */
            totals: components["schemas"]["StatisticsFigures"];
        };
        /** @description Calls that ended in an interval. */
        StatisticsBucket: components["schemas"]["StatisticsFigures"] & {
            /**
             * Format: date-time
             * @description Its beginning.
             */
            start: string;
        };
        /** @description Figures of ended calls. */
        StatisticsFigures: components["schemas"]["MinutesAndCost"] & {
            /**
             * Format: int64
             * @description How many ended.
             * @example 12
             */
            calls: number;
            /**
             * Format: int64
             * @description Those that ended normally.
             * @example 10
             */
            completed: number;
            /**
             * Format: int64
             * @description Those that failed.
             * @example 2
             */
            failed: number;
            /** @description How long callers waited for responses. */
            response_ms: components["schemas"]["ResponseTimes"];
        };
        /**
         * @description The length of a bucket.
         * @enum {string}
         */
        StatisticsInterval: "hour" | "day" | (string & {});
        /** @description What a tenant stores; the operator sets the limits. Beyond one, a request is 422. */
        Stored: {
            /** @description Bytes of the versions of agents, including versions of deleted agents that calls keep. */
            agent_bytes: components["schemas"]["StoredAmount"];
            /** @description Agents. */
            agents: components["schemas"]["StoredAmount"];
            /** @description API keys that are not revoked. */
            api_keys: components["schemas"]["StoredAmount"];
            /** @description Connections. */
            connections: components["schemas"]["StoredAmount"];
            /** @description Phone numbers. */
            numbers: components["schemas"]["StoredAmount"];
            /** @description People, including invited ones. */
            people: components["schemas"]["StoredAmount"];
            /** @description Webhook endpoints. */
            webhooks: components["schemas"]["StoredAmount"];
        };
        /** @description An amount of something that is stored. */
        StoredAmount: {
            /**
             * Format: int64
             * @description What is there. It can be more than a limit that was set later.
             */
            in_use: number;
            /**
             * Format: int64
             * @description The limit.
             */
            limit: number;
        };
        /** @description A speech-to-text provider and its settings. */
        SttChoice: {
            /**
             * Format: uuid
             * @description The connection; `null` is local speech-to-text.
             */
            connection_id: string | null;
            /** @description Fallbacks, tried in order. */
            fallbacks: components["schemas"]["ProviderFallback"][];
            /** @description Words that speech-to-text should expect. */
            keyterms: string[];
            /** @description The provider's model name. */
            model: string | null;
        };
        /** @description A speech-to-text provider and its settings. */
        SttChoiceInput: {
            /**
             * Format: uuid
             * @description The connection; `null` is local speech-to-text.
             */
            connection_id?: string | null;
            /** @description Fallbacks, tried in order. */
            fallbacks?: components["schemas"]["ProviderFallbackInput"][] | null;
            /** @description Words that speech-to-text should expect. */
            keyterms?: string[] | null;
            /** @description The provider's model name. */
            model?: string | null;
        };
        /**
         * @description A tenant.
         * @example {
         *       "concurrent_calls": {
         *         "in_use": 0,
         *         "limit": 10
         *       },
         *       "created_at": "2026-01-31T12:00:00.000000Z",
         *       "dial_policy": {
         *         "allow": [],
         *         "cost_per_day_usd": null,
         *         "deny": [],
         *         "per_number_per_day": 20
         *       },
         *       "id": "0198c6a0-0000-7000-8000-000000000006",
         *       "monthly_calls": {
         *         "limit": null,
         *         "resets_at": "2026-02-01T00:00:00.000000Z",
         *         "used": 1
         *       },
         *       "name": "Acme",
         *       "rate_limit": {
         *         "limit": 120,
         *         "window_seconds": 60
         *       },
         *       "stored": {
         *         "agent_bytes": {
         *           "in_use": 1269,
         *           "limit": 268435456
         *         },
         *         "agents": {
         *           "in_use": 1,
         *           "limit": 500
         *         },
         *         "api_keys": {
         *           "in_use": 1,
         *           "limit": 500
         *         },
         *         "connections": {
         *           "in_use": 2,
         *           "limit": 200
         *         },
         *         "numbers": {
         *           "in_use": 1,
         *           "limit": 1000
         *         },
         *         "people": {
         *           "in_use": 0,
         *           "limit": 200
         *         },
         *         "webhooks": {
         *           "in_use": 1,
         *           "limit": 20
         *         }
         *       }
         *     }
         */
        Tenant: {
            /** @description Calls queued, dialing or in progress, including inbound calls. */
            concurrent_calls: components["schemas"]["ConcurrentCalls"];
            /**
             * Format: date-time
             * @description When it was created.
             */
            created_at: string;
            /** @description Which numbers it can call. */
            dial_policy: components["schemas"]["DialPolicy"];
            /**
             * Format: uuid
             * @description Its id.
             */
            id: string;
            /** @description Calls placed in this calendar month (UTC). */
            monthly_calls: components["schemas"]["MonthlyCalls"];
            /** @description Its name. */
            name: string;
            /** @description Requests per window. */
            rate_limit: components["schemas"]["RateLimit"];
            /** @description What it stores. */
            stored: components["schemas"]["Stored"];
        };
        /** @description An event of any call of a tenant, as the API returns it. */
        TenantEvent: components["schemas"]["CallEvent"] & {
            /**
             * Format: uuid
             * @description The call.
             */
            call_id: string;
            /**
             * Format: uuid
             * @description Its id.
             */
            id: string;
        };
        /** @description One page of a list, newest first. */
        TenantEventList: {
            data: components["schemas"]["TenantEvent"][];
            has_more: boolean;
            /** Format: uuid */
            next_cursor: string | null;
        };
        /** @description A tool that the model can call. Its `type` decides which fields apply. */
        Tool: {
            /**
             * Format: uuid
             * @description For `http` and `mcp`: an `http` connection whose credentials are sent as headers. They are write-only.
             */
            connection_id: string | null;
            /** @description Tells the model when to use it. Tools of an `mcp` server have their own descriptions. */
            description: string | null;
            /** @description For `transfer`: the possible targets. */
            destinations?: components["schemas"]["TransferDestination"][];
            /**
             * @description For `http` and `mcp`: spoken while the tool runs, unless the model has already said something.
             * @example Let me look that up.
             */
            filler: string | null;
            /**
             * @description For `http` and `mcp`: additional headers, in which `{{variable}}` is replaced. Anyone who can read the agent can read
             *     them; keep secrets in a connection.
             */
            headers?: {
                [key: string]: string;
            };
            method: components["schemas"]["HttpMethod"] | null;
            /**
             * @description For `http`: the tool's name; letters, digits, `_` and `-`. For `mcp`: the prefix for tool names that are already taken;
             *     defaults to the server's host.
             * @example free_tables
             */
            name: string | null;
            /** @description For `http`: JSON Schema of its arguments, an object; no arguments if absent. */
            parameters: {
                [key: string]: unknown;
            } | null;
            /** @description For `http` and `mcp`: timeout in seconds, 1 to 10; default 8. */
            timeout_seconds: number | null;
            /** @description For `mcp`: names of the server's tools to use; all if empty. */
            tools?: string[];
            /** @description Its type. */
            type: components["schemas"]["ToolKind"];
            /**
             * @description For `http` and `mcp`: the URL. `{{variable}}` is replaced by the call's variable, percent-encoded.
             * @example https://example.com/tables
             */
            url: string | null;
        };
        /** @description A tool that the agent used. */
        ToolCall: {
            /** @description What the model passed. */
            arguments: unknown;
            /**
             * Format: int64
             * @description How long it took, in milliseconds.
             */
            duration_ms: number;
            /** @description Why it failed. */
            error: string | null;
            /** @description The model's id of it. */
            id: string;
            /**
             * @description The tool.
             * @example book_table
             */
            name: string;
            /** @description What the model was told; `null` if it was told nothing. */
            result: unknown;
            /**
             * Format: int64
             * @description When it began, in milliseconds since the start of the conversation.
             */
            start_ms: number;
            /** @description Whether it worked. */
            status: components["schemas"]["ToolCallStatus"];
        };
        /**
         * @description Whether a tool worked.
         * @enum {string}
         */
        ToolCallStatus: "succeeded" | "failed" | (string & {});
        /** @description A tool that the model can call. Its `type` decides which fields apply. */
        ToolInput: {
            /**
             * Format: uuid
             * @description For `http` and `mcp`: an `http` connection whose credentials are sent as headers. They are write-only.
             */
            connection_id?: string | null;
            /** @description Tells the model when to use it. Tools of an `mcp` server have their own descriptions. */
            description?: string | null;
            /** @description For `transfer`: the possible targets. */
            destinations?: components["schemas"]["TransferDestinationInput"][] | null;
            /**
             * @description For `http` and `mcp`: spoken while the tool runs, unless the model has already said something.
             * @example Let me look that up.
             */
            filler?: string | null;
            /**
             * @description For `http` and `mcp`: additional headers, in which `{{variable}}` is replaced. Anyone who can read the agent can read
             *     them; keep secrets in a connection.
             */
            headers?: {
                [key: string]: string | null;
            } | null;
            method?: components["schemas"]["HttpMethod"] | null;
            /**
             * @description For `http`: the tool's name; letters, digits, `_` and `-`. For `mcp`: the prefix for tool names that are already taken;
             *     defaults to the server's host.
             * @example free_tables
             */
            name?: string | null;
            /** @description For `http`: JSON Schema of its arguments, an object; no arguments if absent. */
            parameters?: {
                [key: string]: unknown;
            } | null;
            /** @description For `http` and `mcp`: timeout in seconds, 1 to 10; default 8. */
            timeout_seconds?: number | null;
            /** @description For `mcp`: names of the server's tools to use; all if empty. */
            tools?: string[] | null;
            /** @description Its type. */
            type: components["schemas"]["ToolKind"];
            /**
             * @description For `http` and `mcp`: the URL. `{{variable}}` is replaced by the call's variable, percent-encoded.
             * @example https://example.com/tables
             */
            url?: string | null;
        };
        /**
         * @description The type of a tool.
         * @enum {string}
         */
        ToolKind: "end_call" | "http" | "mcp" | "transfer" | "send_dtmf" | (string & {});
        /** @description Which versions new calls get, in percents that add up to 100. Defaults to the newest. */
        Traffic: {
            percent: number;
            /** Format: int64 */
            version: number;
        }[];
        /**
         * @description The transcript of a call.
         * @example {
         *       "data": [
         *         {
         *           "end_ms": 2002,
         *           "interrupted": false,
         *           "latency_ms": null,
         *           "role": "agent",
         *           "stages": null,
         *           "start_ms": 11,
         *           "text": "Hello, how can I help you?",
         *           "turn": null
         *         },
         *         {
         *           "end_ms": 4879,
         *           "interrupted": false,
         *           "latency_ms": null,
         *           "role": "caller",
         *           "stages": null,
         *           "start_ms": 2814,
         *           "text": "Hi Ava. My name is Sarah Miller.",
         *           "turn": {
         *             "because": [
         *               {
         *                 "value": 1,
         *                 "weight": 0.46,
         *                 "witness": "closed_sentence"
         *               }
         *             ],
         *             "ended_by": "silence",
         *             "speculations": 1,
         *             "waited_ms": 402
         *           }
         *         },
         *         {
         *           "end_ms": 9362,
         *           "interrupted": false,
         *           "latency_ms": 443,
         *           "role": "agent",
         *           "stages": {
         *             "end_of_speech_ms": 4879,
         *             "end_of_turn_ms": 5281,
         *             "first_audio_ms": 5282,
         *             "first_token_ms": 5000,
         *             "heard_ms": 5322
         *           },
         *           "start_ms": 5322,
         *           "text": "Thank you, Sarah Miller. Which day would you like to come?",
         *           "turn": null
         *         }
         *       ],
         *       "tool_calls": []
         *     }
         */
        Transcript: {
            /** @description Lines in the order in which they were completed. */
            data: components["schemas"]["TranscriptLine"][];
            /** @description Tools that the agent used, in the order in which they ended. */
            tool_calls: components["schemas"]["ToolCall"][];
        };
        /** @description A line of a transcript. */
        TranscriptLine: {
            /**
             * Format: int64
             * @description Milliseconds since the start of the conversation.
             */
            end_ms: number;
            /** @description Whether the caller interrupted it. */
            interrupted: boolean;
            /**
             * Format: int64
             * @description Response latency in milliseconds; only on the first line of a response.
             */
            latency_ms: number | null;
            /** @description Who said it. */
            role: components["schemas"]["TranscriptRole"];
            stages: components["schemas"]["ResponseStages"] | null;
            /**
             * Format: int64
             * @description Milliseconds since the start of the conversation.
             */
            start_ms: number;
            /** @description The words; the agent's as far as they were heard. */
            text: string;
            turn: components["schemas"]["TranscriptTurn"] | null;
        };
        /**
         * @description Who said a line of a transcript.
         * @enum {string}
         */
        TranscriptRole: "caller" | "agent" | (string & {});
        /** @description How a turn of the caller ended. */
        TranscriptTurn: {
            /** @description What spoke for the end (positive weight) or against it; empty unless silence ended it. */
            because: components["schemas"]["TranscriptTurnWitness"][];
            /** @description What ended it. */
            ended_by: components["schemas"]["TurnEndedBy"];
            /** @description How often the model was asked before the turn was over. */
            speculations: number;
            /**
             * Format: int64
             * @description How long the caller was silent, in milliseconds; `null` if they spoke.
             */
            waited_ms: number | null;
        };
        /** @description Something that speaks for or against the end of a turn. */
        TranscriptTurnWitness: {
            /**
             * Format: float
             * @description How much of it there is: 1, or a share.
             */
            value: number;
            /**
             * Format: float
             * @description What 1 of it adds to the log odds of an end.
             * @example -2.6
             */
            weight: number;
            /**
             * @description Its kind.
             * @example open_word
             */
            witness: string;
        };
        /**
         * @description The transfer target.
         * @example {
         *       "to": "+12025550142"
         *     }
         */
        TransferCall: {
            /** @description A number in E.164 form, or a `sip:` URI. */
            to: string;
        };
        /** @description A transfer target. */
        TransferDestination: {
            /**
             * @description The name that the model uses.
             * @example reception
             */
            name: string;
            /**
             * @description A number in E.164 form, or a `sip:` URI.
             * @example +12025550142
             */
            number: string;
        };
        /** @description A transfer target. */
        TransferDestinationInput: {
            /**
             * @description The name that the model uses.
             * @example reception
             */
            name: string;
            /**
             * @description A number in E.164 form, or a `sip:` URI.
             * @example +12025550142
             */
            number: string;
        };
        /** @description A text-to-speech provider and its settings. */
        TtsChoice: {
            /**
             * Format: uuid
             * @description The connection; `null` is local text-to-speech.
             */
            connection_id: string | null;
            /** @description Fallbacks, tried in order. */
            fallbacks: components["schemas"]["ProviderFallback"][];
            /** @description The provider's model name. */
            model: string | null;
            /**
             * Format: float
             * @description Speaking rate, 0.5 to 2; 1 is the voice's normal rate.
             */
            speed: number | null;
            /** @description The provider's voice name. */
            voice: string | null;
        };
        /** @description A text-to-speech provider and its settings. */
        TtsChoiceInput: {
            /**
             * Format: uuid
             * @description The connection; `null` is local text-to-speech.
             */
            connection_id?: string | null;
            /** @description Fallbacks, tried in order. */
            fallbacks?: components["schemas"]["ProviderFallbackInput"][] | null;
            /** @description The provider's model name. */
            model?: string | null;
            /**
             * Format: float
             * @description Speaking rate, 0.5 to 2; 1 is the voice's normal rate.
             */
            speed?: number | null;
            /** @description The provider's voice name. */
            voice?: string | null;
        };
        /**
         * @description What ended a caller's turn.
         * @enum {string}
         */
        TurnEndedBy: "silence" | "stt" | "keys" | (string & {});
        /** @description When a caller's turn ends. */
        TurnTaking: {
            /** @description How soon the agent takes the turn: `low` waits half as long again, `high` a third less. */
            eagerness: components["schemas"]["Eagerness"];
            /** @description Silence that ends a turn in any case, in milliseconds, 200 to 10000. */
            max_silence_ms: number;
            /** @description Silence that ends a turn after a complete sentence, in milliseconds, 100 to 5000. */
            min_silence_ms: number;
            /** @description Send the model request when the turn has probably ended, and discard the response if the caller continues. */
            speculative: boolean;
        };
        /** @description When a caller's turn ends. */
        TurnTakingInput: {
            /** @description How soon the agent takes the turn: `low` waits half as long again, `high` a third less. Default: `"normal"`. */
            eagerness?: components["schemas"]["Eagerness"] | null;
            /** @description Silence that ends a turn in any case, in milliseconds, 200 to 10000. Default: `2000`. */
            max_silence_ms?: number | null;
            /** @description Silence that ends a turn after a complete sentence, in milliseconds, 100 to 5000. Default: `400`. */
            min_silence_ms?: number | null;
            /** @description Send the model request when the turn has probably ended, and discard the response if the caller continues. Default: `true`. */
            speculative?: boolean | null;
        };
        /** @description The call that a dry run would place: a call without id, since there is no such call. */
        UnplacedCall: {
            /**
             * Format: uuid
             * @description The agent.
             */
            agent_id: string;
            /**
             * Format: int64
             * @description The agent's version when the call was placed.
             * @example 1
             */
            agent_version: number;
            analysis: components["schemas"]["CallAnalysis"] | null;
            /**
             * Format: date-time
             * @description When it was answered.
             */
            answered_at: string | null;
            answered_by: components["schemas"]["AnsweredBy"] | null;
            /** @description The carrier's data of the call. */
            carrier: components["schemas"]["CallCarrier"];
            /**
             * Format: date-time
             * @description When it was accepted.
             */
            created_at: string;
            /**
             * Format: date-time
             * @description When it was dialled.
             */
            dialing_at: string | null;
            /** @description Its direction. */
            direction: components["schemas"]["CallDirection"];
            /**
             * Format: int64
             * @description Time from answer to end, in seconds.
             * @example 42
             */
            duration_seconds: number;
            end_reason: components["schemas"]["CallEndReason"] | null;
            /**
             * Format: date-time
             * @description When it ended.
             */
            ended_at: string | null;
            ended_by: components["schemas"]["CallEndedBy"] | null;
            /** @description Error details. */
            error: string | null;
            error_code: components["schemas"]["CallFailure"] | null;
            /**
             * @description The caller.
             * @example +12025550199
             */
            from: string;
            latency: components["schemas"]["CallLatency"] | null;
            /** @description The client's own data. */
            metadata: components["schemas"]["Metadata"];
            /**
             * Format: uuid
             * @description The tenant's number, if it is one of its numbers.
             */
            number_id: string | null;
            /** @description Facts extracted from the conversation. */
            outcome: {
                [key: string]: unknown;
            } | null;
            /** @description URL of the recording; needs an API key. */
            recording_url: string | null;
            /**
             * Format: date-time
             * @description When it started to ring.
             */
            ringing_at: string | null;
            /**
             * Format: date-time
             * @description When it will be dialled, as requested; until then the call is queued.
             */
            schedule_at: string | null;
            /** @description Its status. */
            status: components["schemas"]["CallStatus"];
            /** @description A summary of the conversation, in a sentence or two. */
            summary: string | null;
            /**
             * @description The callee.
             * @example +12025550100
             */
            to: string;
            /**
             * Format: int64
             * @description Number of caller turns that the agent answered.
             * @example 5
             */
            turns: number;
            usage: components["schemas"]["CallUsage"] | null;
            /** @description Values for `{{name}}` in the agent's texts. */
            variables: {
                [key: string]: string;
            };
            web?: components["schemas"]["WebPart"] | null;
        };
        UnplacedCallWithWarnings: components["schemas"]["UnplacedCall"] & components["schemas"]["RequestWarnings"];
        /**
         * @description Changes to merge into the agent, object by object. `null` restores a default. `CreateAgent` describes the fields.
         * @example {
         *       "greeting": {
         *         "text": "Good morning!"
         *       },
         *       "limits": {
         *         "max_duration_seconds": 600
         *       }
         *     }
         */
        UpdateAgent: {
            analysis?: components["schemas"]["AnalysisSettingsInput"] | null;
            answering_machine?: components["schemas"]["AnsweringMachineInput"] | null;
            dtmf?: components["schemas"]["DtmfInput"] | null;
            greeting?: components["schemas"]["GreetingInput"] | null;
            instructions?: string;
            interruption?: components["schemas"]["InterruptionInput"] | null;
            language?: string | null;
            limits?: components["schemas"]["AgentLimitsInput"] | null;
            llm?: components["schemas"]["LlmChoiceInput"] | null;
            name?: string;
            privacy?: components["schemas"]["PrivacyInput"] | null;
            realtime?: components["schemas"]["RealtimeChanges"] | null;
            recording?: components["schemas"]["RecordingInput"] | null;
            silence?: components["schemas"]["SilenceInput"] | null;
            stt?: components["schemas"]["SttChoiceInput"] | null;
            tools?: components["schemas"]["ToolInput"][] | null;
            traffic?: components["schemas"]["Traffic"] | null;
            tts?: components["schemas"]["TtsChoiceInput"] | null;
            turn_taking?: components["schemas"]["TurnTakingInput"] | null;
            variables?: {
                [key: string]: components["schemas"]["AgentVariableInput"] | null;
            } | null;
        };
        /**
         * @description Changes to merge into the connection; `null` removes.
         * @example {
         *       "name": "Main line"
         *     }
         */
        UpdateConnection: {
            credentials?: components["schemas"]["CredentialChanges"] | null;
            limits?: components["schemas"]["ConnectionLimitsInput"] | null;
            /** @description Unique per tenant. */
            name?: string;
            /** @description Settings to set, or to remove with `null`. */
            settings?: {
                [key: string]: unknown;
            } | null;
        };
        /**
         * @description Changes to merge into the number; `null` clears.
         * @example {
         *       "connection_id": "0198c6a0-0000-7000-8000-000000000000",
         *       "label": "Reception",
         *       "number": "+12025550199"
         *     }
         */
        UpdateNumber: {
            /** @description Configure the carrier to send the number's calls here. If that fails, the response has a warning. */
            configure_carrier?: boolean | null;
            /**
             * Format: uuid
             * @description Its carrier connection.
             */
            connection_id?: string;
            /**
             * Format: uuid
             * @description The agent that answers it; `null` rejects inbound calls.
             */
            inbound_agent_id?: string | null;
            /** @description Display name. */
            label?: string | null;
            /** @description E.164; unique per connection. */
            number?: string;
        };
        /**
         * @description Changes to a person.
         * @example {
         *       "role": "viewer"
         *     }
         */
        UpdatePerson: {
            /** @description The new role. */
            role?: components["schemas"]["PersonRole"];
        };
        /**
         * @description Changes to merge into the endpoint; `null` restores a default.
         * @example {
         *       "events": [
         *         "call.completed",
         *         "call.failed"
         *       ],
         *       "url": "https://example.com/hooks/calls"
         *     }
         */
        UpdateWebhook: {
            /** @description Whether events are sent. Disabling an endpoint cancels its pending deliveries. */
            enabled?: boolean | null;
            /** @description The events to send; all if empty. */
            events?: components["schemas"]["EventKind"][] | null;
            /**
             * Format: uri
             * @description A public HTTPS URL that receives the events; `http://` only where the operator allows it.
             */
            url?: string;
        };
        /** @description Calls, minutes and cost of a time span. */
        Usage: {
            /**
             * Format: date-time
             * @description The beginning of the first day.
             */
            after: string;
            /** @description By agent, at most 100, the most minutes first. */
            agents: components["schemas"]["UsedByAgent"][];
            /**
             * Format: date-time
             * @description The end of the last day.
             */
            before: string;
            /** @description By connection of the carrier, at most 100, the most minutes first. */
            connections: components["schemas"]["UsedByConnection"][];
            /** @description Every day, oldest first. */
            days: components["schemas"]["UsedByDay"][];
            /** @description All of it. */
            totals: components["schemas"]["UsageFigures"];
        };
        /** @description Calls, minutes and cost. */
        UsageFigures: components["schemas"]["MinutesAndCost"] & {
            /**
             * Format: int64
             * @description How many calls ended.
             * @example 12
             */
            calls: number;
        };
        /** @description An agent. */
        UsedByAgent: components["schemas"]["UsageFigures"] & {
            /**
             * Format: uuid
             * @description The agent.
             */
            agent_id: string;
            /** @description Its name; `null` if it was deleted. */
            name: string | null;
            /** @description How long its callers waited for responses. */
            response_ms: components["schemas"]["ResponseTimes"];
        };
        /** @description A connection. */
        UsedByConnection: components["schemas"]["UsageFigures"] & {
            /**
             * Format: uuid
             * @description The connection; `null` for calls in the browser.
             */
            connection_id: string | null;
            /** @description Its name; `null` if it was deleted, and for calls in the browser. */
            name: string | null;
            /** @description Its carrier, `web` for calls in the browser; `null` if it was deleted. */
            provider: string | null;
        };
        /** @description A day. */
        UsedByDay: components["schemas"]["UsageFigures"] & {
            /**
             * Format: date-time
             * @description Its beginning (UTC).
             */
            start: string;
        };
        /**
         * @description The value of a variable. Send long ids as strings.
         * @example Ana
         */
        VariableValue: string | number | boolean;
        /** @description Values for `{{name}}` in the agent's texts, by name. Send long ids as strings: JavaScript and others round numbers of more than 15 digits. */
        Variables: {
            [key: string]: components["schemas"]["VariableValue"] | null;
        };
        /** @description A voice. */
        Voice: {
            /** @description Whether agents that name no voice get it. */
            default: boolean;
            /** @description What the provider says of it. */
            description: string | null;
            /**
             * @description The languages it is made for, as BCP 47 tags; none if it speaks any language of its model.
             * @example [
             *       "en"
             *     ]
             */
            languages: string[];
            /**
             * @description Its name.
             * @example Thalia
             */
            name: string;
            /**
             * @description The value of an agent's `tts.voice`.
             * @example aura-2-thalia-en
             */
            voice: string;
        };
        /** @description The voices of a connection. */
        VoiceList: {
            /** @description Whether there are no others. */
            complete: boolean;
            /** @description The voices. */
            data: components["schemas"]["Voice"][];
        };
        /** @description Where the browser of a web call connects. */
        WebPart: {
            /**
             * Format: date-time
             * @description When the address expires: the browser connects before that, or the call fails as `no_answer`.
             */
            expires_at: string;
            /**
             * @description The address of its websocket, good for one call. Whoever has it may talk.
             * @example wss://voice.example.com/media/web/0198c6a0
             */
            url: string;
        };
        /**
         * @description A webhook endpoint.
         * @example {
         *       "created_at": "2026-01-31T12:00:00.042406Z",
         *       "disabled_reason": null,
         *       "enabled": true,
         *       "events": [],
         *       "failing_since": null,
         *       "id": "0198c6a0-0000-7000-8000-000000000008",
         *       "updated_at": "2026-01-31T12:00:00.042406Z",
         *       "url": "https://example.com/hooks/calls"
         *     }
         */
        Webhook: {
            /**
             * Format: date-time
             * @description When it was registered.
             */
            created_at: string;
            /** @description Why the service disabled it after 5 days of failures only. `null` if it is enabled or you disabled it. */
            disabled_reason: string | null;
            /** @description Whether events are sent. */
            enabled: boolean;
            /** @description The events that are sent; all if empty. */
            events: components["schemas"]["EventKind"][];
            /**
             * Format: date-time
             * @description The first failed attempt since the last successful one; `null` while attempts succeed.
             */
            failing_since: string | null;
            /**
             * Format: uuid
             * @description Its id.
             */
            id: string;
            /**
             * Format: date-time
             * @description When it was last changed.
             */
            updated_at: string;
            /**
             * Format: uri
             * @description The URL that receives the events.
             */
            url: string;
        };
        /**
         * @description A delivery of one event to one endpoint.
         * @example {
         *       "attempts": 1,
         *       "call_id": "0198c6a0-0000-7000-8000-000000000003",
         *       "created_at": "2026-01-31T12:00:09.618512Z",
         *       "event": "call.completed",
         *       "id": "0198c6a0-0000-7000-8000-000000000009",
         *       "next_attempt_at": null,
         *       "state": "succeeded"
         *     }
         */
        WebhookDelivery: {
            /**
             * Format: int64
             * @description Number of attempts made.
             */
            attempts: number;
            /**
             * Format: uuid
             * @description The call; `null` for a test.
             */
            call_id: string | null;
            /**
             * Format: date-time
             * @description When it was created.
             */
            created_at: string;
            /** @description The event. */
            event: components["schemas"]["WebhookDeliveryEvent"];
            /**
             * Format: uuid
             * @description Its id, also in the request body and the `X-Voice-Delivery` header.
             */
            id: string;
            /**
             * Format: date-time
             * @description When the next attempt is due.
             */
            next_attempt_at: string | null;
            /** @description Its state. */
            state: components["schemas"]["WebhookDeliveryState"];
        };
        /** @description A delivery attempt. */
        WebhookDeliveryAttempt: {
            /**
             * Format: int64
             * @description Its duration; `null` while it runs, or if the service stopped before it ended.
             */
            duration_ms: number | null;
            /** @description Why it failed; `null` if it did not. */
            error: string | null;
            /**
             * Format: int64
             * @description Its number, from 1.
             */
            number: number;
            /** @description The start of the response body. */
            response_excerpt: string | null;
            /**
             * Format: date-time
             * @description When it started.
             */
            started_at: string;
            /**
             * Format: int64
             * @description The HTTP status of the response; `null` without a response.
             */
            status: number | null;
        };
        /**
         * @description Event of a delivery.
         * @enum {string}
         */
        WebhookDeliveryEvent: "call.queued" | "call.dialing" | "call.in_progress" | "call.completed" | "call.failed" | "call.received" | "carrier.hangup" | "webhook.test" | (string & {});
        /** @description One page of a list, newest first. */
        WebhookDeliveryList: {
            data: components["schemas"]["WebhookDelivery"][];
            has_more: boolean;
            /** Format: uuid */
            next_cursor: string | null;
        };
        /**
         * @description State of a delivery.
         * @enum {string}
         */
        WebhookDeliveryState: "pending" | "sending" | "succeeded" | "failed" | "canceled" | (string & {});
        /** @description A delivery with every attempt. */
        WebhookDeliveryWithAttempts: components["schemas"]["WebhookDelivery"] & {
            /** @description Its attempts, oldest first. */
            attempt_log: components["schemas"]["WebhookDeliveryAttempt"][];
        };
        /**
         * @description The body of a delivery. Later versions can send more kinds of events and more fields.
         * @example {
         *       "created": 1769860809,
         *       "data": {
         *         "agent_id": "0198c6a0-0000-7000-8000-000000000000",
         *         "call_id": "0198c6a0-0000-7000-8000-000000000003",
         *         "direction": "outbound",
         *         "duration_seconds": 9,
         *         "end_reason": "api_hangup",
         *         "error": null,
         *         "from": "+12025550199",
         *         "metadata": {
         *           "order": "A-17"
         *         },
         *         "outcome": {
         *           "confirmed": false,
         *           "day": null,
         *           "name": "Sarah Miller",
         *           "people": null,
         *           "time": null
         *         },
         *         "sequence": 5,
         *         "status": "completed",
         *         "summary": "The caller confirmed nothing, but gave: name Sarah Miller.",
         *         "to": "+12025550100",
         *         "turns": 1
         *       },
         *       "event": "call.completed",
         *       "id": "0198c6a0-0000-7000-8000-000000000009"
         *     }
         */
        WebhookEvent: components["schemas"]["CallCompletedEvent"] | components["schemas"]["CallDialingEvent"] | components["schemas"]["CallFailedEvent"] | components["schemas"]["CallInProgressEvent"] | components["schemas"]["CallQueuedEvent"] | components["schemas"]["CallReceivedEvent"] | components["schemas"]["CarrierHangupEvent"] | components["schemas"]["WebhookTestEvent"];
        /** @description What the body of every delivery holds. */
        WebhookEventHead: {
            /**
             * Format: int64
             * @description When it happened, in Unix seconds.
             */
            created: number;
            /**
             * Format: uuid
             * @description The delivery's id, the same in every attempt.
             */
            id: string;
        };
        /** @description One page of a list, newest first. */
        WebhookList: {
            data: components["schemas"]["Webhook"][];
            has_more: boolean;
            /** Format: uuid */
            next_cursor: string | null;
        };
        WebhookTestData: {
            message: string;
        };
        WebhookTestEvent: components["schemas"]["WebhookEventHead"] & {
            data: components["schemas"]["WebhookTestData"];
            /** @constant */
            event: "webhook.test";
        } & {
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            event: "webhook.test" | (string & {});
        };
        /** @description A webhook endpoint with its new signing secret. */
        WebhookWithSecret: components["schemas"]["Webhook"] & {
            /**
             * @description The signing secret. It is shown only this once.
             * @example whsec_dGVzdC1zZWNyZXQtdGVzdC1zZWNyZXQtdGVzdC0zMjE=
             */
            secret: string;
        };
        WebhookWithSecretWithWarnings: components["schemas"]["WebhookWithSecret"] & components["schemas"]["RequestWarnings"];
        WebhookWithWarnings: components["schemas"]["Webhook"] & components["schemas"]["RequestWarnings"];
    };
    responses: never;
    parameters: never;
    requestBodies: never;
    headers: never;
    pathItems: never;
}
export type $defs = Record<string, never>;
export interface operations {
    list_agents: {
        parameters: {
            query?: {
                /** @description Page size, 1 to 100. */
                limit?: number;
                /** @description `next_cursor` of the previous page. */
                cursor?: string | null;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: never;
    };
    create_agent: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["CreateAgent"];
            };
        };
        responses: never;
    };
    show_agent: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The agent */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: never;
    };
    delete_agent: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The agent */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: never;
    };
    update_agent: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The agent */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["UpdateAgent"];
            };
        };
        responses: never;
    };
    list_agent_versions: {
        parameters: {
            query?: {
                /** @description Page size, 1 to 100. */
                limit?: number;
                /** @description `next_cursor` of the previous page. */
                cursor?: string | null;
            };
            header?: never;
            path: {
                /** @description The agent */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: never;
    };
    show_agent_version: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The agent */
                id: string;
                /** @description The version */
                version: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: never;
    };
    restore_agent_version: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The agent */
                id: string;
                /** @description The version */
                version: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: never;
    };
    list_api_keys: {
        parameters: {
            query?: {
                /** @description Page size, 1 to 100. */
                limit?: number;
                /** @description `next_cursor` of the previous page. */
                cursor?: string | null;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: never;
    };
    create_api_key: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["CreateApiKey"];
            };
        };
        responses: never;
    };
    show_api_key: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The key's id */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: never;
    };
    revoke_api_key: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The key's id */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: never;
    };
    show_attention: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: never;
    };
    list_calls: {
        parameters: {
            query?: {
                /** @description Status of the call. */
                status?: components["schemas"]["CallStatus"][];
                /** @description Direction of the call. */
                direction?: components["schemas"]["CallDirection"][];
                /** @description The agent. */
                agent_id?: string[];
                /** @description The tenant's number. */
                number_id?: string[];
                /** @description The callee. */
                to?: components["schemas"]["CallAddress"][];
                /** @description The caller. */
                from?: components["schemas"]["CallAddress"][];
                /** @description Why a call failed. */
                error_code?: components["schemas"]["CallFailure"][];
                /** @description Why a call ended. */
                end_reason?: components["schemas"]["CallEndReason"][];
                /** @description Created at or after this time. */
                created_after?: string;
                /** @description Created before this time. */
                created_before?: string;
                /**
                 * @description Only calls with this metadata, `metadata[key]=value`; up to 10 keys.
                 * @example {
                 *       "order": "A-17"
                 *     }
                 */
                metadata?: {
                    [key: string]: string;
                };
                /** @description Page size, 1 to 100. */
                limit?: number;
                /** @description `next_cursor` of the previous page. */
                cursor?: string | null;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: never;
    };
    create_call: {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description 1 to 255 visible ASCII characters
                 * @example order-17
                 */
                "Idempotency-Key"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["CreateCall"];
            };
        };
        responses: never;
    };
    show_call: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The call */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: never;
    };
    list_decisions: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The call */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: never;
    };
    list_call_deliveries: {
        parameters: {
            query?: {
                /** @description Page size, 1 to 100. */
                limit?: number;
                /** @description `next_cursor` of the previous page. */
                cursor?: string | null;
            };
            header?: never;
            path: {
                /** @description The call */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: never;
    };
    send_dtmf: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The call */
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["SendDtmf"];
            };
        };
        responses: never;
    };
    list_call_events: {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description For streams: the `id` of the last event seen
                 * @example 3
                 */
                "Last-Event-ID"?: string;
            };
            path: {
                /** @description The call */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: never;
    };
    stream_call_events: {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description The `id` of the last event seen
                 * @example 3
                 */
                "Last-Event-ID"?: string;
            };
            path: {
                /** @description The call */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: never;
    };
    hang_up_call: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The call */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: never;
    };
    listen_to_call: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The call */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: never;
    };
    fetch_recording: {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description The byte range
                 * @example bytes=0-43
                 */
                Range?: string;
            };
            path: {
                /** @description The call */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: never;
    };
    say_in_call: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The call */
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["Say"];
            };
        };
        responses: never;
    };
    show_transcript: {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description For streams: the `id` of the last event seen
                 * @example 3.1
                 */
                "Last-Event-ID"?: string;
            };
            path: {
                /** @description The call */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: never;
    };
    stream_transcript: {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description The `id` of the last event seen
                 * @example 3.1
                 */
                "Last-Event-ID"?: string;
            };
            path: {
                /** @description The call */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: never;
    };
    transfer_call: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The call */
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["TransferCall"];
            };
        };
        responses: never;
    };
    list_connections: {
        parameters: {
            query?: {
                /** @description Page size, 1 to 100. */
                limit?: number;
                /** @description `next_cursor` of the previous page. */
                cursor?: string | null;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: never;
    };
    create_connection: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["CreateConnection"];
            };
        };
        responses: never;
    };
    list_local_voices: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: never;
    };
    sample_local_voice: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The voice */
                voice: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["CreateVoiceSample"];
            };
        };
        responses: never;
    };
    show_connection: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The connection */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: never;
    };
    delete_connection: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The connection */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: never;
    };
    update_connection: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The connection */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["UpdateConnection"];
            };
        };
        responses: never;
    };
    test_connection: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The connection */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: never;
    };
    list_voices: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The connection */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: never;
    };
    sample_voice: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The connection */
                id: string;
                /** @description The provider's name of the voice */
                voice: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["CreateVoiceSample"];
            };
        };
        responses: never;
    };
    create_event_token: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: never;
    };
    list_events: {
        parameters: {
            query?: {
                /** @description Page size, 1 to 100. */
                limit?: number;
                /** @description `next_cursor` of the previous page. */
                cursor?: string | null;
            };
            header?: {
                /** @description For streams: the `id` of the last event seen */
                "Last-Event-ID"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: never;
    };
    stream_events: {
        parameters: {
            query?: never;
            header?: {
                /** @description The `id` of the last event seen */
                "Last-Event-ID"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: never;
    };
    list_numbers: {
        parameters: {
            query?: {
                /** @description Page size, 1 to 100. */
                limit?: number;
                /** @description `next_cursor` of the previous page. */
                cursor?: string | null;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: never;
    };
    create_number: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["CreateNumber"];
            };
        };
        responses: never;
    };
    show_number: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The number's id */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: never;
    };
    delete_number: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The number's id */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: never;
    };
    update_number: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The number's id */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["UpdateNumber"];
            };
        };
        responses: never;
    };
    list_people: {
        parameters: {
            query?: {
                /** @description Page size, 1 to 100. */
                limit?: number;
                /** @description `next_cursor` of the previous page. */
                cursor?: string | null;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: never;
    };
    invite_person: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["InvitePerson"];
            };
        };
        responses: never;
    };
    show_person: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The person */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: never;
    };
    remove_person: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The person */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: never;
    };
    update_person: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The person */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["UpdatePerson"];
            };
        };
        responses: never;
    };
    simulate_inbound_call: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["SimulateCall"];
            };
        };
        responses: never;
    };
    show_statistics: {
        parameters: {
            query?: {
                /** @description The length of a bucket. */
                interval?: components["schemas"]["StatisticsInterval"];
                /** @description Ended at or after this time, rounded down to a whole interval (UTC). Default: 24 hours before `before`, with `day` 30 days. */
                after?: string;
                /** @description Ended before this time, rounded up. Default: now. */
                before?: string;
                /** @description Of this agent only. */
                agent_id?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: never;
    };
    show_tenant: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: never;
    };
    show_usage: {
        parameters: {
            query?: {
                /** @description Ended at or after this time, rounded down to a whole day (UTC). Default: 30 days before `before`. */
                after?: string;
                /** @description Ended before this time, rounded up. Default: now. */
                before?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: never;
    };
    list_webhooks: {
        parameters: {
            query?: {
                /** @description Page size, 1 to 100. */
                limit?: number;
                /** @description `next_cursor` of the previous page. */
                cursor?: string | null;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: never;
    };
    create_webhook: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["CreateWebhook"];
            };
        };
        responses: never;
    };
    show_webhook: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The endpoint */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: never;
    };
    delete_webhook: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The endpoint */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: never;
    };
    update_webhook: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The endpoint */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["UpdateWebhook"];
            };
        };
        responses: never;
    };
    list_deliveries: {
        parameters: {
            query?: {
                /** @description State of the delivery. */
                state?: components["schemas"]["WebhookDeliveryState"][];
                /** @description Event of the delivery. */
                event?: components["schemas"]["WebhookDeliveryEvent"][];
                /** @description Call of the delivery. */
                call_id?: string;
                /** @description Page size, 1 to 100. */
                limit?: number;
                /** @description `next_cursor` of the previous page. */
                cursor?: string | null;
            };
            header?: never;
            path: {
                /** @description The endpoint */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: never;
    };
    show_delivery: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The endpoint */
                id: string;
                /** @description The delivery */
                delivery_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: never;
    };
    redeliver: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The endpoint */
                id: string;
                /** @description The delivery */
                delivery_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: never;
    };
    rotate_webhook_secret: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The endpoint */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: never;
    };
    test_webhook: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The endpoint */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: never;
    };
    receive_event: {
        parameters: {
            query?: never;
            header: {
                /** @description The event. */
                "X-Voice-Event": string;
                /** @description The delivery's id. */
                "X-Voice-Delivery": string;
                /** @description `t=<Unix seconds>,v1=<HMAC-SHA256 of t, a dot and the body, in hexadecimal>` */
                "X-Voice-Signature": string;
                /** @description The delivery's id, as Standard Webhooks name it. */
                "webhook-id": string;
                /** @description Unix seconds of the attempt. */
                "webhook-timestamp": string;
                /** @description `v1,<base64>` as Standard Webhooks describe it. */
                "webhook-signature": string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["WebhookEvent"];
            };
        };
        responses: {
            /** @description Received. Anything else, and no answer within 15 s, is tried again. */
            "2XX": {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
}
