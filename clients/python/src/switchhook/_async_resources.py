"""The methods of the client for asyncio.

Written by generate.py from docs/openapi.json: do not edit.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping, Sequence
from datetime import datetime

from typing_extensions import Unpack

from . import events as streams
from . import models, params
from ._pages import AsyncPages
from ._request import Request, given, keyed, path
from ._async_transport import AsyncResource


class AsyncAgents(AsyncResource):
    def list(self, *, limit: int | None = None, cursor: str | None = None) -> AsyncPages[models.Agent]:
        """List agents, newest first."""
        return self._pages(Request("GET", "/v1/agents", query={"limit": limit, "cursor": cursor}), models.Agent)

    async def create(self, **body: Unpack[params.CreateAgent]) -> models.Agent:
        """Create an agent."""
        return await self._model(Request("POST", "/v1/agents", body=body), models.Agent)

    async def get(self, id: str, /) -> models.Agent:
        """Get an agent, with all defaults."""
        return await self._model(Request("GET", path("/v1/agents/{}", id)), models.Agent)

    async def update(self, id: str, /, **body: Unpack[params.UpdateAgent]) -> models.Agent:
        """Update an agent.

        Creates a version, unless nothing or only `traffic` changes. Existing calls keep theirs.
        """
        return await self._model(Request("PATCH", path("/v1/agents/{}", id), body=body), models.Agent)

    async def delete(self, id: str, /) -> None:
        """Delete an agent that answers no number; existing calls keep their version."""
        await self._send(Request("DELETE", path("/v1/agents/{}", id)))

    def list_versions(self, id: str, /, *, limit: int | None = None, cursor: str | None = None) -> AsyncPages[models.AgentVersion]:
        """List an agent's versions, newest first: the latest 100 and those in `traffic` or calls."""
        return self._pages(
            Request("GET", path("/v1/agents/{}/versions", id), query={"limit": limit, "cursor": cursor}), models.AgentVersion
        )

    async def get_version(self, id: str, version: int, /) -> models.Agent:
        """Get an agent as of a version, with its current `traffic`."""
        return await self._model(Request("GET", path("/v1/agents/{}/versions/{}", id, version)), models.Agent)

    async def restore_version(self, id: str, version: int, /) -> models.Agent:
        """Restore an earlier version's name and configuration as a new version.

        `traffic` and existing calls keep their versions.
        """
        return await self._model(Request("POST", path("/v1/agents/{}/versions/{}/restore", id, version)), models.Agent)


class AsyncApiKeys(AsyncResource):
    def list(self, *, limit: int | None = None, cursor: str | None = None) -> AsyncPages[models.ApiKey]:
        """List API keys, newest first, including revoked and expired ones."""
        return self._pages(Request("GET", "/v1/api-keys", query={"limit": limit, "cursor": cursor}), models.ApiKey)

    async def create(self, **body: Unpack[params.CreateApiKey]) -> models.NewApiKey:
        """Create an API key.

        Only this response contains the full key.
        """
        return await self._model(Request("POST", "/v1/api-keys", body=body), models.NewApiKey)

    async def get(self, id: str, /) -> models.ApiKey:
        """Get a key, without its secret."""
        return await self._model(Request("GET", path("/v1/api-keys/{}", id)), models.ApiKey)

    async def revoke(self, id: str, /) -> None:
        """Revoke a key: the next request with it gets 401, and revoking it again has no effect."""
        await self._send(Request("DELETE", path("/v1/api-keys/{}", id)))


