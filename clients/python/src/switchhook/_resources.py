"""The methods of the client.

Written by generate.py from docs/openapi.json: do not edit.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from datetime import datetime

from typing_extensions import Unpack

from . import events as streams
from . import models, params
from ._pages import Pages
from ._request import Request, given, keyed, path
from ._transport import Resource


class Agents(Resource):
    def list(self, *, limit: int | None = None, cursor: str | None = None) -> Pages[models.Agent]:
        """List agents.

        The newest come first.
        """
        return self._pages(Request("GET", "/v1/agents", query={"limit": limit, "cursor": cursor}), models.Agent)

    def create(self, **body: Unpack[params.CreateAgent]) -> models.Agent:
        """Create an agent.

        Absent fields take their defaults.
        """
        return self._model(Request("POST", "/v1/agents", body=body), models.Agent)

    def get(self, id: str, /) -> models.Agent:
        """Get an agent.

        Returns the current version with all defaults.
        """
        return self._model(Request("GET", path("/v1/agents/{}", id)), models.Agent)

    def update(self, id: str, /, **body: Unpack[params.UpdateAgent]) -> models.Agent:
        """Update an agent.

        Creates a version, unless nothing or only `traffic` changes. Existing calls keep theirs.
        """
        return self._model(Request("PATCH", path("/v1/agents/{}", id), body=body), models.Agent)

    def delete(self, id: str, /) -> None:
        """Delete an agent.

        The agent must answer no number; existing calls keep their version.
        """
        self._send(Request("DELETE", path("/v1/agents/{}", id)))

    def list_versions(self, id: str, /, *, limit: int | None = None, cursor: str | None = None) -> Pages[models.AgentVersion]:
        """List an agent's versions.

        Lists the latest 100 and those in `traffic` or calls, newest first.
        """
        return self._pages(
            Request("GET", path("/v1/agents/{}/versions", id), query={"limit": limit, "cursor": cursor}), models.AgentVersion
        )

    def get_version(self, id: str, version: int, /) -> models.Agent:
        """Get an agent's version.

        Returns the agent as of this version, with its current `traffic`.
        """
        return self._model(Request("GET", path("/v1/agents/{}/versions/{}", id, version)), models.Agent)

    def restore_version(self, id: str, version: int, /) -> models.Agent:
        """Restore an agent's version.

        Its name and configuration become a new version; `traffic` and existing calls keep their versions.
        """
        return self._model(Request("POST", path("/v1/agents/{}/versions/{}/restore", id, version)), models.Agent)


class ApiKeys(Resource):
    def list(self, *, limit: int | None = None, cursor: str | None = None) -> Pages[models.ApiKey]:
        """List API keys.

        The newest come first, including revoked and expired ones.
        """
        return self._pages(Request("GET", "/v1/api-keys", query={"limit": limit, "cursor": cursor}), models.ApiKey)

    def create(self, **body: Unpack[params.CreateApiKey]) -> models.NewApiKey:
        """Create an API key.

        Only this response contains the full key.
        """
        return self._model(Request("POST", "/v1/api-keys", body=body), models.NewApiKey)

    def get(self, id: str, /) -> models.ApiKey:
        """Get an API key.

        The secret is not included.
        """
        return self._model(Request("GET", path("/v1/api-keys/{}", id)), models.ApiKey)

    def revoke(self, id: str, /) -> None:
        """Revoke an API key.

        The next request with it gets 401; revoking it again has no effect.
        """
        self._send(Request("DELETE", path("/v1/api-keys/{}", id)))


class Calls(Resource):
    def list(
        self,
        *,
        status: params.CallStatus | Sequence[params.CallStatus] | None = None,
        direction: params.CallDirection | Sequence[params.CallDirection] | None = None,
        agent_id: str | Sequence[str] | None = None,
        number_id: str | Sequence[str] | None = None,
        to: params.CallAddress | Sequence[params.CallAddress] | None = None,
        from_: params.CallAddress | Sequence[params.CallAddress] | None = None,
        error_code: params.CallFailure | Sequence[params.CallFailure] | None = None,
        end_reason: params.CallEndReason | Sequence[params.CallEndReason] | None = None,
        created_after: datetime | str | None = None,
        created_before: datetime | str | None = None,
        metadata: Mapping[str, str] | None = None,
        limit: int | None = None,
        cursor: str | None = None,
    ) -> Pages[models.Call]:
        """List calls.

        The newest come first. Filters take up to 100 values, separated by commas or in repeated parameters.

        status: Status of the call.
        direction: Direction of the call.
        agent_id: The agent.
        number_id: The tenant's number.
        to: The callee.
        from_: The caller.
        error_code: Why a call failed.
        end_reason: Why a call ended.
        created_after: Created at or after this time.
        created_before: Created before this time.
        metadata: Calls with this metadata, `metadata[key]=value`; up to 10 keys.
        """
        return self._pages(
            Request(
                "GET",
                "/v1/calls",
                query={
                    "status": status,
                    "direction": direction,
                    "agent_id": agent_id,
                    "number_id": number_id,
                    "to": to,
                    "from": from_,
                    "error_code": error_code,
                    "end_reason": end_reason,
                    "created_after": created_after,
                    "created_before": created_before,
                    "metadata": metadata,
                    "limit": limit,
                    "cursor": cursor,
                },
            ),
            models.Call,
        )

    def create(self, *, idempotency_key: str | None = None, **body: Unpack[params.CreateCall]) -> models.Call:
        """Place a call.

        The call is queued; follow its status, events or webhooks. Repeating a request with its `Idempotency-Key` places no second call.
        """
        return self._model(Request("POST", "/v1/calls", headers=keyed(idempotency_key), body=body), models.Call)

    def check(self, **body: Unpack[params.CreateCall]) -> models.UnplacedCall:
        """Checks what the other method would do, and does nothing."""
        return self._model(Request("POST", "/v1/calls", body={**body, "dry_run": True}, repeatable=True), models.UnplacedCall)

    def get(self, id: str, /) -> models.Call:
        """Get a call.

        Returns its present status, or its result once it has ended.
        """
        return self._model(Request("GET", path("/v1/calls/{}", id)), models.Call)

    def hang_up(self, id: str, /) -> models.Call:
        """Hang up a call.

        A queued call ends at once, a live one when the carrier hangs up. No effect on an ended call.
        """
        return self._model(Request("POST", path("/v1/calls/{}/hangup", id), repeatable=True), models.Call)

    def say(self, id: str, /, **body: Unpack[params.Say]) -> models.Call:
        """Speak in a call.

        The agent says the text on a live call: the language model sees it, the transcript includes what was heard. No effect while the
        agent says goodbye.
        """
        return self._model(Request("POST", path("/v1/calls/{}/say", id), body=body), models.Call)

    def send_dtmf(self, id: str, /, **body: Unpack[params.SendDtmf]) -> models.Call:
        """Send DTMF.

        Presses keys on a live call, for example in a phone menu. The agent's speech pauses while the tones are sent.
        """
        return self._model(Request("POST", path("/v1/calls/{}/dtmf", id), body=body), models.Call)

    def transfer(self, id: str, /, **body: Unpack[params.TransferCall]) -> models.Call:
        """Transfer a call.

        Transfers the caller without an announcement (cold transfer). The agent stops speaking and the carrier transfers the call. Once
        the number answers, the call ends as `completed` with `end_reason` `transferred`. Otherwise the agent takes the caller back.
        """
        return self._model(Request("POST", path("/v1/calls/{}/transfer", id), body=body), models.Call)

    def listen(self, id: str, /) -> models.ListenAddress:
        """Listen to a call.

        Streams both sides of a live call. The WebSocket sends `{"type":"start","sample_rate":8000,"channels":2}` (or 16000, like the
        call), then 20 ms of 16-bit PCM at a time, caller left, agent right. It closes when the call ends, the key or session stops
        working, or the person becomes a viewer. Connect to the node that runs the call. Slow listeners miss audio.
        """
        return self._model(Request("POST", path("/v1/calls/{}/listen", id), repeatable=True), models.ListenAddress)

    def events(self, id: str, /) -> models.CallEvents:
        """List a call's events.

        `Accept: text/event-stream` streams, as `/stream` does.
        """
        return self._model(Request("GET", path("/v1/calls/{}/events", id)), models.CallEvents)

    def stream_events(self, id: str, /, *, last_event_id: str | None = None) -> Generator[models.CallEvent, None, None]:
        """Stream a call's events.

        Follows them across reconnects. Ends with the call.

        Ends with the call, or when the key stops working or the service stops; resume with `Last-Event-ID`. Limits as for `GET
        /v1/events/stream`.
        """
        return self._stream(
            Request("GET", path("/v1/calls/{}/events/stream", id)), streams.call_event, ("call.completed", "call.failed"), last_event_id
        )

    def transcript(self, id: str, /) -> models.Transcript:
        """Get a transcript.

        Returns what was said, up to now for a live call. Agent lines contain only what the caller heard. `Accept: text/event-stream`
        streams, as `/stream` does.
        """
        return self._model(Request("GET", path("/v1/calls/{}/transcript", id)), models.Transcript)

    def stream_transcript(self, id: str, /, *, last_event_id: str | None = None) -> Generator[streams.TranscriptEvent, None, None]:
        """Stream a transcript.

        Follows them across reconnects. Ends with the call.

        Sends lines and tool calls as they are written, then `end` with the call's status. Also ends when the key or session stops working
        or the service stops; resume with `Last-Event-ID`. Limits as for `GET /v1/events/stream`.
        """
        return self._stream(Request("GET", path("/v1/calls/{}/transcript/stream", id)), streams.transcript_event, ("end",), last_event_id)

    def decisions(self, id: str, /) -> models.CallDecisions:
        """List turn-taking decisions.

        Lists those of an ended call; there are none for live calls and speech-to-speech models.
        """
        return self._model(Request("GET", path("/v1/calls/{}/decisions", id)), models.CallDecisions)

    def list_deliveries(self, id: str, /, *, limit: int | None = None, cursor: str | None = None) -> Pages[models.CallDelivery]:
        """List a call's deliveries.

        Lists webhook deliveries of its events, newest first, with their attempts.
        """
        return self._pages(
            Request("GET", path("/v1/calls/{}/deliveries", id), query={"limit": limit, "cursor": cursor}), models.CallDelivery
        )

    def recording(self, id: str, /, *, range: str | None = None) -> bytes:
        """Download a recording.

        The recording is a stereo WAV, 8 or 16 kHz like the call, caller left, agent right. Supports one byte range; several return the
        whole file.
        """
        return (self._send(Request("GET", path("/v1/calls/{}/recording", id), headers=given(Range=range, Accept="audio/wav")))).content


class Connections(Resource):
    def list(self, *, limit: int | None = None, cursor: str | None = None) -> Pages[models.Connection]:
        """List connections.

        The newest come first.
        """
        return self._pages(Request("GET", "/v1/connections", query={"limit": limit, "cursor": cursor}), models.Connection)

    def create(self, **body: Unpack[params.CreateConnection]) -> models.Connection:
        """Create a connection.

        Credentials are stored encrypted and never returned in full.
        """
        return self._model(Request("POST", "/v1/connections", body=body), models.Connection)

    def get(self, id: str, /) -> models.Connection:
        """Get a connection.

        Returns only the last characters of credentials.
        """
        return self._model(Request("GET", path("/v1/connections/{}", id)), models.Connection)

    def update(self, id: str, /, **body: Unpack[params.UpdateConnection]) -> models.Connection:
        """Update a connection.

        The provider cannot change. Changing `settings.space`, `settings.host` or the origin of `settings.base_url` requires all
        credentials in the same request. If nothing changes, `updated_at` stays the same.
        """
        return self._model(Request("PATCH", path("/v1/connections/{}", id), body=body), models.Connection)

    def delete(self, id: str, /) -> None:
        """Delete a connection.

        No agent or number may use it.
        """
        self._send(Request("DELETE", path("/v1/connections/{}", id)))

    def test(self, id: str, /) -> models.ConnectionTest:
        """Test a connection.

        Tests it against the provider, without placing a call. Checks a carrier's credentials; has a language model, speech-to-text or
        text-to-speech process one word, which can cost a fraction of a cent. Takes up to 15 seconds. A failed check still returns 200.
        Limits: one test at a time per tenant and node (429); eight per node, others wait up to 15 seconds (503).
        """
        return self._model(Request("POST", path("/v1/connections/{}/test", id), repeatable=True), models.ConnectionTest)

    def voices(self, id: str, /) -> models.VoiceList:
        """List a connection's voices.

        ElevenLabs and Cartesia return the account's voices; OpenAI and Deepgram a built-in list, not `complete`; other OpenAI-compatible
        servers only the connection's voice. Returns 422 without text-to-speech, 403 for viewers. Cached for five minutes (failures 15
        seconds) or until the connection changes.
        """
        return self._model(Request("GET", path("/v1/connections/{}/voices", id)), models.VoiceList)

    def sample_voice(self, id: str, voice: str, /, **body: Unpack[params.CreateVoiceSample]) -> bytes:
        """Sample a voice.

        Returns a few words as callers hear them, as mono WAV. The provider charges for it. Shares the limit of connection tests: one at a
        time per tenant and node.
        """
        return (self._send(Request("POST", path("/v1/connections/{}/voices/{}/sample", id, voice), body=body))).content

    def local_voices(self) -> models.VoiceList:
        """List local voices.

        Lists the voices for agents without a `tts.connection_id`.
        """
        return self._model(Request("GET", "/v1/connections/local/voices"), models.VoiceList)

    def sample_local_voice(self, voice: str, /, **body: Unpack[params.CreateVoiceSample]) -> bytes:
        """Sample a local voice.

        Returns a few words as callers hear them, as mono WAV.
        """
        return (self._send(Request("POST", path("/v1/connections/local/voices/{}/sample", voice), body=body, repeatable=True))).content


class Events(Resource):
    def create_token(self) -> models.EventToken:
        """Create an event token.

        The token is valid for ten minutes. It opens only `GET /v1/events?token=`, `/v1/calls/{id}/events?token=` and
        `/v1/calls/{id}/transcript?token=`, also with `/stream` before the `?`, from any origin. It ends with the key or session that
        created it, and when the person becomes a viewer.
        """
        return self._model(Request("POST", "/v1/event-tokens", repeatable=True), models.EventToken)

    def list(self, *, limit: int | None = None, cursor: str | None = None) -> Pages[models.CallEvent]:
        """List events.

        Lists those of all calls, newest first. `Accept: text/event-stream` streams, as `/stream` does.
        """
        return self._pages(Request("GET", "/v1/events", query={"limit": limit, "cursor": cursor}), models.CallEvent)

    def stream(self, *, last_event_id: str | None = None) -> Generator[models.CallEvent, None, None]:
        """Stream events.

        Follows them across reconnects. Never ends by itself.

        Sends those of all calls as they happen. Starts now, or after a `Last-Event-ID` up to a day old. Ignore known `id`s: events can
        repeat around a reconnect and in the first seconds. Ends when the key or session stops working, the service stops, or the client
        reads too slowly. Limits per node: 32 streams per tenant, 24 of them for sessions and event tokens, 8 per person or token; more
        get 429.
        """
        return self._stream(Request("GET", "/v1/events/stream"), streams.call_event, (), last_event_id)


class Numbers(Resource):
    def list(self, *, limit: int | None = None, cursor: str | None = None) -> Pages[models.PhoneNumber]:
        """List numbers.

        The newest come first.
        """
        return self._pages(Request("GET", "/v1/numbers", query={"limit": limit, "cursor": cursor}), models.PhoneNumber)

    def create(self, **body: Unpack[params.CreateNumber]) -> models.PhoneNumber:
        """Add a number.

        The number belongs to a carrier connection.
        """
        return self._model(Request("POST", "/v1/numbers", body=body), models.PhoneNumber)

    def get(self, id: str, /) -> models.PhoneNumber:
        """Get a number.

        Returns the number with the agent that answers it.
        """
        return self._model(Request("GET", path("/v1/numbers/{}", id)), models.PhoneNumber)

    def update(self, id: str, /, **body: Unpack[params.UpdateNumber]) -> models.PhoneNumber:
        """Update a number.

        Changes apply from the next call on.
        """
        return self._model(Request("PATCH", path("/v1/numbers/{}", id), body=body), models.PhoneNumber)

    def delete(self, id: str, /) -> None:
        """Delete a number.

        Existing calls continue.
        """
        self._send(Request("DELETE", path("/v1/numbers/{}", id)))


class People(Resource):
    def list(self, *, limit: int | None = None, cursor: str | None = None) -> Pages[models.Person]:
        """List people.

        The newest come first, including invited ones.
        """
        return self._pages(Request("GET", "/v1/people", query={"limit": limit, "cursor": cursor}), models.Person)

    def invite(self, **body: Unpack[params.InvitePerson]) -> models.InvitedPerson:
        """Invite a person.

        Only this response contains the link, valid for seven days and one acceptance. The person signs in with this address, verified by
        the identity provider, to accept or decline. A new invitation revokes the earlier link. Limits per tenant: 100 open invitations,
        20 new ones an hour.
        """
        return self._model(Request("POST", "/v1/people", body=body), models.InvitedPerson)

    def get(self, id: str, /) -> models.Person:
        """Get a person.

        Returns a member or an open invitation.
        """
        return self._model(Request("GET", path("/v1/people/{}", id)), models.Person)

    def update(self, id: str, /, **body: Unpack[params.UpdatePerson]) -> models.Person:
        """Change a person's role.

        The role applies from their next request on.
        """
        return self._model(Request("PATCH", path("/v1/people/{}", id), body=body), models.Person)

    def remove(self, id: str, /) -> None:
        """Remove a person.

        Their sessions in the tenant end at once; an invitation is revoked.
        """
        self._send(Request("DELETE", path("/v1/people/{}", id)))


class Simulator(Resource):
    def call(self, **body: Unpack[params.SimulateCall]) -> models.Call:
        """Simulate an inbound call.

        Calls one of the tenant's numbers from the simulated network. Counts towards the concurrent call limit.
        """
        return self._model(Request("POST", "/v1/simulator/inbound", body=body), models.Call)


class Statistics(Resource):
    def get(
        self,
        *,
        interval: params.StatisticsInterval | None = None,
        after: datetime | str | None = None,
        before: datetime | str | None = None,
        agent_id: str | None = None,
    ) -> models.Statistics:
        """Get call statistics.

        Returns figures of ended calls by hour or day. Calls count when they end. At most 31 days by hour, 366 by day.

        interval: Bucket length.
        after: Ended at or after this time, rounded down to the interval (UTC). Default: 24 hours before `before`; with `day`, 30 days.
        before: Ended before this time, rounded up. Default: now.
        agent_id: Of this agent only.
        """
        return self._model(
            Request("GET", "/v1/statistics", query={"interval": interval, "after": after, "before": before, "agent_id": agent_id}),
            models.Statistics,
        )


class Usage(Resource):
    def get(self, *, after: datetime | str | None = None, before: datetime | str | None = None) -> models.Usage:
        """Get usage.

        Returns calls, minutes and cost per day, by agent and by connection. Calls count on the day they end. At most 366 days.

        after: Ended at or after this time, rounded down to a day (UTC). Default: 30 days before `before`.
        before: Ended before this time, rounded up. Default: now.
        """
        return self._model(Request("GET", "/v1/usage", query={"after": after, "before": before}), models.Usage)


class Attention(Resource):
    def get(self) -> models.Attention:
        """Get what needs attention.

        Lists refused connections, failing endpoints, limits nearly reached and unanswered numbers.
        """
        return self._model(Request("GET", "/v1/attention"), models.Attention)


class Tenant(Resource):
    def get(self) -> models.Tenant:
        """Get the tenant.

        Returns the key's tenant with its limits and their use.
        """
        return self._model(Request("GET", "/v1/tenant"), models.Tenant)


class Webhooks(Resource):
    def list(self, *, limit: int | None = None, cursor: str | None = None) -> Pages[models.Webhook]:
        """List webhooks.

        The newest come first.
        """
        return self._pages(Request("GET", "/v1/webhooks", query={"limit": limit, "cursor": cursor}), models.Webhook)

    def create(self, **body: Unpack[params.CreateWebhook]) -> models.WebhookWithSecret:
        """Create a webhook.

        Only this response contains the signing secret. At most 20 endpoints per tenant, unless the operator changes it.
        """
        return self._model(Request("POST", "/v1/webhooks", body=body), models.WebhookWithSecret)

    def get(self, id: str, /) -> models.Webhook:
        """Get a webhook.

        The secret is not included.
        """
        return self._model(Request("GET", path("/v1/webhooks/{}", id)), models.Webhook)

    def update(self, id: str, /, **body: Unpack[params.UpdateWebhook]) -> models.Webhook:
        """Update a webhook.

        Pending deliveries go to the new URL; disabling the endpoint cancels them.
        """
        return self._model(Request("PATCH", path("/v1/webhooks/{}", id), body=body), models.Webhook)

    def delete(self, id: str, /) -> None:
        """Delete a webhook.

        Its deliveries are deleted too; an attempt in flight may still arrive.
        """
        self._send(Request("DELETE", path("/v1/webhooks/{}", id)))

    def list_deliveries(
        self,
        id: str,
        /,
        *,
        state: params.WebhookDeliveryState | Sequence[params.WebhookDeliveryState] | None = None,
        event: params.WebhookDeliveryEvent | Sequence[params.WebhookDeliveryEvent] | None = None,
        call_id: str | None = None,
        limit: int | None = None,
        cursor: str | None = None,
    ) -> Pages[models.WebhookDelivery]:
        """List a webhook's deliveries.

        The newest come first.

        state: State of the delivery.
        event: Event of the delivery.
        call_id: Call of the delivery.
        """
        return self._pages(
            Request(
                "GET",
                path("/v1/webhooks/{}/deliveries", id),
                query={"state": state, "event": event, "call_id": call_id, "limit": limit, "cursor": cursor},
            ),
            models.WebhookDelivery,
        )

    def get_delivery(self, id: str, delivery_id: str, /) -> models.WebhookDeliveryWithAttempts:
        """Get a delivery.

        Returns the delivery with every attempt.
        """
        return self._model(Request("GET", path("/v1/webhooks/{}/deliveries/{}", id, delivery_id)), models.WebhookDeliveryWithAttempts)

    def redeliver(self, id: str, delivery_id: str, /) -> models.WebhookDelivery:
        """Repeat a delivery.

        Tries a pending delivery at once (200), as one of its 8 attempts. For a finished one, creates a delivery (201) with a new id, the
        same `created` and `data`, and 8 attempts of its own.
        """
        return self._model(Request("POST", path("/v1/webhooks/{}/deliveries/{}/redeliver", id, delivery_id)), models.WebhookDelivery)

    def rotate_secret(self, id: str, /) -> models.WebhookWithSecret:
        """Rotate a webhook's secret.

        Only this response contains the new one. For 24 hours, the previous one also signs: `t=…,v1=<new>,v1=<old>`.
        """
        return self._model(Request("POST", path("/v1/webhooks/{}/rotate-secret", id)), models.WebhookWithSecret)

    def test(self, id: str, /) -> models.WebhookDelivery:
        """Test a webhook.

        Sends `webhook.test`, whatever the endpoint's filter. Retried like any other event.
        """
        return self._model(Request("POST", path("/v1/webhooks/{}/test", id)), models.WebhookDelivery)
