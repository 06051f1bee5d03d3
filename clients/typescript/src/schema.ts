// Written by generate.mjs from docs/openapi.json: do not edit.

export interface paths {
    "/v1/agents": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List agents
         * @description The newest come first.
         */
        get: operations["list_agents"];
        put?: never;
        /**
         * Create an agent
         * @description Absent fields take their defaults.
         */
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
        /**
         * Get an agent
         * @description Returns the current version with all defaults.
         */
        get: operations["show_agent"];
        put?: never;
        post?: never;
        /**
         * Delete an agent
         * @description The agent must answer no number; existing calls keep their version.
         */
        delete: operations["delete_agent"];
        options?: never;
        head?: never;
        /**
         * Update an agent
         * @description Creates a version, unless nothing or only `traffic` changes. Existing calls keep theirs.
         */
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
        /**
         * List an agent's versions
         * @description Lists the latest 100 and those in `traffic` or calls, newest first.
         */
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
        /**
         * Get an agent's version
         * @description Returns the agent as of this version, with its current `traffic`.
         */
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
        /**
         * Restore an agent's version
         * @description Its name and configuration become a new version; `traffic` and existing calls keep their versions.
         */
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
        /**
         * List API keys
         * @description The newest come first, including revoked and expired ones.
         */
        get: operations["list_api_keys"];
        put?: never;
        /**
         * Create an API key
         * @description Only this response contains the full key.
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
        /**
         * Get an API key
         * @description The secret is not included.
         */
        get: operations["show_api_key"];
        put?: never;
        post?: never;
        /**
         * Revoke an API key
         * @description The next request with it gets 401; revoking it again has no effect.
         */
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
        /**
         * Get what needs attention
         * @description Lists refused connections, failing endpoints, limits nearly reached and unanswered numbers.
         */
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
         * List calls
         * @description The newest come first. Filters take up to 100 values, separated by commas or in repeated parameters.
         */
        get: operations["list_calls"];
        put?: never;
        /**
         * Place a call
         * @description The call is queued; follow its status, events or webhooks. Repeating a request with its `Idempotency-Key` places no second call.
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
        /**
         * Get a call
         * @description Returns its present status, or its result once it has ended.
         */
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
         * List turn-taking decisions
         * @description Lists those of an ended call; there are none for live calls and speech-to-speech models.
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
        /**
         * List a call's deliveries
         * @description Lists webhook deliveries of its events, newest first, with their attempts.
         */
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
         * Send DTMF
         * @description Presses keys on a live call, for example in a phone menu. The agent's speech pauses while the tones are sent.
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
         * List a call's events
         * @description `Accept: text/event-stream` streams, as `/stream` does.
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
         * Stream a call's events
         * @description Ends with the call, or when the key stops working or the service stops; resume with `Last-Event-ID`. Limits as for `GET /v1/events/stream`.
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
         * Hang up a call
         * @description A queued call ends at once, a live one when the carrier hangs up. No effect on an ended call.
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
         * Listen to a call
         * @description Streams both sides of a live call. The WebSocket sends `{"type":"start","sample_rate":8000,"channels":2}` (or 16000, like the call), then 20
         *     ms of 16-bit PCM at a time, caller left, agent right. It closes when the call ends, the key or session stops working, or the person becomes
         *     a viewer. Connect to the node that runs the call. Slow listeners miss audio.
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
         * Download a recording
         * @description The recording is a stereo WAV, 8 or 16 kHz like the call, caller left, agent right. Supports one byte range; several return the whole file.
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
         * Speak in a call
         * @description The agent says the text on a live call: the language model sees it, the transcript includes what was heard. No effect while the agent says
         *     goodbye.
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
         * Get a transcript
         * @description Returns what was said, up to now for a live call. Agent lines contain only what the caller heard. `Accept: text/event-stream` streams, as
         *     `/stream` does.
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
         * Stream a transcript
         * @description Sends lines and tool calls as they are written, then `end` with the call's status. Also ends when the key or session stops working or the
         *     service stops; resume with `Last-Event-ID`. Limits as for `GET /v1/events/stream`.
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
         * Transfer a call
         * @description Transfers the caller without an announcement (cold transfer). The agent stops speaking and the carrier transfers the call. Once the number
         *     answers, the call ends as `completed` with `end_reason` `transferred`. Otherwise the agent takes the caller back.
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
        /**
         * List connections
         * @description The newest come first.
         */
        get: operations["list_connections"];
        put?: never;
        /**
         * Create a connection
         * @description Credentials are stored encrypted and never returned in full.
         */
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
        /**
         * List local voices
         * @description Lists the voices for agents without a `tts.connection_id`.
         */
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
        /**
         * Sample a local voice
         * @description Returns a few words as callers hear them, as mono WAV.
         */
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
        /**
         * Get a connection
         * @description Returns only the last characters of credentials.
         */
        get: operations["show_connection"];
        put?: never;
        post?: never;
        /**
         * Delete a connection
         * @description No agent or number may use it.
         */
        delete: operations["delete_connection"];
        options?: never;
        head?: never;
        /**
         * Update a connection
         * @description The provider cannot change. Changing `settings.space`, `settings.host` or the origin of `settings.base_url` requires all credentials in the
         *     same request. If nothing changes, `updated_at` stays the same.
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
         * Test a connection
         * @description Tests it against the provider, without placing a call. Checks a carrier's credentials; has a language model, speech-to-text or
         *     text-to-speech process one word, which can cost a fraction of a cent. Takes up to 15 seconds. A failed check still returns 200. Limits: one
         *     test at a time per tenant and node (429); eight per node, others wait up to 15 seconds (503).
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
         * List a connection's voices
         * @description ElevenLabs and Cartesia return the account's voices; OpenAI and Deepgram a built-in list, not `complete`; other OpenAI-compatible servers
         *     only the connection's voice. Returns 422 without text-to-speech, 403 for viewers. Cached for five minutes (failures 15 seconds) or until the
         *     connection changes.
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
         * Sample a voice
         * @description Returns a few words as callers hear them, as mono WAV. The provider charges for it. Shares the limit of connection tests: one at a time per
         *     tenant and node.
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
         * Create an event token
         * @description The token is valid for ten minutes. It opens only `GET /v1/events?token=`, `/v1/calls/{id}/events?token=` and
         *     `/v1/calls/{id}/transcript?token=`, also with `/stream` before the `?`, from any origin. It ends with the key or session that created it,
         *     and when the person becomes a viewer.
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
         * List events
         * @description Lists those of all calls, newest first. `Accept: text/event-stream` streams, as `/stream` does.
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
         * Stream events
         * @description Sends those of all calls as they happen. Starts now, or after a `Last-Event-ID` up to a day old. Ignore known `id`s: events can repeat
         *     around a reconnect and in the first seconds. Ends when the key or session stops working, the service stops, or the client reads too slowly.
         *     Limits per node: 32 streams per tenant, 24 of them for sessions and event tokens, 8 per person or token; more get 429.
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
        /**
         * List numbers
         * @description The newest come first.
         */
        get: operations["list_numbers"];
        put?: never;
        /**
         * Add a number
         * @description The number belongs to a carrier connection.
         */
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
        /**
         * Get a number
         * @description Returns the number with the agent that answers it.
         */
        get: operations["show_number"];
        put?: never;
        post?: never;
        /**
         * Delete a number
         * @description Existing calls continue.
         */
        delete: operations["delete_number"];
        options?: never;
        head?: never;
        /**
         * Update a number
         * @description Changes apply from the next call on.
         */
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
        /**
         * List people
         * @description The newest come first, including invited ones.
         */
        get: operations["list_people"];
        put?: never;
        /**
         * Invite a person
         * @description Only this response contains the link, valid for seven days and one acceptance. The person signs in with this address, verified by the
         *     identity provider, to accept or decline. A new invitation revokes the earlier link. Limits per tenant: 100 open invitations, 20 new ones an
         *     hour.
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
        /**
         * Get a person
         * @description Returns a member or an open invitation.
         */
        get: operations["show_person"];
        put?: never;
        post?: never;
        /**
         * Remove a person
         * @description Their sessions in the tenant end at once; an invitation is revoked.
         */
        delete: operations["remove_person"];
        options?: never;
        head?: never;
        /**
         * Change a person's role
         * @description The role applies from their next request on.
         */
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
        /**
         * Simulate an inbound call
         * @description Calls one of the tenant's numbers from the simulated network. Counts towards the concurrent call limit.
         */
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
         * Get call statistics
         * @description Returns figures of ended calls by hour or day. Calls count when they end. At most 31 days by hour, 366 by day.
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
        /**
         * Get the tenant
         * @description Returns the key's tenant with its limits and their use.
         */
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
         * Get usage
         * @description Returns calls, minutes and cost per day, by agent and by connection. Calls count on the day they end. At most 366 days.
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
        /**
         * List webhooks
         * @description The newest come first.
         */
        get: operations["list_webhooks"];
        put?: never;
        /**
         * Create a webhook
         * @description Only this response contains the signing secret. At most 20 endpoints per tenant, unless the operator changes it.
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
        /**
         * Get a webhook
         * @description The secret is not included.
         */
        get: operations["show_webhook"];
        put?: never;
        post?: never;
        /**
         * Delete a webhook
         * @description Its deliveries are deleted too; an attempt in flight may still arrive.
         */
        delete: operations["delete_webhook"];
        options?: never;
        head?: never;
        /**
         * Update a webhook
         * @description Pending deliveries go to the new URL; disabling the endpoint cancels them.
         */
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
        /**
         * List a webhook's deliveries
         * @description The newest come first.
         */
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
        /**
         * Get a delivery
         * @description Returns the delivery with every attempt.
         */
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
         * Repeat a delivery
         * @description Tries a pending delivery at once (200), as one of its 8 attempts. For a finished one, creates a delivery (201) with a new id, the same
         *     `created` and `data`, and 8 attempts of its own.
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
         * Rotate a webhook's secret
         * @description Only this response contains the new one. For 24 hours, the previous one also signs: `t=…,v1=<new>,v1=<old>`.
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
        /**
         * Test a webhook
         * @description Sends `webhook.test`, whatever the endpoint's filter. Retried like any other event.
         */
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
         * Deliver an event
         * @description Sent to the `url` of each subscribed webhook until it answers with 2XX. Verify a signature, then ignore a known `id`.
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
         *       "created_at": "2026-01-31T12:00:00.048772Z",
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
         *       "updated_at": "2026-01-31T12:00:00.068417Z",
         *       "variables": {},
         *       "version": 2
         *     }
         */
        Agent: components["schemas"]["AgentConfig"] & {
            /** Format: date-time */
            created_at: string;
            /** Format: uuid */
            id: string;
            /** @description Unique per tenant. */
            name: string;
            traffic: components["schemas"]["Traffic"] | null;
            /** Format: date-time */
            updated_at: string;
            /**
             * Format: int64
             * @description Increases with each change except to `traffic`; calls keep their version.
             */
            version: number;
        };
        /** @description A version of an agent's configuration. Calls keep their version. */
        AgentConfig: {
            analysis: components["schemas"]["AnalysisSettings"];
            answering_machine: components["schemas"]["AnsweringMachine"];
            /** @description DTMF from the caller. */
            dtmf: components["schemas"]["Dtmf"];
            greeting: components["schemas"]["Greeting"];
            /** @description System prompt; `{{variable}}` is replaced. */
            instructions: string;
            interruption: components["schemas"]["Interruption"];
            /**
             * @description Spoken language (BCP 47).
             * @example en-US
             */
            language: string;
            limits: components["schemas"]["AgentLimits"];
            llm: components["schemas"]["LlmChoice"] | null;
            privacy: components["schemas"]["Privacy"];
            realtime: components["schemas"]["RealtimeChoice"] | null;
            recording: components["schemas"]["Recording"];
            silence: components["schemas"]["Silence"];
            stt: components["schemas"]["SttChoice"] | null;
            /** @description Tools for the model. */
            tools: components["schemas"]["Tool"][];
            tts: components["schemas"]["TtsChoice"] | null;
            turn_taking: components["schemas"]["TurnTaking"];
            /** @description Variables that calls can or must set; at most 16 KiB of JSON. */
            variables: {
                [key: string]: components["schemas"]["AgentVariable"];
            };
        };
        /** @description Call time limits. */
        AgentLimits: {
            /** @description Maximum duration of the conversation. */
            max_duration_seconds: number;
            /** @description Ring timeout. */
            ring_timeout_seconds: number;
        };
        /** @description Call time limits. */
        AgentLimitsInput: {
            /** @description Maximum duration of the conversation. Default: `1800`. */
            max_duration_seconds?: number | null;
            /** @description Ring timeout. Default: `30`. */
            ring_timeout_seconds?: number | null;
        };
        AgentList: {
            data: components["schemas"]["Agent"][];
            has_more: boolean;
            /** Format: uuid */
            next_cursor: string | null;
        };
        /** @description A call variable, used as `{{name}}`. */
        AgentVariable: {
            /** @description Used if a call does not set it. */
            default: string | null;
            /** @description Whether a call must set it. */
            required: boolean;
        };
        /** @description A call variable, used as `{{name}}`. */
        AgentVariableInput: {
            /** @description Used if a call does not set it. */
            default?: string | null;
            /** @description Whether a call must set it. Default: `false`. */
            required?: boolean | null;
        };
        /**
         * @description A version of an agent.
         * @example {
         *       "changed": [
         *         "llm",
         *         "recording.enabled",
         *         "stt",
         *         "tts"
         *       ],
         *       "created_at": "2026-01-31T12:00:00.068417Z",
         *       "name": "Reception",
         *       "version": 2
         *     }
         */
        AgentVersion: {
            /** @description Fields that differ from the previous version; a list counts as one. */
            changed: string[];
            /**
             * Format: date-time
             * @description When it was made.
             */
            created_at: string;
            /** @description The agent's name in it. */
            name: string;
            /**
             * Format: int64
             * @description Number.
             */
            version: number;
        };
        AgentVersionList: {
            data: components["schemas"]["AgentVersion"][];
            has_more: boolean;
            /** Format: uuid */
            next_cursor: string | null;
        };
        AgentWithWarnings: components["schemas"]["Agent"] & components["schemas"]["RequestWarnings"];
        /** @description Post-call analysis. */
        AnalysisSettings: {
            /** @description JSON Schema of `outcome`; without one, the provider picks the facts. Without schema and summary, there is no analysis. */
            schema: {
                [key: string]: unknown;
            } | null;
            /** @description Whether to write a summary. */
            summary: boolean;
        };
        /** @description Post-call analysis. */
        AnalysisSettingsInput: {
            /** @description JSON Schema of `outcome`; without one, the provider picks the facts. Without schema and summary, there is no analysis. */
            schema?: {
                [key: string]: unknown;
            } | null;
            /** @description Whether to write a summary. Default: `true`. */
            summary?: boolean | null;
        };
        /**
         * @description Who answered a call.
         * @enum {string}
         */
        AnsweredBy: "human" | "voicemail" | (string & {});
        /** @description Answering machine handling. */
        AnsweringMachine: {
            /** @description Message after the beep, for `leave_message`. */
            message: string | null;
            mode: components["schemas"]["MachineDetection"];
            on_machine: components["schemas"]["OnMachine"];
        };
        /** @description Answering machine handling. */
        AnsweringMachineInput: {
            /** @description Message after the beep, for `leave_message`. */
            message?: string | null;
            /** @description Whether to detect answering machines. Default: `"off"`. */
            mode?: components["schemas"]["MachineDetection"] | null;
            /** @description Action when a machine answers. Default: `"hangup"`. */
            on_machine?: components["schemas"]["OnMachine"] | null;
        };
        /**
         * @description A key without its secret.
         * @example {
         *       "created_at": "2026-01-31T12:00:00.000000Z",
         *       "expires_at": null,
         *       "id": "0198c6a0-0000-7000-8000-000000000002",
         *       "last_used_at": "2026-01-31T12:00:09.894607Z",
         *       "name": "first key",
         *       "prefix": "k3v9x0a1b2c3",
         *       "revoked_at": null
         *     }
         */
        ApiKey: {
            /** Format: date-time */
            created_at: string;
            /**
             * Format: date-time
             * @description `null` if it never expires.
             */
            expires_at: string | null;
            /** Format: uuid */
            id: string;
            /**
             * Format: date-time
             * @description Last use; uses on other nodes appear after a few seconds.
             */
            last_used_at: string | null;
            /** @description Label. */
            name: string | null;
            /** @description Public part. */
            prefix: string;
            /**
             * Format: date-time
             * @description `null` if not revoked.
             */
            revoked_at: string | null;
        };
        ApiKeyList: {
            data: components["schemas"]["ApiKey"][];
            has_more: boolean;
            /** Format: uuid */
            next_cursor: string | null;
        };
        /** @description What needs attention. */
        Attention: {
            /** @description Worst first, at most 20 of a kind. */
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
             * @description Refused calls, or waiting deliveries (up to 1000).
             */
            count: number | null;
            /** @description The problem in one sentence. */
            detail: string;
            kind: components["schemas"]["AttentionKind"];
            limit: components["schemas"]["NearLimit"] | null;
            /**
             * Format: date-time
             * @description Start of the problem, if known.
             */
            since: string | null;
            subject: components["schemas"]["AttentionSubject"];
        };
        /**
         * @description Kind of problem.
         * @enum {string}
         */
        AttentionKind: "credentials_refused" | "webhook_failing" | "limit_near" | "number_without_agent" | (string & {});
        /** @description What a problem concerns. */
        AttentionSubject: {
            /** Format: uuid */
            id: string;
            /** @description Its name, URL or number. */
            name: string;
            type: components["schemas"]["AttentionSubjectKind"];
        };
        /**
         * @description Kind of resource.
         * @enum {string}
         */
        AttentionSubjectKind: "connection" | "webhook" | "tenant" | "number" | (string & {});
        /**
         * @description A call.
         * @example {
         *       "agent_id": "0198c6a0-0000-7000-8000-000000000000",
         *       "agent_version": 2,
         *       "analysis": {
         *         "error": null,
         *         "status": "completed"
         *       },
         *       "answered_at": "2026-01-31T12:00:00.256981Z",
         *       "answered_by": null,
         *       "carrier": {
         *         "call_id": "SIM-0198c6a0-0000-7000-8000-000000000003",
         *         "cause": "normal",
         *         "connection_id": "0198c6a0-0000-7000-8000-000000000004",
         *         "provider": "simulator",
         *         "sip_code": null
         *       },
         *       "created_at": "2026-01-31T12:00:00.120261Z",
         *       "dialing_at": "2026-01-31T12:00:00.168853Z",
         *       "direction": "outbound",
         *       "duration_seconds": 10,
         *       "end_reason": "api_hangup",
         *       "ended_at": "2026-01-31T12:00:09.771901Z",
         *       "ended_by": "api",
         *       "error": null,
         *       "error_code": null,
         *       "from": "+12025550199",
         *       "id": "0198c6a0-0000-7000-8000-000000000003",
         *       "latency": {
         *         "after_turn_ms": {
         *           "max": 9,
         *           "n": 1,
         *           "p50": 9,
         *           "p95": 9
         *         },
         *         "greeting_ms": 25,
         *         "response_ms": {
         *           "max": 446,
         *           "n": 1,
         *           "p50": 446,
         *           "p95": 446
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
         *       "ringing_at": "2026-01-31T12:00:00.195640Z",
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
         *         "stt_audio_ms": 9460,
         *         "tts_characters": 83,
         *         "unpriced": false
         *       },
         *       "variables": {
         *         "name": "Ana"
         *       }
         *     }
         */
        Call: components["schemas"]["UnplacedCall"] & {
            /** Format: uuid */
            id: string;
        };
        /**
         * @description Phone number, SIP address or `web`. Commas separate values: addresses with a comma cannot be found.
         * @example +12025550100
         */
        CallAddress: string;
        /** @description Result of post-call analysis. */
        CallAnalysis: {
            /**
             * @description Error, if it failed.
             * @example null
             */
            error: string | null;
            status: components["schemas"]["CallAnalysisStatus"];
        };
        /**
         * @description Whether the conversation was analysed.
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
             * @description `null` for web calls.
             */
            connection_id: string | null;
            provider: components["schemas"]["CarrierName"];
            /**
             * Format: int64
             * @description The SIP status code, if any.
             */
            sip_code: number | null;
        };
        CallCompleted: components["schemas"]["CallEventHead"] & {
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
        CallCompletedData: components["schemas"]["CallEventData"] & {
            /** @description Seconds from answer to end. */
            duration_seconds: number;
            end_reason: components["schemas"]["CallEndReason"] | null;
            /** @description `null`: the call did not fail. */
            error: string | null;
            /** @description Result of the analysis: any JSON value, in the shape of the agent's `analysis.schema`, or `null`. */
            outcome: unknown;
            /** @description Summary of the conversation. */
            summary: string;
            /** @description Caller turns that the agent answered. */
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
             * @description `null`: carriers bill separately.
             */
            carrier_usd: number | null;
            /**
             * Format: double
             * @description Language models, including post-call analysis.
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
         *       "at_ms": 5277,
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
         *       "silence_ms": 401,
         *       "silence_needed_ms": 400
         *     }
         */
        CallDecision: {
            /**
             * Format: int64
             * @description Milliseconds since the start of the conversation.
             */
            at_ms: number;
            ended_by: components["schemas"]["TurnEndedBy"] | null;
            /** @description Evidence for (positive weight) or against the end. */
            evidence: components["schemas"]["CallDecisionEvidence"][];
            /**
             * @description `turn_ended`: the caller finished. `turn_reopened`: they went on; the agent responds once to all of it. `interruption`: they stopped the
             *     agent. `false_interruption`: the agent went on. `backchannel`: words that need no response. `speculation`: early model request.
             *     `speculation_discarded`: it was dropped. `machine_ignored`: the reported machine is a person.
             */
            kind: components["schemas"]["CallDecisionKind"];
            /**
             * Format: float
             * @description Probability of the end of the turn, 0 to 1.
             */
            probability: number | null;
            /**
             * Format: int64
             * @description Caller silence so far; `null` if they spoke or it did not matter.
             */
            silence_ms: number | null;
            /**
             * Format: int64
             * @description Silence that the evidence required.
             */
            silence_needed_ms: number | null;
        };
        /** @description Evidence about the end of a turn. */
        CallDecisionEvidence: {
            name: components["schemas"]["EvidenceName"];
            /**
             * Format: float
             * @description Amount: 1, or a share.
             */
            value: number;
            /**
             * Format: float
             * @description Log odds of an end per unit of `value`.
             * @example -2.6
             */
            weight: number;
        };
        /**
         * @description Kind of decision.
         * @enum {string}
         */
        CallDecisionKind: "turn_ended" | "turn_reopened" | "interruption" | "false_interruption" | "backchannel" | "speculation" | "speculation_discarded" | "machine_ignored" | (string & {});
        /** @description The decisions of a call. */
        CallDecisions: {
            /** @description In the order they were made. */
            data: components["schemas"]["CallDecision"][];
        };
        /** @description Delivery of one of the call's events. */
        CallDelivery: components["schemas"]["WebhookDeliveryWithAttempts"] & {
            /**
             * Format: uri
             * @description Current URL.
             * @example https://example.com/hooks/calls
             */
            url: string;
            /**
             * Format: uuid
             * @description The endpoint.
             */
            webhook_id: string;
        };
        CallDeliveryList: {
            data: components["schemas"]["CallDelivery"][];
            has_more: boolean;
            /** Format: uuid */
            next_cursor: string | null;
        };
        CallDialing: components["schemas"]["CallEventHead"] & {
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
         * @description An event of a call.
         * @example {
         *       "call_id": "0198c6a0-0000-7000-8000-000000000003",
         *       "created": 1769860809,
         *       "created_at": "2026-01-31T12:00:09.776842Z",
         *       "data": {
         *         "agent_id": "0198c6a0-0000-7000-8000-000000000000",
         *         "call_id": "0198c6a0-0000-7000-8000-000000000003",
         *         "direction": "outbound",
         *         "duration_seconds": 10,
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
         *       "id": "0198c6a0-0000-7000-8000-000000000006",
         *       "sequence": 5
         *     }
         */
        CallEvent: components["schemas"]["CallCompleted"] | components["schemas"]["CallDialing"] | components["schemas"]["CallFailed"] | components["schemas"]["CallInProgress"] | components["schemas"]["CallQueued"] | components["schemas"]["CallReceived"] | components["schemas"]["CarrierHangup"];
        /** @description Data of every call event. */
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
            /** @description Number within the call. */
            sequence: number;
            status: components["schemas"]["CallStatus"];
            /** @description The callee. */
            to: string;
        };
        CallEventHead: {
            /**
             * Format: uuid
             * @description The call.
             */
            call_id: string;
            /**
             * Format: int64
             * @description The same in Unix seconds, as in webhooks.
             */
            created: number;
            /**
             * Format: date-time
             * @description When it happened.
             */
            created_at: string;
            /**
             * Format: uuid
             * @description The event's id; `id` in a webhook is the delivery's.
             */
            id: string;
            /**
             * Format: int64
             * @description Number within the call, from 1.
             * @example 1
             */
            sequence: number;
        };
        CallEventList: {
            data: components["schemas"]["CallEvent"][];
            has_more: boolean;
            /** Format: uuid */
            next_cursor: string | null;
        };
        /** @description Events of a call. */
        CallEvents: {
            /** @description The events, in order. */
            data: components["schemas"]["CallEvent"][];
        };
        CallFailed: components["schemas"]["CallEventHead"] & {
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
        CallFailedData: components["schemas"]["CallEventData"] & {
            /** @description Seconds from answer to end. */
            duration_seconds: number;
            /** @description What went wrong, as a sentence. */
            error: string;
            error_code: components["schemas"]["CallFailure"];
            /** @description Caller turns that the agent answered. */
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
         * @description Why a call failed. Codes are final: none changes meaning, none is added.
         * @enum {string}
         */
        CallFailure: "carrier_unauthorized" | "carrier_error" | "busy" | "no_answer" | "rejected" | "invalid_number" | "no_media" | "config_error" | "provider_timeout" | "pipeline_error" | "unknown_error" | (string & {});
        CallInProgress: components["schemas"]["CallEventHead"] & {
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
        /** @description How long the caller waited. */
        CallLatency: {
            /** @description From the end-of-turn decision to the first audio of the answer. */
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
            /** @description Maximum duration of the conversation. */
            max_duration_seconds?: number | null;
            /** @description Ring timeout. */
            ring_timeout_seconds?: number | null;
        };
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
        CallQueued: components["schemas"]["CallEventHead"] & {
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
        CallReceived: components["schemas"]["CallEventHead"] & {
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
         * @description Call status. It only moves down this list; the last two are final.
         * @enum {string}
         */
        CallStatus: "queued" | "dialing" | "in_progress" | "completed" | "failed" | (string & {});
        /** @description Usage in the providers' units. */
        CallUsage: {
            /**
             * Format: int64
             * @description Of these, from the provider's cache.
             */
            audio_cached_tokens: number;
            /**
             * Format: int64
             * @description Audio input tokens of a speech-to-speech model, including cached ones. Its text tokens count as `llm_*_tokens`.
             */
            audio_input_tokens: number;
            /**
             * Format: int64
             * @description Audio output tokens of a speech-to-speech model.
             */
            audio_output_tokens: number;
            /**
             * Format: double
             * @description Cost by the price table.
             */
            cost_usd: number;
            costs: components["schemas"]["CallCosts"];
            /**
             * Format: int64
             * @description Of these, written to the cache.
             */
            llm_cache_write_tokens: number;
            /**
             * Format: int64
             * @description Of these, from the provider's cache.
             */
            llm_cached_tokens: number;
            /** @description Whether some token counts are estimates. */
            llm_estimated: boolean;
            /**
             * Format: int64
             * @description Input tokens, including those read from or written to the cache.
             */
            llm_input_tokens: number;
            /**
             * Format: int64
             * @description Output tokens, including reasoning.
             */
            llm_output_tokens: number;
            /**
             * Format: int64
             * @description Audio transcribed.
             */
            stt_audio_ms: number;
            /**
             * Format: int64
             * @description Characters spoken.
             */
            tts_characters: number;
            /** @description Whether some usage has no price, so the cost is incomplete. */
            unpriced: boolean;
        };
        CallWithWarnings: components["schemas"]["Call"] & components["schemas"]["RequestWarnings"];
        /**
         * @description The carrier's reason for the end of a call, uniform across carriers.
         * @enum {string}
         */
        CarrierCause: "normal" | "busy" | "no_answer" | "rejected" | "invalid_number" | "canceled" | "failed" | (string & {});
        CarrierHangup: components["schemas"]["CallEventHead"] & {
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
        /**
         * @description A carrier; `web` for browser calls.
         * @enum {string}
         */
        CarrierName: "simulator" | "twilio" | "signalwire" | "telnyx" | "plivo" | "vonage" | "sip" | "web" | (string & {});
        /** @description Concurrent calls. */
        ConcurrentCalls: {
            /**
             * Format: int32
             * @description Current number.
             */
            in_use: number;
            /** Format: int32 */
            limit: number;
        };
        /**
         * @description A connection.
         * @example {
         *       "created_at": "2026-01-31T12:00:00.040001Z",
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
         *       "updated_at": "2026-01-31T12:00:00.040001Z"
         *     }
         */
        Connection: {
            /** Format: date-time */
            created_at: string;
            /** @description Names of the credentials with their last characters. */
            credentials: {
                [key: string]: string;
            };
            /** Format: uuid */
            id: string;
            kind: components["schemas"]["ConnectionKind"];
            /** @description Every kind it supports. */
            kinds: components["schemas"]["ConnectionKind"][];
            limits: components["schemas"]["ConnectionLimits"];
            /** @description Unique per tenant. */
            name: string;
            provider: components["schemas"]["ProviderName"];
            /** @description Settings without secrets. */
            settings: {
                [key: string]: unknown;
            };
            /** Format: date-time */
            updated_at: string;
        };
        /** @description One thing that was tried. */
        ConnectionCheck: {
            /**
             * @description Result in one sentence.
             * @example It responded.
             */
            detail: string;
            /**
             * Format: int64
             * @description Duration.
             */
            duration_ms: number;
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
             * @description Concurrent calls; `null` for no limit.
             */
            max_concurrent: number | null;
        };
        /** @description Limits of a connection. */
        ConnectionLimitsInput: {
            /**
             * Format: int64
             * @description Concurrent calls; `null` for no limit.
             */
            max_concurrent?: number | null;
        };
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
         * @description An agent to create.
         * @example {
         *       "instructions": "You answer the phone of a restaurant.",
         *       "name": "Reception"
         *     }
         */
        CreateAgent: {
            analysis?: components["schemas"]["AnalysisSettingsInput"] | null;
            answering_machine?: components["schemas"]["AnsweringMachineInput"] | null;
            /** @description DTMF from the caller. */
            dtmf?: components["schemas"]["DtmfInput"] | null;
            greeting?: components["schemas"]["GreetingInput"] | null;
            /** @description System prompt; `{{variable}}` is replaced. */
            instructions: string;
            interruption?: components["schemas"]["InterruptionInput"] | null;
            /** @description Spoken language (BCP 47). */
            language?: string | null;
            limits?: components["schemas"]["AgentLimitsInput"] | null;
            llm?: components["schemas"]["LlmChoiceInput"] | null;
            /** @description Unique per tenant. */
            name: string;
            privacy?: components["schemas"]["PrivacyInput"] | null;
            realtime?: components["schemas"]["RealtimeChoiceInput"] | null;
            recording?: components["schemas"]["RecordingInput"] | null;
            silence?: components["schemas"]["SilenceInput"] | null;
            stt?: components["schemas"]["SttChoiceInput"] | null;
            /** @description Tools for the model. */
            tools?: components["schemas"]["ToolInput"][] | null;
            traffic?: components["schemas"]["Traffic"] | null;
            tts?: components["schemas"]["TtsChoiceInput"] | null;
            turn_taking?: components["schemas"]["TurnTakingInput"] | null;
            /** @description Variables that calls can or must set; at most 16 KiB of JSON. */
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
             * @description Days until it expires; never if absent.
             */
            expires_in_days?: number | null;
            /** @description Label. */
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
             * @description Agent that holds the conversation.
             */
            agent_id: string;
            /**
             * Format: int64
             * @description Defaults to the version that `traffic` selects, or the newest.
             */
            agent_version?: number | null;
            answering_machine?: components["schemas"]["AnsweringMachineInput"] | null;
            /** @description Validate everything, but place no call. */
            dry_run?: boolean | null;
            /** @description One of the tenant's numbers. Defaults to `number_id`, or the only number that can dial. */
            from?: string | null;
            /** @description Your own data, returned in the call and its events; at most 16 KiB of JSON. */
            metadata?: components["schemas"]["Metadata"] | null;
            /**
             * Format: uuid
             * @description One of the tenant's numbers.
             */
            number_id?: string | null;
            /** @description Overrides parts of the agent for this call. */
            overrides?: components["schemas"]["CallOverrides"] | null;
            /** @description Overrides the agent's ring timeout. */
            ring_timeout_seconds?: number | null;
            /**
             * Format: date-time
             * @description When to dial, at most 90 days ahead; now if absent. Until then the call is queued and counts as concurrent.
             */
            schedule_at?: string | null;
            /** @description E.164 number, `sip:` URI, or `web` for a browser call. */
            to: string;
            /** @description Values for `{{name}}`; at most 16 KiB of JSON. Send long ids as strings. */
            variables?: components["schemas"]["Variables"] | null;
        };
        /**
         * @description A connection to create.
         * @example {
         *       "name": "Main line",
         *       "provider": "simulator",
         *       "settings": {
         *         "time_scale": 0.05
         *       }
         *     }
         */
        CreateConnection: {
            /** @description Provider-specific secrets. Write-only. */
            credentials?: components["schemas"]["Credentials"] | null;
            limits?: components["schemas"]["ConnectionLimitsInput"] | null;
            /** @description Unique per tenant. */
            name: string;
            provider: components["schemas"]["ProviderName"];
            /** @description Provider-specific settings without secrets; all providers support `base_url`. */
            settings?: {
                [key: string]: unknown;
            } | null;
        };
        /**
         * @description A number to add.
         * @example {
         *       "connection_id": "0198c6a0-0000-7000-8000-000000000004",
         *       "inbound_agent_id": "0198c6a0-0000-7000-8000-000000000000",
         *       "label": "Reception",
         *       "number": "+12025550199"
         *     }
         */
        CreateNumber: {
            /** @description Configure the carrier to send calls here; a failure is reported in `warnings`. Default: `false`. */
            configure_carrier?: boolean | null;
            /**
             * Format: uuid
             * @description Carrier connection.
             */
            connection_id: string;
            /**
             * Format: uuid
             * @description Agent that answers; `null` rejects inbound calls.
             */
            inbound_agent_id?: string | null;
            /** @description Display name. */
            label?: string | null;
            /** @description E.164; unique per connection. */
            number: string;
        };
        /**
         * @description A voice sample to create.
         * @example {
         *       "language": "en-US",
         *       "text": "Good morning, this is Ava."
         *     }
         */
        CreateVoiceSample: {
            /** @description Language (BCP 47); default `en-US`. */
            language?: string | null;
            /** @description Model name; defaults to the connection's. */
            model?: string | null;
            /**
             * Format: float
             * @description Speaking rate; default 1.
             */
            speed?: number | null;
            /** @description Defaults to an English greeting. */
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
            /** @description Events to send; all if empty or absent. */
            events?: components["schemas"]["EventKind"][] | null;
            /**
             * Format: uri
             * @description Public HTTPS URL; `http://` only if the operator allows it.
             */
            url: string;
        };
        /** @description New secrets; `null` removes one. */
        CredentialChanges: {
            [key: string]: string | null;
        };
        /** @description Provider-specific secrets. */
        Credentials: {
            [key: string]: string | null;
        };
        /**
         * @description Numbers the tenant can call; set by the operator. Premium-rate, shared-cost and satellite numbers must be named in `allow`. The tenant's own
         *     numbers are always refused.
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
             * @description Daily cost (UTC) at which no further calls are placed; `null` for no cap.
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
             * @description Calls and transfers to one number in 24 hours; `null` for no limit.
             * @example 20
             */
            per_number_per_day: number | null;
        };
        /** @description Collects the caller's keys into one input, up to the finish key, a pause or the maximum length. */
        Dtmf: {
            /** @description Pause after a key that ends the input. */
            digit_timeout_ms: number;
            /** @description Whether keys are processed. */
            enabled: boolean;
            /** @description Key that ends an input and is not part of it; `null` for none. */
            finish_on_key: string | null;
            /** @description Whether a key stops the agent, if the caller may interrupt. */
            interrupt: boolean;
            /** @description Number of keys that ends the input. */
            max_digits: number;
        };
        /** @description Collects the caller's keys into one input, up to the finish key, a pause or the maximum length. */
        DtmfInput: {
            /** @description Pause after a key that ends the input. Default: `2000`. */
            digit_timeout_ms?: number | null;
            /** @description Whether keys are processed. Default: `true`. */
            enabled?: boolean | null;
            /**
             * @description Key that ends an input and is not part of it; `null` for none. Default: `"#"`.
             * @example #
             */
            finish_on_key?: string | null;
            /** @description Whether a key stops the agent, if the caller may interrupt. Default: `true`. */
            interrupt?: boolean | null;
            /** @description Number of keys that ends the input. Default: `32`. */
            max_digits?: number | null;
        };
        /**
         * @description How soon the agent responds.
         * @enum {string}
         */
        Eagerness: "low" | "normal" | "high" | (string & {});
        /** @description Ends the call once the caller has heard the goodbye. Every agent has it; list it to change its description. */
        EndCallTool: {
            /** @description When the model should use it. */
            description: string | null;
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            type: "end_call" | (string & {});
        };
        /** @description Ends the call once the caller has heard the goodbye. Every agent has it; list it to change its description. */
        EndCallToolInput: {
            /** @description When the model should use it. */
            description?: string | null;
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            type: "end_call" | (string & {});
        };
        /** @description The body of an error response. */
        ErrorBody: {
            code: components["schemas"]["ProblemCode"];
            /** @description The problem in one sentence. */
            detail: string;
            /** @description Invalid fields, for status 422. */
            errors: components["schemas"]["ErrorField"][];
            /**
             * Format: uuid
             * @description As in `X-Request-Id` and the service's logs.
             */
            request_id: string | null;
            /** @description The HTTP status. */
            status: number;
            /** @description The status text. */
            title: string;
            /**
             * Format: uri
             * @description URI of the kind of error.
             */
            type: string;
        };
        /** @description An invalid field. */
        ErrorField: {
            /** @description The problem. */
            message: string;
            /** @description Path in the body, such as `limits.max_duration_seconds`, or the name of a parameter or header. */
            path: string;
        };
        /**
         * @description The events of a call.
         * @enum {string}
         */
        EventKind: "call.queued" | "call.dialing" | "call.in_progress" | "call.completed" | "call.failed" | "call.received" | "carrier.hangup" | (string & {});
        /** @description A token for event streams. */
        EventToken: {
            /**
             * Format: date-time
             * @description Open streams before this time; they continue after it.
             */
            expires_at: string;
            /**
             * @description Send it as `?token=`. Gives access to the tenant's events and transcripts.
             * @example AQIDBA
             */
            token: string;
        };
        /**
         * @description Kind of evidence about the end of a turn.
         * @enum {string}
         */
        EvidenceName: "no_words" | "not_final" | "answer" | "open_word" | "loose_word" | "dictation_begun" | "dictation_partial" | "dictation_complete" | "question" | "doubtful_question" | "closed_sentence" | "suspension" | "request" | "short_phrase" | "short_answer" | "missing_object" | "subordinate_clause" | "missing_number" | "long_pauses" | "unknown_language" | (string & {});
        /** @description Start of the conversation. */
        Greeting: {
            /** @description Whether the caller can interrupt it. */
            interruptible: boolean;
            mode: components["schemas"]["GreetingMode"];
            /** @description The text for mode `speak`. */
            text: string;
        };
        /** @description Start of the conversation. */
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
        /** @description Greeting text, as a string or an agent's `greeting` object. */
        GreetingOverride: string | components["schemas"]["GreetingText"];
        /** @description A greeting's text, as in an agent. */
        GreetingText: {
            /** @description Its text. */
            text: string;
        };
        /**
         * @description The HTTP method of a tool's request: `POST`, the default, sends arguments as JSON, `GET` as query parameters.
         * @enum {string}
         */
        HttpMethod: "GET" | "POST" | (string & {});
        /** @description Calls a web service and gives the response to the model. */
        HttpTool: {
            /**
             * Format: uuid
             * @description An `http` connection whose credentials are sent as headers.
             */
            connection_id: string | null;
            /** @description When the model should use it. */
            description: string | null;
            /** @description Spoken while the tool runs, unless the model already spoke. */
            filler: string | null;
            /** @description Extra headers; `{{variable}}` is replaced. Visible to anyone who can read the agent: keep secrets in a connection. */
            headers: {
                [key: string]: string;
            };
            method: components["schemas"]["HttpMethod"] | null;
            /** @description Its name for the model; not the type of a tool. */
            name: string;
            /** @description JSON Schema of the arguments, of type `object`; none if absent. */
            parameters: {
                [key: string]: unknown;
            } | null;
            /** @description Default 8. */
            timeout_seconds: number | null;
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            type: "http" | (string & {});
            /** @description `{{variable}}` is replaced, percent-encoded. */
            url: string;
        };
        /** @description Calls a web service and gives the response to the model. */
        HttpToolInput: {
            /**
             * Format: uuid
             * @description An `http` connection whose credentials are sent as headers.
             */
            connection_id?: string | null;
            /** @description When the model should use it. */
            description?: string | null;
            /**
             * @description Spoken while the tool runs, unless the model already spoke.
             * @example Let me look that up.
             */
            filler?: string | null;
            /** @description Extra headers; `{{variable}}` is replaced. Visible to anyone who can read the agent: keep secrets in a connection. */
            headers?: {
                [key: string]: string | null;
            } | null;
            method?: components["schemas"]["HttpMethod"] | null;
            /**
             * @description Its name for the model; not the type of a tool.
             * @example free_tables
             */
            name: string;
            /** @description JSON Schema of the arguments, of type `object`; none if absent. */
            parameters?: {
                [key: string]: unknown;
            } | null;
            /** @description Default 8. */
            timeout_seconds?: number | null;
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            type: "http" | (string & {});
            /**
             * @description `{{variable}}` is replaced, percent-encoded.
             * @example https://example.com/tables
             */
            url: string;
        };
        /** @description Caller interruptions. */
        Interruption: {
            /** @description Words that do not interrupt on their own. */
            backchannels: string[];
            /** @description Whether the caller can interrupt. */
            enabled: boolean;
            /** @description Speech that interrupts; shorter noises only pause the agent. */
            min_speech_ms: number;
            /** @description Recognised words that interrupt before `min_speech_ms`; 0 ignores words. */
            min_words: number;
        };
        /** @description Caller interruptions. */
        InterruptionInput: {
            /** @description Words that do not interrupt on their own. Default: `["mm-hmm","mhm","uh-huh","mm","hmm","okay","ok","right","yeah","yes","sure","i see"]`. */
            backchannels?: string[] | null;
            /** @description Whether the caller can interrupt. Default: `true`. */
            enabled?: boolean | null;
            /** @description Speech that interrupts; shorter noises only pause the agent. Default: `500`. */
            min_speech_ms?: number | null;
            /** @description Recognised words that interrupt before `min_speech_ms`; 0 ignores words. Default: `2`. */
            min_words?: number | null;
        };
        /**
         * @description A person to invite.
         * @example {
         *       "email": "ana@example.com",
         *       "role": "member"
         *     }
         */
        InvitePerson: {
            /** @description Address the person signs in with. */
            email: string;
            /** @description Defaults to `member`. */
            role?: components["schemas"]["PersonRole"] | null;
        };
        /** @description An invited person and the link. */
        InvitedPerson: components["schemas"]["Person"] & {
            /**
             * Format: uri
             * @description Link to accept or decline. Shown only once.
             * @example https://voice.example.com/invitation#NDNjaGFyYWN0ZXJzLXRoYXQtbm9ib2R5LWd1ZXNzZXM
             */
            invitation_url: string;
        };
        InvitedPersonWithWarnings: components["schemas"]["InvitedPerson"] & components["schemas"]["RequestWarnings"];
        /** @description Percentiles by the nearest-rank method. */
        LatencyPercentiles: {
            /**
             * Format: int64
             * @description Maximum.
             */
            max: number | null;
            /** @description Number measured. */
            n: number;
            /**
             * Format: int64
             * @description Median.
             */
            p50: number | null;
            /**
             * Format: int64
             * @description 95th percentile.
             */
            p95: number | null;
        };
        /**
         * @description A limit.
         * @enum {string}
         */
        LimitName: "concurrent_calls" | "monthly_calls" | "cost_per_day_usd" | (string & {});
        /** @description Where to listen to a live call. */
        ListenAddress: {
            /**
             * Format: date-time
             * @description Connect before this time.
             */
            expires_at: string;
            /**
             * @description WebSocket URL for one connection. Anyone who has it can listen.
             * @example wss://voice.example.com/media/listen/AQIDBA
             */
            url: string;
        };
        /** @description A language model. */
        LlmChoice: {
            /**
             * Format: uuid
             * @description `null` for a demo script, which ignores the instructions.
             */
            connection_id: string | null;
            /** @description Tried in order. */
            fallbacks: components["schemas"]["ProviderFallback"][];
            /**
             * @description Send a second request, to the next or the same model, if the first is slower than usual to respond. The response that starts first is
             *     spoken; both are charged.
             */
            hedge: boolean;
            /** @description Maximum tokens per response. */
            max_tokens: number | null;
            model: string | null;
            /**
             * Format: float
             * @description Sampling temperature.
             */
            temperature: number | null;
        };
        /** @description A language model. */
        LlmChoiceInput: {
            /**
             * Format: uuid
             * @description `null` for a demo script, which ignores the instructions.
             */
            connection_id?: string | null;
            /** @description Tried in order. */
            fallbacks?: components["schemas"]["ProviderFallbackInput"][] | null;
            /**
             * @description Send a second request, to the next or the same model, if the first is slower than usual to respond. The response that starts first is
             *     spoken; both are charged.
             */
            hedge?: boolean | null;
            /** @description Maximum tokens per response. */
            max_tokens?: number | null;
            model?: string | null;
            /**
             * Format: float
             * @description Sampling temperature.
             */
            temperature?: number | null;
        };
        /**
         * @description Whether to detect answering machines.
         * @enum {string}
         */
        MachineDetection: "off" | "detect" | (string & {});
        /** @description Adds the tools of an MCP server, over streamable HTTP. The server describes them. */
        McpTool: {
            /**
             * Format: uuid
             * @description An `http` connection whose credentials are sent as headers.
             */
            connection_id: string | null;
            /** @description Spoken while the tool runs, unless the model already spoke. */
            filler: string | null;
            /** @description As for `http`. */
            headers: {
                [key: string]: string;
            };
            /** @description Prefix for names already taken; defaults to the server's host. */
            name: string | null;
            /** @description Default 8. */
            timeout_seconds: number | null;
            /** @description Tools to use; all if empty. */
            tools: string[];
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            type: "mcp" | (string & {});
            /** @description `{{variable}}` is replaced, percent-encoded. */
            url: string;
        };
        /** @description Adds the tools of an MCP server, over streamable HTTP. The server describes them. */
        McpToolInput: {
            /**
             * Format: uuid
             * @description An `http` connection whose credentials are sent as headers.
             */
            connection_id?: string | null;
            /**
             * @description Spoken while the tool runs, unless the model already spoke.
             * @example Let me look that up.
             */
            filler?: string | null;
            /** @description As for `http`. */
            headers?: {
                [key: string]: string | null;
            } | null;
            /**
             * @description Prefix for names already taken; defaults to the server's host.
             * @example crm
             */
            name?: string | null;
            /** @description Default 8. */
            timeout_seconds?: number | null;
            /** @description Tools to use; all if empty. */
            tools?: string[] | null;
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            type: "mcp" | (string & {});
            /**
             * @description `{{variable}}` is replaced, percent-encoded.
             * @example https://mcp.example.com
             */
            url: string;
        };
        /** @description Your own data, returned in the call and its events. */
        Metadata: {
            [key: string]: unknown;
        };
        /** @description Minutes and cost of ended calls. */
        MinutesAndCost: {
            /**
             * Format: double
             * @description Cost by the price table; `null` if nothing used has a price.
             * @example 0.42
             */
            cost_usd: number | null;
            /**
             * Format: double
             * @description Minutes from answer to end.
             * @example 34.5
             */
            minutes: number;
            /** @description Whether some usage has no price, so the cost is incomplete. */
            unpriced: boolean;
        };
        /** @description Calls per month. */
        MonthlyCalls: {
            /**
             * Format: int32
             * @description `null` for no cap.
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
            /** Format: double */
            limit: number;
            name: components["schemas"]["LimitName"];
            /**
             * Format: double
             * @description Usage.
             */
            used: number;
        };
        /** @description A new key. */
        NewApiKey: {
            /** Format: date-time */
            created_at: string;
            /**
             * Format: date-time
             * @description `null` if it never expires.
             */
            expires_at: string | null;
            /** Format: uuid */
            id: string;
            /**
             * @description The full key. Shown only once.
             * @example vk_dev_k3v9x0a1b2c3_0000000000000000000000000000000example
             */
            key: string;
            /** @description Label. */
            name: string | null;
            /**
             * @description Public part.
             * @example k3v9x0a1b2c3
             */
            prefix: string;
        };
        NewApiKeyWithWarnings: components["schemas"]["NewApiKey"] & components["schemas"]["RequestWarnings"];
        /**
         * @description Action when a machine answers.
         * @enum {string}
         */
        OnMachine: "hangup" | "leave_message" | (string & {});
        /**
         * @description A person.
         * @example {
         *       "created_at": "2026-01-31T12:00:10.138762Z",
         *       "email": "ana@example.com",
         *       "expires_at": "2026-02-07T12:00:10.138762Z",
         *       "id": "0198c6a0-0000-7000-8000-000000000007",
         *       "last_seen_at": null,
         *       "name": null,
         *       "role": "viewer",
         *       "status": "invited"
         *     }
         */
        Person: {
            /**
             * Format: date-time
             * @description When the person was invited, or created the tenant by signing in.
             */
            created_at: string;
            /** @description Invited address, or the one the identity provider verified; `null` if there is none. */
            email: string | null;
            /**
             * Format: date-time
             * @description When the invitation expires; `null` if none is open.
             */
            expires_at: string | null;
            /** Format: uuid */
            id: string;
            /**
             * Format: date-time
             * @description Last use of the dashboard, to the minute.
             */
            last_seen_at: string | null;
            /** @description Name at the identity provider; `null` while only invited. */
            name: string | null;
            /** @description What the person may do. */
            role: components["schemas"]["PersonRole"];
            /** @description `invited` until the invitation is accepted. */
            status: components["schemas"]["PersonStatus"];
        };
        PersonList: {
            data: components["schemas"]["Person"][];
            has_more: boolean;
            /** Format: uuid */
            next_cursor: string | null;
        };
        /**
         * @description `viewer` reads; `member` also changes everything except people, API keys and tenant settings; `owner` does everything.
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
         *       "created_at": "2026-01-31T12:00:00.084746Z",
         *       "id": "0198c6a0-0000-7000-8000-000000000005",
         *       "inbound_agent_id": "0198c6a0-0000-7000-8000-000000000000",
         *       "inbound_url": null,
         *       "label": "Reception",
         *       "number": "+12025550199",
         *       "updated_at": "2026-01-31T12:00:00.084746Z"
         *     }
         */
        PhoneNumber: {
            /**
             * Format: uuid
             * @description Carrier connection.
             */
            connection_id: string;
            /** Format: date-time */
            created_at: string;
            /** Format: uuid */
            id: string;
            /**
             * Format: uuid
             * @description Agent that answers; `null` rejects inbound calls.
             */
            inbound_agent_id: string | null;
            /**
             * Format: uri
             * @description URL to configure at the carrier; `null` if none is needed. It accepts only requests with the carrier's signature.
             */
            inbound_url: string | null;
            /** @description Display name. */
            label: string | null;
            /** @description E.164. */
            number: string;
            /** Format: date-time */
            updated_at: string;
        };
        PhoneNumberList: {
            data: components["schemas"]["PhoneNumber"][];
            has_more: boolean;
            /** Format: uuid */
            next_cursor: string | null;
        };
        PhoneNumberWithWarnings: components["schemas"]["PhoneNumber"] & components["schemas"]["RequestWarnings"];
        /** @description Redaction and retention. */
        Privacy: {
            /** @description What to redact from everything stored about a conversation, and from its events. The agent hears the original; recordings keep it. */
            redact: components["schemas"]["RedactedKind"][];
            /** @description Days after the call until its words are deleted; `null` keeps them. */
            retention_days: number | null;
        };
        /** @description Redaction and retention. */
        PrivacyInput: {
            /** @description What to redact from everything stored about a conversation, and from its events. The agent hears the original; recordings keep it. Default: `[]`. */
            redact?: components["schemas"]["RedactedKind"][] | null;
            /** @description Days after the call until its words are deleted; `null` keeps them. */
            retention_days?: number | null;
        };
        /** @description Error code; see `docs/api.md`. None changes its meaning. */
        ProblemCode: "agent_in_use" | "already_member" | "bad_signature" | "body_timeout" | "body_too_large" | "busy" | "call_elsewhere" | "call_ended" | "call_not_in_progress" | "calls_stalled" | "carrier_rate_limit" | "connection_in_use" | "database_unavailable" | "deliveries_stalled" | "draining" | "email_taken" | "foreign_origin" | "idempotency_key_reused" | "identity_provider_unavailable" | "internal_error" | "invalid_request" | "invitation_ended" | "invitation_for_another" | "invitation_rate_limit" | "last_owner" | "listener_rate_limit" | "method_not_allowed" | "name_taken" | "no_calls_here" | "no_voices" | "no_websocket" | "not_found" | "number_taken" | "provider_refused" | "provider_unavailable" | "quota_exceeded" | "range_not_satisfiable" | "rate_limited" | "request_in_progress" | "role_forbids" | "sign_in_declined" | "sign_in_expired" | "sign_in_link_required" | "sign_in_local_only" | "sign_in_not_allowed" | "sign_in_off" | "sign_in_rate_limit" | "sign_in_refused" | "stream_open" | "tenant_deactivated" | "test_in_progress" | "timeout" | "token_used" | "too_many_listeners" | "too_many_streams" | "too_many_tenants" | "unauthorized" | "web_call_rate_limit" | "webhook_disabled" | (string & {});
        /** @description A fallback provider. */
        ProviderFallback: {
            /**
             * Format: uuid
             * @description The connection.
             */
            connection_id: string;
            model: string | null;
            /** @description Voice name, for text-to-speech. */
            voice: string | null;
        };
        /** @description A fallback provider. */
        ProviderFallbackInput: {
            /**
             * Format: uuid
             * @description The connection.
             */
            connection_id: string;
            model?: string | null;
            /** @description Voice name, for text-to-speech. */
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
             * @description Requests per window. The `RateLimit` header has the remaining number.
             */
            limit: number;
            /**
             * Format: int64
             * @description Window length.
             */
            window_seconds: number;
        };
        /** @description A speech-to-speech model. */
        RealtimeChanges: {
            /** Format: uuid */
            connection_id?: string;
            fallbacks?: components["schemas"]["ProviderFallbackInput"][] | null;
            model?: string | null;
            voice?: string | null;
        };
        /** @description A speech-to-speech model. */
        RealtimeChoice: {
            /**
             * Format: uuid
             * @description The connection.
             */
            connection_id: string;
            /** @description Tried in order if the previous one is unreachable, keeps disconnecting or understands nothing. */
            fallbacks: components["schemas"]["ProviderFallback"][];
            model: string | null;
            voice: string | null;
        };
        /** @description A speech-to-speech model. */
        RealtimeChoiceInput: {
            /**
             * Format: uuid
             * @description The connection.
             */
            connection_id: string;
            /** @description Tried in order if the previous one is unreachable, keeps disconnecting or understands nothing. */
            fallbacks?: components["schemas"]["ProviderFallbackInput"][] | null;
            model?: string | null;
            voice?: string | null;
        };
        /** @description Call recording. */
        Recording: {
            /** @description Keep a stereo WAV: caller left, agent right. */
            enabled: boolean;
        };
        /** @description Call recording. */
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
            /** @description Warnings, one sentence each; absent if there are none. */
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
             * @description End-of-turn decision.
             */
            end_of_turn_ms: number;
            /**
             * Format: int64
             * @description First audio generated.
             */
            first_audio_ms: number | null;
            /**
             * Format: int64
             * @description First text from the model; `null` for speech-to-speech. Can precede `end_of_turn_ms` if the model was asked early.
             */
            first_token_ms: number | null;
            /**
             * Format: int64
             * @description First audio heard.
             */
            heard_ms: number;
        };
        /** @description Response times in milliseconds, within 5 %. */
        ResponseTimes: {
            /**
             * Format: int64
             * @description Number measured.
             * @example 88
             */
            n: number;
            /**
             * Format: int64
             * @description Median.
             * @example 461
             */
            p50: number | null;
            /**
             * Format: int64
             * @description 95th percentile.
             * @example 812
             */
            p95: number | null;
        };
        /**
         * @description Text for the agent to say.
         * @example {
         *       "text": "A colleague will join us in a minute."
         *     }
         */
        Say: {
            /** @description Drop the agent's current response and speak at once, instead of after it. The agent never talks over the caller. */
            interrupt?: boolean | null;
            /** @description Text to say; at least one word. */
            text: string;
        };
        /**
         * @description DTMF digits to send.
         * @example {
         *       "digits": "1w2#"
         *     }
         */
        SendDtmf: {
            /** @description Keys to send; `w` pauses for half a second. */
            digits: string;
        };
        /** @description Sends DTMF. */
        SendDtmfTool: {
            /** @description When the model should use it. */
            description: string | null;
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            type: "send_dtmf" | (string & {});
        };
        /** @description Sends DTMF. */
        SendDtmfToolInput: {
            /** @description When the model should use it. */
            description?: string | null;
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            type: "send_dtmf" | (string & {});
        };
        /** @description Caller silence. */
        Silence: {
            /** @description Silence after which the agent hangs up; `null` for never. */
            hangup_after_seconds: number | null;
            /** @description Maximum number of reprompts. */
            max_reprompts: number;
            /** @description Silence after which the agent reprompts. */
            reprompt_after_seconds: number;
        };
        /** @description Caller silence. */
        SilenceInput: {
            /** @description Silence after which the agent hangs up; `null` for never. Default: `30`. */
            hangup_after_seconds?: number | null;
            /** @description Maximum number of reprompts. Default: `2`. */
            max_reprompts?: number | null;
            /** @description Silence after which the agent reprompts. Default: `8`. */
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
            /** @description Caller's number. Selects the simulated behaviour, as `to` does for outbound calls. */
            from: string;
            /** @description Number of a simulator connection, with an `inbound_agent_id`. */
            to: string;
        };
        /** @description Calls that ended in a time span. */
        Statistics: {
            /**
             * Format: date-time
             * @description Start of the first bucket.
             */
            after: string;
            /**
             * Format: date-time
             * @description End of the last bucket.
             */
            before: string;
            /** @description All intervals, oldest first. */
            buckets: components["schemas"]["StatisticsBucket"][];
            interval: components["schemas"]["StatisticsInterval"];
            totals: components["schemas"]["StatisticsFigures"];
        };
        /** @description Calls that ended in an interval. */
        StatisticsBucket: components["schemas"]["StatisticsFigures"] & {
            /**
             * Format: date-time
             * @description Start of the interval.
             */
            start: string;
        };
        /** @description Figures of ended calls. */
        StatisticsFigures: components["schemas"]["MinutesAndCost"] & {
            /**
             * Format: int64
             * @description Calls that ended.
             * @example 12
             */
            calls: number;
            /**
             * Format: int64
             * @description Calls that ended normally.
             * @example 10
             */
            completed: number;
            /**
             * Format: int64
             * @description Calls that failed.
             * @example 2
             */
            failed: number;
            response_ms: components["schemas"]["ResponseTimes"];
        };
        /**
         * @description Bucket length.
         * @enum {string}
         */
        StatisticsInterval: "hour" | "day" | (string & {});
        /** @description Stored resources. The operator sets the limits; requests beyond one get 422. */
        Stored: {
            /** @description Bytes of the versions of agents, including versions of deleted agents that calls keep. */
            agent_bytes: components["schemas"]["StoredAmount"];
            agents: components["schemas"]["StoredAmount"];
            /** @description API keys that are not revoked. */
            api_keys: components["schemas"]["StoredAmount"];
            connections: components["schemas"]["StoredAmount"];
            /** @description Phone numbers. */
            numbers: components["schemas"]["StoredAmount"];
            /** @description People, including invited ones. */
            people: components["schemas"]["StoredAmount"];
            /** @description Webhook endpoints. */
            webhooks: components["schemas"]["StoredAmount"];
        };
        /** @description A stored amount. */
        StoredAmount: {
            /**
             * Format: int64
             * @description Current amount; can exceed a limit set later.
             */
            in_use: number;
            /** Format: int64 */
            limit: number;
        };
        /** @description A speech-to-text provider. */
        SttChoice: {
            /**
             * Format: uuid
             * @description `null` for local speech-to-text.
             */
            connection_id: string | null;
            /** @description Tried in order. */
            fallbacks: components["schemas"]["ProviderFallback"][];
            /** @description Words to expect. */
            keyterms: string[];
            model: string | null;
        };
        /** @description A speech-to-text provider. */
        SttChoiceInput: {
            /**
             * Format: uuid
             * @description `null` for local speech-to-text.
             */
            connection_id?: string | null;
            /** @description Tried in order. */
            fallbacks?: components["schemas"]["ProviderFallbackInput"][] | null;
            /** @description Words to expect. */
            keyterms?: string[] | null;
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
         *       "id": "0198c6a0-0000-7000-8000-000000000008",
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
         *           "in_use": 2208,
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
            /** Format: date-time */
            created_at: string;
            dial_policy: components["schemas"]["DialPolicy"];
            /** Format: uuid */
            id: string;
            /** @description Calls placed in this calendar month (UTC). */
            monthly_calls: components["schemas"]["MonthlyCalls"];
            /** @description Its name. */
            name: string;
            /** @description Requests per window. */
            rate_limit: components["schemas"]["RateLimit"];
            stored: components["schemas"]["Stored"];
        };
        /** @description A tool for the model. */
        Tool: components["schemas"]["EndCallTool"] | components["schemas"]["HttpTool"] | components["schemas"]["McpTool"] | components["schemas"]["SendDtmfTool"] | components["schemas"]["TransferTool"];
        /** @description A tool that the agent used. */
        ToolCall: {
            /** @description What the model passed. */
            arguments: unknown;
            /**
             * Format: int64
             * @description Duration.
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
            /** @description What the model was told; `null` if nothing. */
            result: unknown;
            /**
             * Format: int64
             * @description Milliseconds since the start of the conversation.
             */
            start_ms: number;
            status: components["schemas"]["ToolCallStatus"];
        };
        /**
         * @description Whether a tool worked.
         * @enum {string}
         */
        ToolCallStatus: "succeeded" | "failed" | (string & {});
        /** @description A tool for the model. */
        ToolInput: components["schemas"]["EndCallToolInput"] | components["schemas"]["HttpToolInput"] | components["schemas"]["McpToolInput"] | components["schemas"]["SendDtmfToolInput"] | components["schemas"]["TransferToolInput"];
        /** @description Percentage of new calls per version, 100 in total. Defaults to the newest version. */
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
         *           "start_ms": 26,
         *           "text": "Hello, how can I help you?",
         *           "turn": null
         *         },
         *         {
         *           "end_ms": 4876,
         *           "interrupted": false,
         *           "latency_ms": null,
         *           "role": "caller",
         *           "stages": null,
         *           "start_ms": 2813,
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
         *             "waited_ms": 401
         *           }
         *         },
         *         {
         *           "end_ms": 9361,
         *           "interrupted": false,
         *           "latency_ms": 446,
         *           "role": "agent",
         *           "stages": {
         *             "end_of_speech_ms": 4876,
         *             "end_of_turn_ms": 5277,
         *             "first_audio_ms": 5279,
         *             "first_token_ms": 4998,
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
            /** @description Lines, in the order they were completed. */
            data: components["schemas"]["TranscriptLine"][];
            /** @description Tool calls, in the order they ended. */
            tool_calls: components["schemas"]["ToolCall"][];
        };
        /** @description The end of a call. */
        TranscriptEnd: {
            /** @description The call's status. */
            status: components["schemas"]["CallStatus"];
        };
        /** @description The `data` of what the stream sends, by its event: `line`, `tool_call`, `end`. */
        TranscriptItem: components["schemas"]["TranscriptLine"] | components["schemas"]["ToolCall"] | components["schemas"]["TranscriptEnd"];
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
             * @description Response latency; only on the first line of a response.
             */
            latency_ms: number | null;
            role: components["schemas"]["TranscriptRole"];
            stages: components["schemas"]["ResponseStages"] | null;
            /**
             * Format: int64
             * @description Milliseconds since the start of the conversation.
             */
            start_ms: number;
            /** @description Words; the agent's as far as they were heard. */
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
            /** @description Evidence for (positive weight) or against the end; empty unless silence ended it. */
            because: components["schemas"]["TranscriptTurnWitness"][];
            ended_by: components["schemas"]["TurnEndedBy"];
            /** @description Model requests before the turn was over. */
            speculations: number;
            /**
             * Format: int64
             * @description Caller silence; `null` if they spoke.
             */
            waited_ms: number | null;
        };
        /** @description Evidence about the end of a turn. */
        TranscriptTurnWitness: {
            /**
             * Format: float
             * @description Amount: 1, or a share.
             */
            value: number;
            /**
             * Format: float
             * @description Log odds of an end per unit of `value`.
             * @example -2.6
             */
            weight: number;
            witness: components["schemas"]["EvidenceName"];
        };
        /**
         * @description The transfer target.
         * @example {
         *       "to": "+12025550142"
         *     }
         */
        TransferCall: {
            /** @description E.164 number or `sip:` URI. */
            to: string;
        };
        /** @description A transfer target. */
        TransferDestination: {
            /** @description Name for the model. */
            name: string;
            /** @description E.164 number or `sip:` URI. */
            number: string;
        };
        /** @description A transfer target. */
        TransferDestinationInput: {
            /**
             * @description Name for the model.
             * @example reception
             */
            name: string;
            /**
             * @description E.164 number or `sip:` URI.
             * @example +12025550142
             */
            number: string;
        };
        /** @description Transfers the caller once they have heard the agent's words. */
        TransferTool: {
            /** @description When the model should use it. */
            description: string | null;
            /** @description The targets. */
            destinations: components["schemas"]["TransferDestination"][];
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            type: "transfer" | (string & {});
        };
        /** @description Transfers the caller once they have heard the agent's words. */
        TransferToolInput: {
            /** @description When the model should use it. */
            description?: string | null;
            /** @description The targets. */
            destinations: components["schemas"]["TransferDestinationInput"][];
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            type: "transfer" | (string & {});
        };
        /** @description A text-to-speech provider. */
        TtsChoice: {
            /**
             * Format: uuid
             * @description `null` for local text-to-speech.
             */
            connection_id: string | null;
            /** @description Tried in order. */
            fallbacks: components["schemas"]["ProviderFallback"][];
            model: string | null;
            /**
             * Format: float
             * @description Speaking rate; 1 is normal.
             */
            speed: number | null;
            voice: string | null;
        };
        /** @description A text-to-speech provider. */
        TtsChoiceInput: {
            /**
             * Format: uuid
             * @description `null` for local text-to-speech.
             */
            connection_id?: string | null;
            /** @description Tried in order. */
            fallbacks?: components["schemas"]["ProviderFallbackInput"][] | null;
            model?: string | null;
            /**
             * Format: float
             * @description Speaking rate; 1 is normal.
             */
            speed?: number | null;
            voice?: string | null;
        };
        /**
         * @description What ended a caller's turn.
         * @enum {string}
         */
        TurnEndedBy: "silence" | "stt" | "keys" | (string & {});
        /** @description End-of-turn detection. */
        TurnTaking: {
            /** @description How soon the agent responds: `low` waits half as long again, `high` a third less. */
            eagerness: components["schemas"]["Eagerness"];
            /** @description Silence that always ends a turn. */
            max_silence_ms: number;
            /** @description Silence that ends a turn after a complete sentence. */
            min_silence_ms: number;
            /** @description Ask the model when the turn has probably ended; discard the response if the caller continues. */
            speculative: boolean;
        };
        /** @description End-of-turn detection. */
        TurnTakingInput: {
            /** @description How soon the agent responds: `low` waits half as long again, `high` a third less. Default: `"normal"`. */
            eagerness?: components["schemas"]["Eagerness"] | null;
            /** @description Silence that always ends a turn. Default: `2000`. */
            max_silence_ms?: number | null;
            /** @description Silence that ends a turn after a complete sentence. Default: `400`. */
            min_silence_ms?: number | null;
            /** @description Ask the model when the turn has probably ended; discard the response if the caller continues. Default: `true`. */
            speculative?: boolean | null;
        };
        /**
         * @description The call that a dry run would place, without an id.
         * @example {
         *       "agent_id": "0198c6a0-0000-7000-8000-000000000000",
         *       "agent_version": 2,
         *       "analysis": null,
         *       "answered_at": null,
         *       "answered_by": null,
         *       "carrier": {
         *         "call_id": null,
         *         "cause": null,
         *         "connection_id": "0198c6a0-0000-7000-8000-000000000004",
         *         "provider": "simulator",
         *         "sip_code": null
         *       },
         *       "created_at": "2026-01-31T12:00:00.106150Z",
         *       "dialing_at": null,
         *       "direction": "outbound",
         *       "duration_seconds": 0,
         *       "end_reason": null,
         *       "ended_at": null,
         *       "ended_by": null,
         *       "error": null,
         *       "error_code": null,
         *       "from": "+12025550199",
         *       "latency": null,
         *       "metadata": {
         *         "order": "A-17"
         *       },
         *       "number_id": "0198c6a0-0000-7000-8000-000000000005",
         *       "outcome": null,
         *       "recording_url": null,
         *       "ringing_at": null,
         *       "schedule_at": null,
         *       "status": "queued",
         *       "summary": null,
         *       "to": "+12025550100",
         *       "turns": 0,
         *       "usage": null,
         *       "variables": {
         *         "name": "Ana"
         *       }
         *     }
         */
        UnplacedCall: {
            /**
             * Format: uuid
             * @description The agent.
             */
            agent_id: string;
            /**
             * Format: int64
             * @description Agent version when the call was placed.
             */
            agent_version: number;
            analysis: components["schemas"]["CallAnalysis"] | null;
            /**
             * Format: date-time
             * @description When it was answered.
             */
            answered_at: string | null;
            answered_by: components["schemas"]["AnsweredBy"] | null;
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
            direction: components["schemas"]["CallDirection"];
            /**
             * Format: int64
             * @description Seconds from answer to end.
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
            /** @description The caller. */
            from: string;
            latency: components["schemas"]["CallLatency"] | null;
            metadata: components["schemas"]["Metadata"];
            /**
             * Format: uuid
             * @description The tenant's number, if any.
             */
            number_id: string | null;
            /** @description Result of the analysis: any JSON value, in the shape of the agent's `analysis.schema`, or `null`. */
            outcome: unknown;
            /** @description URL of the recording; needs an API key. */
            recording_url: string | null;
            /**
             * Format: date-time
             * @description When it started to ring.
             */
            ringing_at: string | null;
            /**
             * Format: date-time
             * @description When to dial, as requested; queued until then.
             */
            schedule_at: string | null;
            status: components["schemas"]["CallStatus"];
            /** @description Summary of the conversation. */
            summary: string | null;
            /** @description The callee. */
            to: string;
            /**
             * Format: int64
             * @description Caller turns that the agent answered.
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
         * @description Changes to merge, object by object; `null` restores a default. `CreateAgent` describes the fields.
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
         * @description Changes to merge; `null` removes a value.
         * @example {
         *       "limits": {
         *         "max_concurrent": 10
         *       }
         *     }
         */
        UpdateConnection: {
            credentials?: components["schemas"]["CredentialChanges"] | null;
            limits?: components["schemas"]["ConnectionLimitsInput"] | null;
            /** @description Unique per tenant. */
            name?: string;
            /** @description Settings to set, or `null` to remove one. */
            settings?: {
                [key: string]: unknown;
            } | null;
        };
        /**
         * @description Changes to merge; `null` clears a field.
         * @example {
         *       "inbound_agent_id": "0198c6a0-0000-7000-8000-000000000000",
         *       "label": "Front desk"
         *     }
         */
        UpdateNumber: {
            /** @description Configure the carrier to send calls here; a failure is reported in `warnings`. */
            configure_carrier?: boolean | null;
            /**
             * Format: uuid
             * @description Carrier connection.
             */
            connection_id?: string;
            /**
             * Format: uuid
             * @description Agent that answers; `null` rejects inbound calls.
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
         * @description Changes to merge; `null` restores a default.
         * @example {
         *       "events": [
         *         "call.completed"
         *       ]
         *     }
         */
        UpdateWebhook: {
            /** @description Whether events are sent. Disabling cancels pending deliveries. */
            enabled?: boolean | null;
            /** @description Events to send; all if empty. */
            events?: components["schemas"]["EventKind"][] | null;
            /**
             * Format: uri
             * @description Public HTTPS URL; `http://` only if the operator allows it.
             */
            url?: string;
        };
        /** @description Calls, minutes and cost of a time span. */
        Usage: {
            /**
             * Format: date-time
             * @description Start of the first day.
             */
            after: string;
            /** @description By agent, most minutes first, at most 100. */
            agents: components["schemas"]["UsedByAgent"][];
            /**
             * Format: date-time
             * @description End of the last day.
             */
            before: string;
            /** @description By carrier connection, most minutes first, at most 100. */
            connections: components["schemas"]["UsedByConnection"][];
            /** @description All days, oldest first. */
            days: components["schemas"]["UsedByDay"][];
            totals: components["schemas"]["UsageFigures"];
        };
        /** @description Calls, minutes and cost. */
        UsageFigures: components["schemas"]["MinutesAndCost"] & {
            /**
             * Format: int64
             * @description Calls that ended.
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
            /** @description `null` if deleted. */
            name: string | null;
            response_ms: components["schemas"]["ResponseTimes"];
        };
        /** @description A connection. */
        UsedByConnection: components["schemas"]["UsageFigures"] & {
            /**
             * Format: uuid
             * @description `null` for browser calls.
             */
            connection_id: string | null;
            /** @description `null` if deleted and for browser calls. */
            name: string | null;
            provider: components["schemas"]["CarrierName"] | null;
        };
        /** @description A day. */
        UsedByDay: components["schemas"]["UsageFigures"] & {
            /**
             * Format: date-time
             * @description Start of the day (UTC).
             */
            start: string;
        };
        /**
         * @description A variable's value. Send long ids as strings.
         * @example Ana
         */
        VariableValue: string | number | boolean;
        /** @description Values for `{{name}}` in the agent's texts. Send long ids as strings: many languages round numbers of more than 15 digits. */
        Variables: {
            [key: string]: components["schemas"]["VariableValue"] | null;
        };
        /** @description A voice. */
        Voice: {
            /** @description Whether it is the default voice. */
            default: boolean;
            /** @description The provider's description. */
            description: string | null;
            /**
             * @description Languages as BCP 47 tags; empty if it speaks all languages of its model.
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
            /** @description Whether the list is complete. */
            complete: boolean;
            /** @description The voices. */
            data: components["schemas"]["Voice"][];
        };
        /** @description Where a web call's browser connects. */
        WebPart: {
            /**
             * Format: date-time
             * @description Connect before this time, or the call fails as `no_answer`.
             */
            expires_at: string;
            /**
             * @description WebSocket URL for one call. Anyone who has it can talk.
             * @example wss://voice.example.com/media/web/0198c6a0
             */
            url: string;
        };
        /**
         * @description A webhook endpoint.
         * @example {
         *       "created_at": "2026-01-31T12:00:00.096562Z",
         *       "disabled_reason": null,
         *       "enabled": true,
         *       "events": [
         *         "call.completed",
         *         "call.failed"
         *       ],
         *       "failing_since": null,
         *       "id": "0198c6a0-0000-7000-8000-000000000009",
         *       "updated_at": "2026-01-31T12:00:00.096562Z",
         *       "url": "https://example.com/hooks/calls"
         *     }
         */
        Webhook: {
            /**
             * Format: date-time
             * @description When it was registered.
             */
            created_at: string;
            /** @description Why the service disabled it, after 5 days of failures only; otherwise `null`. */
            disabled_reason: string | null;
            /** @description Whether events are sent. */
            enabled: boolean;
            /** @description Events to send; all if empty. */
            events: components["schemas"]["EventKind"][];
            /**
             * Format: date-time
             * @description First failure since the last success; `null` while attempts succeed.
             */
            failing_since: string | null;
            /** Format: uuid */
            id: string;
            /** Format: date-time */
            updated_at: string;
            /**
             * Format: uri
             * @description URL that receives the events.
             */
            url: string;
        };
        /**
         * @description Delivery of an event to an endpoint.
         * @example {
         *       "attempts": 1,
         *       "call_id": "0198c6a0-0000-7000-8000-000000000003",
         *       "created_at": "2026-01-31T12:00:09.776842Z",
         *       "event": "call.completed",
         *       "id": "0198c6a0-0000-7000-8000-000000000010",
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
            /** Format: date-time */
            created_at: string;
            event: components["schemas"]["WebhookDeliveryEvent"];
            /**
             * Format: uuid
             * @description Also in the request body and the `X-Voice-Delivery` header.
             */
            id: string;
            /**
             * Format: date-time
             * @description When the next attempt is due.
             */
            next_attempt_at: string | null;
            state: components["schemas"]["WebhookDeliveryState"];
        };
        /** @description A delivery attempt. */
        WebhookDeliveryAttempt: {
            /**
             * Format: int64
             * @description `null` while it runs, or if the service stopped first.
             */
            duration_ms: number | null;
            /** @description `null` if it succeeded. */
            error: string | null;
            /**
             * Format: int64
             * @description Number, from 1.
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
             * @description HTTP status; `null` without a response.
             */
            status: number | null;
        };
        /**
         * @description Event of a delivery.
         * @enum {string}
         */
        WebhookDeliveryEvent: "call.queued" | "call.dialing" | "call.in_progress" | "call.completed" | "call.failed" | "call.received" | "carrier.hangup" | "webhook.test" | (string & {});
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
            /** @description Attempts, oldest first. */
            attempt_log: components["schemas"]["WebhookDeliveryAttempt"][];
        };
        /**
         * @description Body of a delivery.
         * @example {
         *       "created": 1769860809,
         *       "data": {
         *         "agent_id": "0198c6a0-0000-7000-8000-000000000000",
         *         "call_id": "0198c6a0-0000-7000-8000-000000000003",
         *         "direction": "outbound",
         *         "duration_seconds": 10,
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
         *       "id": "0198c6a0-0000-7000-8000-000000000010"
         *     }
         */
        WebhookEvent: components["schemas"]["CallCompletedEvent"] | components["schemas"]["CallDialingEvent"] | components["schemas"]["CallFailedEvent"] | components["schemas"]["CallInProgressEvent"] | components["schemas"]["CallQueuedEvent"] | components["schemas"]["CallReceivedEvent"] | components["schemas"]["CarrierHangupEvent"] | components["schemas"]["WebhookTestEvent"];
        WebhookEventHead: {
            /**
             * Format: int64
             * @description When it happened, in Unix seconds.
             */
            created: number;
            /**
             * Format: uuid
             * @description Delivery id, the same in every attempt.
             */
            id: string;
        };
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
        /** @description A webhook endpoint with its signing secret. */
        WebhookWithSecret: components["schemas"]["Webhook"] & {
            /**
             * @description Signing secret. Shown only once.
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
                 * @description Calls with this metadata, `metadata[key]=value`; up to 10 keys.
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
                 * @description For streams: last `id` seen
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
                 * @description Last `id` seen
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
                /** @description The `ETag`; if the recording differs, the whole file is returned */
                "If-Range"?: string;
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
                 * @description For streams: last `id` seen
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
                 * @description Last `id` seen
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
                /** @description For streams: last `id` seen */
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
                /** @description Last `id` seen */
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
                /** @description Bucket length. */
                interval?: components["schemas"]["StatisticsInterval"];
                /** @description Ended at or after this time, rounded down to the interval (UTC). Default: 24 hours before `before`; with `day`, 30 days. */
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
                /** @description Ended at or after this time, rounded down to a day (UTC). Default: 30 days before `before`. */
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
                "X-Voice-Event": components["schemas"]["WebhookDeliveryEvent"];
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
            /** @description Received. Anything else, or no answer within 15 s, is retried. */
            "2XX": {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
}