class AsyncCalls(AsyncResource):
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
    ) -> AsyncPages[models.Call]:
        """List calls, newest first.

        Filters take up to 100 values, separated by commas or in repeated parameters.

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

    async def create(self, *, idempotency_key: str | None = None, **body: Unpack[params.CreateCall]) -> models.Call:
        """Place a call.

        The call is queued; follow its status, events or webhooks. Repeating a request with its `Idempotency-Key` places no second call.
        """
        return await self._model(Request("POST", "/v1/calls", headers=keyed(idempotency_key), body=body), models.Call)

    async def check(self, **body: Unpack[params.CreateCall]) -> models.UnplacedCall:
        """Checks what the other method would do, and does nothing."""
        return await self._model(Request("POST", "/v1/calls", body={**body, "dry_run": True}, repeatable=True), models.UnplacedCall)

    async def get(self, id: str, /) -> models.Call:
        """Get a call."""
        return await self._model(Request("GET", path("/v1/calls/{}", id)), models.Call)

    async def hang_up(self, id: str, /) -> models.Call:
        """Hang up a call.

        A queued call ends at once, a live one when the carrier hangs up. No effect on an ended call.
        """
        return await self._model(Request("POST", path("/v1/calls/{}/hangup", id), repeatable=True), models.Call)

    async def say(self, id: str, /, **body: Unpack[params.Say]) -> models.Call:
        """Make the agent say something on a live call.

        The language model sees the text; the transcript includes what was heard. No effect while the agent says goodbye.
        """
        return await self._model(Request("POST", path("/v1/calls/{}/say", id), body=body), models.Call)

    async def send_dtmf(self, id: str, /, **body: Unpack[params.SendDtmf]) -> models.Call:
        """Send DTMF on a live call, for example to a phone menu.

        The agent's speech pauses while the tones are sent.
        """
        return await self._model(Request("POST", path("/v1/calls/{}/dtmf", id), body=body), models.Call)

    async def transfer(self, id: str, /, **body: Unpack[params.TransferCall]) -> models.Call:
        """Transfer the caller without an announcement (cold transfer).

        The agent stops speaking and the carrier transfers the call. Once the number answers, the call ends as `completed` with
        `end_reason` `transferred`. Otherwise the agent takes the caller back.
        """
        return await self._model(Request("POST", path("/v1/calls/{}/transfer", id), body=body), models.Call)

    async def listen(self, id: str, /) -> models.ListenAddress:
        """Listen to both sides of a live call.

        The WebSocket sends `{"type":"start","sample_rate":8000,"channels":2}` (or 16000, like the call), then 20 ms of 16-bit PCM at a
        time, caller left, agent right. It closes when the call ends, the key or session stops working, or the person becomes a viewer.
        Connect to the node that runs the call. Slow listeners miss audio.
        """
        return await self._model(Request("POST", path("/v1/calls/{}/listen", id), repeatable=True), models.ListenAddress)

    async def events(self, id: str, /) -> models.CallEvents:
        """List a call's events.

        `Accept: text/event-stream` streams, as `/stream` does.
        """
        return await self._model(Request("GET", path("/v1/calls/{}/events", id)), models.CallEvents)

    def stream_events(self, id: str, /, *, last_event_id: str | None = None) -> AsyncGenerator[models.CallEvent, None]:
        """Stream a call's events until it ends.

        Follows them across reconnects. Ends with the call.

        Also ends when the key stops working or the service stops; resume with `Last-Event-ID`. Limits as for `GET /v1/events/stream`.
        """
        return self._stream(
            Request("GET", path("/v1/calls/{}/events/stream", id)), streams.call_event, ("call.completed", "call.failed"), last_event_id
        )

    async def transcript(self, id: str, /) -> models.Transcript:
        """Get the transcript, up to now for a live call.

        Agent lines contain only what the caller heard. `Accept: text/event-stream` streams, as `/stream` does.
        """
        return await self._model(Request("GET", path("/v1/calls/{}/transcript", id)), models.Transcript)

    def stream_transcript(self, id: str, /, *, last_event_id: str | None = None) -> AsyncGenerator[streams.TranscriptEvent, None]:
        """Stream the transcript as it is written, then `end` with the call's status.

        Follows them across reconnects. Ends with the call.

        Also ends when the key or session stops working or the service stops; resume with `Last-Event-ID`. Limits as for `GET
        /v1/events/stream`.
        """
        return self._stream(Request("GET", path("/v1/calls/{}/transcript/stream", id)), streams.transcript_event, ("end",), last_event_id)

    async def decisions(self, id: str, /) -> models.CallDecisions:
        """List the turn-taking decisions of an ended call.

        Empty for live calls and speech-to-speech models.
        """
        return await self._model(Request("GET", path("/v1/calls/{}/decisions", id)), models.CallDecisions)

    def list_deliveries(self, id: str, /, *, limit: int | None = None, cursor: str | None = None) -> AsyncPages[models.CallDelivery]:
        """List webhook deliveries of a call's events, newest first, with their attempts."""
        return self._pages(
            Request("GET", path("/v1/calls/{}/deliveries", id), query={"limit": limit, "cursor": cursor}), models.CallDelivery
        )

    async def recording(self, id: str, /, *, range: str | None = None) -> bytes:
        """Download the recording: stereo WAV, 8 or 16 kHz like the call, caller left, agent right.

        Supports one byte range; several return the whole file. `If-Range` takes the `ETag`.
        """
        return (
            await self._send(Request("GET", path("/v1/calls/{}/recording", id), headers=given(Range=range, Accept="audio/wav")))
        ).content


class AsyncConnections(AsyncResource):
    def list(self, *, limit: int | None = None, cursor: str | None = None) -> AsyncPages[models.Connection]:
        """List connections, newest first."""
        return self._pages(Request("GET", "/v1/connections", query={"limit": limit, "cursor": cursor}), models.Connection)

    async def create(self, **body: Unpack[params.CreateConnection]) -> models.Connection:
        """Create a connection."""
        return await self._model(Request("POST", "/v1/connections", body=body), models.Connection)

    async def get(self, id: str, /) -> models.Connection:
        """Get a connection."""
        return await self._model(Request("GET", path("/v1/connections/{}", id)), models.Connection)

    async def update(self, id: str, /, **body: Unpack[params.UpdateConnection]) -> models.Connection:
        """Update a connection.

        The provider cannot change. Changing `settings.space`, `settings.host` or the origin of `settings.base_url` requires all
        credentials in the same request. If nothing changes, `updated_at` stays the same.
        """
        return await self._model(Request("PATCH", path("/v1/connections/{}", id), body=body), models.Connection)

    async def delete(self, id: str, /) -> None:
        """Delete an unused connection."""
        await self._send(Request("DELETE", path("/v1/connections/{}", id)))

    async def test(self, id: str, /) -> models.ConnectionTest:
        """Test a connection against the provider, without placing a call.

        Checks a carrier's credentials; has a language model, speech-to-text or text-to-speech process one word, which can cost a fraction
        of a cent. Takes up to 15 seconds. A failed check still returns 200. Limits: one test at a time per tenant and node (429); eight
        per node, others wait up to 15 seconds (503).
        """
        return await self._model(Request("POST", path("/v1/connections/{}/test", id), repeatable=True), models.ConnectionTest)

    async def voices(self, id: str, /) -> models.VoiceList:
        """List a connection's text-to-speech voices.

        ElevenLabs and Cartesia return the account's voices; OpenAI and Deepgram a built-in list, not `complete`; other OpenAI-compatible
        servers only the connection's voice. Returns 422 without text-to-speech, 403 for viewers. Cached for five minutes (failures 15
        seconds) or until the connection changes.
        """
        return await self._model(Request("GET", path("/v1/connections/{}/voices", id)), models.VoiceList)

    async def sample_voice(self, id: str, voice: str, /, **body: Unpack[params.CreateVoiceSample]) -> bytes:
        """Create a short sample of a voice, as callers hear it: mono WAV.

        The provider charges for it. Shares the limit of connection tests: one at a time per tenant and node.
        """
        return (await self._send(Request("POST", path("/v1/connections/{}/voices/{}/sample", id, voice), body=body))).content

    async def local_voices(self) -> models.VoiceList:
        """List the voices of agents without a `tts.connection_id`."""
        return await self._model(Request("GET", "/v1/connections/local/voices"), models.VoiceList)

    async def sample_local_voice(self, voice: str, /, **body: Unpack[params.CreateVoiceSample]) -> bytes:
        """Create a short sample of a local voice, as callers hear it: mono WAV."""
        return (
            await self._send(Request("POST", path("/v1/connections/local/voices/{}/sample", voice), body=body, repeatable=True))
        ).content


class AsyncEvents(AsyncResource):
    async def create_token(self) -> models.EventToken:
        """Create a token for event streams, valid for ten minutes.

        Opens only `GET /v1/events?token=`, `/v1/calls/{id}/events?token=` and `/v1/calls/{id}/transcript?token=`, also with `/stream`
        before the `?`, from any origin. Ends with the key or session that created it, and when the person becomes a viewer.
        """
        return await self._model(Request("POST", "/v1/event-tokens", repeatable=True), models.EventToken)

    def list(self, *, limit: int | None = None, cursor: str | None = None) -> AsyncPages[models.TenantEvent]:
        """List the events of all calls, newest first.

        `Accept: text/event-stream` streams, as `/stream` does.
        """
        return self._pages(Request("GET", "/v1/events", query={"limit": limit, "cursor": cursor}), models.TenantEvent)

    def stream(self, *, last_event_id: str | None = None) -> AsyncGenerator[models.TenantEvent, None]:
        """Stream the events of all calls as they happen.

        Follows them across reconnects. Never ends by itself.

        Starts now, or after a `Last-Event-ID` up to a day old. Ignore known `id`s: events can repeat around a reconnect and in the first
        seconds. Ends when the key or session stops working, the service stops, or the client reads too slowly. Limits per node: 32
        streams per tenant, 24 of them for sessions and event tokens, 8 per person or token; more get 429.
        """
        return self._stream(Request("GET", "/v1/events/stream"), streams.tenant_event, (), last_event_id)


class AsyncNumbers(AsyncResource):
    def list(self, *, limit: int | None = None, cursor: str | None = None) -> AsyncPages[models.PhoneNumber]:
        """List numbers, newest first."""
        return self._pages(Request("GET", "/v1/numbers", query={"limit": limit, "cursor": cursor}), models.PhoneNumber)

    async def create(self, **body: Unpack[params.CreateNumber]) -> models.PhoneNumber:
        """Add a number."""
        return await self._model(Request("POST", "/v1/numbers", body=body), models.PhoneNumber)

    async def get(self, id: str, /) -> models.PhoneNumber:
        """Get a number."""
        return await self._model(Request("GET", path("/v1/numbers/{}", id)), models.PhoneNumber)

    async def update(self, id: str, /, **body: Unpack[params.UpdateNumber]) -> models.PhoneNumber:
        """Update a number."""
        return await self._model(Request("PATCH", path("/v1/numbers/{}", id), body=body), models.PhoneNumber)

    async def delete(self, id: str, /) -> None:
        """Delete a number; existing calls continue."""
        await self._send(Request("DELETE", path("/v1/numbers/{}", id)))


class AsyncPeople(AsyncResource):
    def list(self, *, limit: int | None = None, cursor: str | None = None) -> AsyncPages[models.Person]:
        """List people, newest first, including invited ones."""
        return self._pages(Request("GET", "/v1/people", query={"limit": limit, "cursor": cursor}), models.Person)

    async def invite(self, **body: Unpack[params.InvitePerson]) -> models.InvitedPerson:
        """Invite a person.

        Only this response contains the link, valid for seven days and one acceptance. The person signs in with this address, verified by
        the identity provider, to accept or decline. A new invitation revokes the earlier link. Limits per tenant: 100 open invitations,
        20 new ones an hour.
        """
        return await self._model(Request("POST", "/v1/people", body=body), models.InvitedPerson)

    async def get(self, id: str, /) -> models.Person:
        """Get a person."""
        return await self._model(Request("GET", path("/v1/people/{}", id)), models.Person)

    async def update(self, id: str, /, **body: Unpack[params.UpdatePerson]) -> models.Person:
        """Change a person's role, as of their next request."""
        return await self._model(Request("PATCH", path("/v1/people/{}", id), body=body), models.Person)

    async def remove(self, id: str, /) -> None:
        """Remove a person or revoke an invitation; their sessions in the tenant end at once."""
        await self._send(Request("DELETE", path("/v1/people/{}", id)))


class AsyncSimulator(AsyncResource):
    async def call(self, **body: Unpack[params.SimulateCall]) -> models.Call:
        """Call a number from the simulated network.

        Counts towards the concurrent call limit.
        """
        return await self._model(Request("POST", "/v1/simulator/inbound", body=body), models.Call)


class AsyncStatistics(AsyncResource):
    async def get(
        self,
        *,
        interval: params.StatisticsInterval | None = None,
        after: datetime | str | None = None,
        before: datetime | str | None = None,
        agent_id: str | None = None,
    ) -> models.Statistics:
        """Get figures of ended calls by hour or day.

        Calls count when they end. At most 31 days by hour, 366 by day.

        interval: Bucket length.
        after: Ended at or after this time, rounded down to the interval (UTC). Default: 24 hours before `before`; with `day`, 30 days.
        before: Ended before this time, rounded up. Default: now.
        agent_id: Of this agent only.
        """
        return await self._model(
            Request("GET", "/v1/statistics", query={"interval": interval, "after": after, "before": before, "agent_id": agent_id}),
            models.Statistics,
        )


class AsyncUsage(AsyncResource):
    async def get(self, *, after: datetime | str | None = None, before: datetime | str | None = None) -> models.Usage:
        """Get calls, minutes and cost per day, by agent and by connection.

        Calls count on the day they end. At most 366 days.

        after: Ended at or after this time, rounded down to a day (UTC). Default: 30 days before `before`.
        before: Ended before this time, rounded up. Default: now.
        """
        return await self._model(Request("GET", "/v1/usage", query={"after": after, "before": before}), models.Usage)


class AsyncAttention(AsyncResource):
    async def get(self) -> models.Attention:
        """List refused connections, failing endpoints, limits nearly reached and unanswered numbers."""
        return await self._model(Request("GET", "/v1/attention"), models.Attention)


class AsyncTenant(AsyncResource):
    async def get(self) -> models.Tenant:
        """Get the key's tenant with its limits and their use."""
        return await self._model(Request("GET", "/v1/tenant"), models.Tenant)


class AsyncWebhooks(AsyncResource):
    def list(self, *, limit: int | None = None, cursor: str | None = None) -> AsyncPages[models.Webhook]:
        """List webhook endpoints, newest first."""
        return self._pages(Request("GET", "/v1/webhooks", query={"limit": limit, "cursor": cursor}), models.Webhook)

    async def create(self, **body: Unpack[params.CreateWebhook]) -> models.WebhookWithSecret:
        """Create a webhook endpoint.

        Only this response contains the signing secret. At most 20 endpoints per tenant, unless the operator changes it.
        """
        return await self._model(Request("POST", "/v1/webhooks", body=body), models.WebhookWithSecret)

    async def get(self, id: str, /) -> models.Webhook:
        """Get a webhook endpoint, without its secret."""
        return await self._model(Request("GET", path("/v1/webhooks/{}", id)), models.Webhook)

    async def update(self, id: str, /, **body: Unpack[params.UpdateWebhook]) -> models.Webhook:
        """Update a webhook endpoint.

        Pending deliveries go to the new URL; disabling the endpoint cancels them.
        """
        return await self._model(Request("PATCH", path("/v1/webhooks/{}", id), body=body), models.Webhook)

    async def delete(self, id: str, /) -> None:
        """Delete a webhook endpoint and its deliveries; an attempt in flight may still arrive."""
        await self._send(Request("DELETE", path("/v1/webhooks/{}", id)))

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
    ) -> AsyncPages[models.WebhookDelivery]:
        """List an endpoint's deliveries, newest first.

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

    async def get_delivery(self, id: str, delivery_id: str, /) -> models.WebhookDeliveryWithAttempts:
        """Get a delivery with every attempt."""
        return await self._model(Request("GET", path("/v1/webhooks/{}/deliveries/{}", id, delivery_id)), models.WebhookDeliveryWithAttempts)

    async def redeliver(self, id: str, delivery_id: str, /) -> models.WebhookDelivery:
        """Redeliver now.

        Tries a pending delivery at once (200), as one of its 8 attempts. For a finished one, creates a delivery (201) with a new id, the
        same `created` and `data`, and 8 attempts of its own.
        """
        return await self._model(Request("POST", path("/v1/webhooks/{}/deliveries/{}/redeliver", id, delivery_id)), models.WebhookDelivery)

    async def rotate_secret(self, id: str, /) -> models.WebhookWithSecret:
        """Create a new signing secret.

        Only this response contains it. For 24 hours, the previous one also signs: `t=…,v1=<new>,v1=<old>`.
        """
        return await self._model(Request("POST", path("/v1/webhooks/{}/rotate-secret", id)), models.WebhookWithSecret)

    async def test(self, id: str, /) -> models.WebhookDelivery:
        """Send a `webhook.test` event, whatever the endpoint's filter.

        Retried like any other event.
        """
        return await self._model(Request("POST", path("/v1/webhooks/{}/test", id)), models.WebhookDelivery)
