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
        """Lists the tenant's agents, newest first."""
        return self._pages(Request("GET", "/v1/agents", query={"limit": limit, "cursor": cursor}), models.Agent)

    def create(self, **body: Unpack[params.CreateAgent]) -> models.Agent:
        """Creates an agent."""
        return self._model(Request("POST", "/v1/agents", body=body), models.Agent)

    def get(self, id: str, /) -> models.Agent:
        """Returns an agent, with all defaults."""
        return self._model(Request("GET", path("/v1/agents/{}", id)), models.Agent)

    def update(self, id: str, /, **body: Unpack[params.UpdateAgent]) -> models.Agent:
        """Updates an agent. Creates a new version, unless nothing or only `traffic` changes. Existing calls keep theirs."""
        return self._model(Request("PATCH", path("/v1/agents/{}", id), body=body), models.Agent)

    def delete(self, id: str, /) -> None:
        """Deletes an agent that answers no number. Existing calls keep their version."""
        self._send(Request("DELETE", path("/v1/agents/{}", id)))

    def list_versions(self, id: str, /, *, limit: int | None = None, cursor: str | None = None) -> Pages[models.AgentVersion]:
        """Lists the versions of an agent, newest first: the newest 100, those in `traffic`, and those of calls."""
        return self._pages(
            Request("GET", path("/v1/agents/{}/versions", id), query={"limit": limit, "cursor": cursor}), models.AgentVersion
        )

    def get_version(self, id: str, version: int, /) -> models.Agent:
        """Returns an agent as it was in a version, with its present `traffic`."""
        return self._model(Request("GET", path("/v1/agents/{}/versions/{}", id, version)), models.Agent)

    def restore_version(self, id: str, version: int, /) -> models.Agent:
        """Creates a new version with the name and configuration of an earlier one. `traffic` and existing calls keep theirs."""
        return self._model(Request("POST", path("/v1/agents/{}/versions/{}/restore", id, version)), models.Agent)


class ApiKeys(Resource):
    def list(self, *, limit: int | None = None, cursor: str | None = None) -> Pages[models.ApiKey]:
        """Lists the tenant's keys, newest first, including revoked and expired ones."""
        return self._pages(Request("GET", "/v1/api-keys", query={"limit": limit, "cursor": cursor}), models.ApiKey)

    def create(self, **body: Unpack[params.CreateApiKey]) -> models.NewApiKey:
        """Creates a key for the same tenant.

        Only this response contains the whole key.
        """
        return self._model(Request("POST", "/v1/api-keys", body=body), models.NewApiKey)

    def get(self, id: str, /) -> models.ApiKey:
        """Returns a key without its secret."""
        return self._model(Request("GET", path("/v1/api-keys/{}", id)), models.ApiKey)

    def revoke(self, id: str, /) -> None:
        """Revokes a key: the next request with it gets 401. Revoking it again has no effect."""
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
        """Lists calls, newest first. Filters take one value or up to 100, separated by commas or in repeated parameters; up to 10
        `metadata[key]=value` filters match the calls with this metadata.

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
        metadata: Only calls with this metadata, `metadata[key]=value`; up to 10 keys.
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
        """Places a call.

        The call is queued; follow it by its status, its events or webhooks. With an `Idempotency-Key` header a repeated request places no
        second call.
        """
        return self._model(Request("POST", "/v1/calls", headers=keyed(idempotency_key), body=body), models.Call)

    def check(self, **body: Unpack[params.CreateCall]) -> models.UnplacedCall:
        """Checks what the other method would do, and does nothing."""
        return self._model(Request("POST", "/v1/calls", body={**body, "dry_run": True}, repeatable=True), models.UnplacedCall)

    def get(self, id: str, /) -> models.Call:
        """Returns a call."""
        return self._model(Request("GET", path("/v1/calls/{}", id)), models.Call)

    def hang_up(self, id: str, /) -> models.Call:
        """Ends a call.

        A queued call ends at once, a live call when its carrier hangs up. Ending a call that has ended has no effect.
        """
        return self._model(Request("POST", path("/v1/calls/{}/hangup", id), repeatable=True), models.Call)

    def say(self, id: str, /, **body: Unpack[params.Say]) -> models.Call:
        """Makes the agent say something on a live call.

        The words become part of the conversation: the transcript includes what was heard, and the language model sees it. An agent that
        is saying goodbye says nothing more.
        """
        return self._model(Request("POST", path("/v1/calls/{}/say", id), body=body), models.Call)

    def send_dtmf(self, id: str, /, **body: Unpack[params.SendDtmf]) -> models.Call:
        """Sends DTMF on a live call, for example to a phone menu.

        The agent's speech pauses while the tones are sent.
        """
        return self._model(Request("POST", path("/v1/calls/{}/dtmf", id), body=body), models.Call)

    def transfer(self, id: str, /, **body: Unpack[params.TransferCall]) -> models.Call:
        """Transfers the caller without an announcement (a cold transfer).

        The agent stops speaking and the carrier transfers the call. Once the number answers, the call ends as `completed` with
        `end_reason` `transferred`. Otherwise the agent takes the caller back.
        """
        return self._model(Request("POST", path("/v1/calls/{}/transfer", id), body=body), models.Call)

    def listen(self, id: str, /) -> models.ListenAddress:
        """Lets somebody listen to a live call, both sides.

        The socket brings `{"type":"start","sample_rate":8000,"channels":2}` (or 16000, like the call), then 20 ms of 16 bit PCM at a
        time, caller left, agent right, until the call ends or the key or session that asked stops working, as it does for a person who
        becomes a viewer. It must reach the node that runs the call. A listener who is too slow misses audio; the call never waits.
        """
        return self._model(Request("POST", path("/v1/calls/{}/listen", id), repeatable=True), models.ListenAddress)

    def events(self, id: str, /) -> models.CallEvents:
        """Returns the call's events.

        With `Accept: text/event-stream`, this is `GET /v1/calls/{id}/events/stream`.
        """
        return self._model(Request("GET", path("/v1/calls/{}/events", id)), models.CallEvents)

    def stream_events(self, id: str, /, *, last_event_id: str | None = None) -> Generator[models.CallEvent, None, None]:
        """Streams the call's events until the call has ended.

        Follows them across reconnects. Ends with the call.

        A stream also ends when the key stops working or the service stops; resume it with `Last-Event-ID`. A tenant can have 32 streams
        per node; sessions and event tokens have 24 of them, one person or token 8. Further ones get 429.
        """
        return self._stream(
            Request("GET", path("/v1/calls/{}/events/stream", id)), streams.call_event, ("call.completed", "call.failed"), last_event_id
        )

    def transcript(self, id: str, /) -> models.Transcript:
        """Returns the transcript, up to now for a live call. The agent's lines contain only what the caller heard.

        With `Accept: text/event-stream`, this is `GET /v1/calls/{id}/transcript/stream`.
        """
        return self._model(Request("GET", path("/v1/calls/{}/transcript", id)), models.Transcript)

    def stream_transcript(self, id: str, /, *, last_event_id: str | None = None) -> Generator[streams.TranscriptEvent, None, None]:
        """Streams the transcript: `line` and `tool_call` events as they are written, then `end` with the call's status.

        Follows them across reconnects. Ends with the call.

        A stream also ends when the key or session stops working or the service stops; resume it with `Last-Event-ID`. A tenant can have
        32 streams per node; sessions and event tokens have 24 of them, one person or token 8.
        """
        return self._stream(Request("GET", path("/v1/calls/{}/transcript/stream", id)), streams.transcript_event, ("end",), last_event_id)

    def decisions(self, id: str, /) -> models.CallDecisions:
        """Returns what was decided about turns in an ended call, and by which evidence. Empty for a live call, and with a speech-to-speech
        model, which takes turns itself.
        """
        return self._model(Request("GET", path("/v1/calls/{}/decisions", id)), models.CallDecisions)

    def list_deliveries(self, id: str, /, *, limit: int | None = None, cursor: str | None = None) -> Pages[models.CallDelivery]:
        """Lists the deliveries of a call's events to all endpoints, newest first, each with its attempts."""
        return self._pages(
            Request("GET", path("/v1/calls/{}/deliveries", id), query={"limit": limit, "cursor": cursor}), models.CallDelivery
        )

    def recording(self, id: str, /, *, range: str | None = None) -> bytes:
        """Returns the recording: a stereo WAV, 8 or 16 kHz like the call, caller left, agent right.

        Supports one byte range (RFC 9110 section 14); several return the whole file. `If-Range` takes the `ETag`.
        """
        return (self._send(Request("GET", path("/v1/calls/{}/recording", id), headers=given(Range=range, Accept="audio/wav")))).content


class Connections(Resource):
    def list(self, *, limit: int | None = None, cursor: str | None = None) -> Pages[models.Connection]:
        """Lists the tenant's connections, newest first."""
        return self._pages(Request("GET", "/v1/connections", query={"limit": limit, "cursor": cursor}), models.Connection)

    def create(self, **body: Unpack[params.CreateConnection]) -> models.Connection:
        """Creates a connection."""
        return self._model(Request("POST", "/v1/connections", body=body), models.Connection)

    def get(self, id: str, /) -> models.Connection:
        """Returns a connection."""
        return self._model(Request("GET", path("/v1/connections/{}", id)), models.Connection)

    def update(self, id: str, /, **body: Unpack[params.UpdateConnection]) -> models.Connection:
        """Updates a connection. Its provider cannot change. A patch that changes nothing leaves `updated_at`.

        A change of the origin of `settings.base_url`, or of `settings.space` or `settings.host`, requires all credentials again in the
        same request: stored credentials are not sent to a new address.
        """
        return self._model(Request("PATCH", path("/v1/connections/{}", id), body=body), models.Connection)

    def delete(self, id: str, /) -> None:
        """Deletes an unused connection."""
        self._send(Request("DELETE", path("/v1/connections/{}", id)))

    def test(self, id: str, /) -> models.ConnectionTest:
        """Tests a connection against the real service, without placing a call.

        A carrier checks the credentials; a language model responds with a word, speech-to-text transcribes one, text-to-speech speaks
        one. That may cost a fraction of a cent, and takes at most 15 seconds. A failed check is not an error of this request. A tenant
        tests one connection at a time per node, others get 429. A node runs eight tests at once; others wait and get 503 after 15
        seconds.
        """
        return self._model(Request("POST", path("/v1/connections/{}/test", id), repeatable=True), models.ConnectionTest)

    def voices(self, id: str, /) -> models.VoiceList:
        """Lists the voices of a connection's text to speech.

        ElevenLabs and Cartesia list the voices of the account. Lists for OpenAI and Deepgram are Switchhook's, and not `complete`; other
        servers with OpenAI's API have the connection's own voice only. A connection without text to speech gets 422, a viewer's session
        403. A provider's list is kept for five minutes, a failure for 15 seconds, until the connection is changed.
        """
        return self._model(Request("GET", path("/v1/connections/{}/voices", id)), models.VoiceList)

    def sample_voice(self, id: str, voice: str, /, **body: Unpack[params.CreateVoiceSample]) -> bytes:
        """Returns a short sample of a voice, as callers hear it: a mono WAV.

        The provider charges it like any speech. Samples take part in the limits of connection tests: a tenant has one at a time per node.
        """
        return (self._send(Request("POST", path("/v1/connections/{}/voices/{}/sample", id, voice), body=body))).content

    def local_voices(self) -> models.VoiceList:
        """Lists the voices of agents without a `tts.connection_id`."""
        return self._model(Request("GET", "/v1/connections/local/voices"), models.VoiceList)

    def sample_local_voice(self, voice: str, /, **body: Unpack[params.CreateVoiceSample]) -> bytes:
        """Returns a short sample of a local voice, as callers hear it: a mono WAV."""
        return (self._send(Request("POST", path("/v1/connections/local/voices/{}/sample", voice), body=body, repeatable=True))).content


class Events(Resource):
    def create_token(self) -> models.EventToken:
        """Creates a token for event streams, good for ten minutes.

        It opens `GET /v1/events?token=`, `/v1/calls/{id}/events?token=` and `/v1/calls/{id}/transcript?token=`, each also with `/stream`
        before the `?`, and nothing else, also from pages of other origins. It stops working with the key or session that asked, and when
        the person becomes a viewer.
        """
        return self._model(Request("POST", "/v1/event-tokens", repeatable=True), models.EventToken)

    def list(self, *, limit: int | None = None, cursor: str | None = None) -> Pages[models.TenantEvent]:
        """Lists the events of all calls, newest first.

        With `Accept: text/event-stream`, this is `GET /v1/events/stream`.
        """
        return self._pages(Request("GET", "/v1/events", query={"limit": limit, "cursor": cursor}), models.TenantEvent)

    def stream(self, *, last_event_id: str | None = None) -> Generator[models.TenantEvent, None, None]:
        """Streams the events of all calls as they happen.

        Follows them across reconnects. Never ends by itself.

        A stream starts now, or after `Last-Event-ID`, which can be a day old. An event can arrive twice around a reconnect and in the
        first seconds: ignore an `id` that you know. A stream ends when the key or session stops working, the service stops, or the client
        reads too slowly. A tenant can have 32 streams per node; sessions and event tokens have 24 of them, one person or token 8.
        """
        return self._stream(Request("GET", "/v1/events/stream"), streams.tenant_event, (), last_event_id)


class Numbers(Resource):
    def list(self, *, limit: int | None = None, cursor: str | None = None) -> Pages[models.PhoneNumber]:
        """Lists the tenant's numbers, newest first."""
        return self._pages(Request("GET", "/v1/numbers", query={"limit": limit, "cursor": cursor}), models.PhoneNumber)

    def create(self, **body: Unpack[params.CreateNumber]) -> models.PhoneNumber:
        """Adds a number."""
        return self._model(Request("POST", "/v1/numbers", body=body), models.PhoneNumber)

    def get(self, id: str, /) -> models.PhoneNumber:
        """Returns a number."""
        return self._model(Request("GET", path("/v1/numbers/{}", id)), models.PhoneNumber)

    def update(self, id: str, /, **body: Unpack[params.UpdateNumber]) -> models.PhoneNumber:
        """Updates a number."""
        return self._model(Request("PATCH", path("/v1/numbers/{}", id), body=body), models.PhoneNumber)

    def delete(self, id: str, /) -> None:
        """Deletes a number. Existing calls continue."""
        self._send(Request("DELETE", path("/v1/numbers/{}", id)))


class People(Resource):
    def list(self, *, limit: int | None = None, cursor: str | None = None) -> Pages[models.Person]:
        """Lists the tenant's people, newest first, including invited ones."""
        return self._pages(Request("GET", "/v1/people", query={"limit": limit, "cursor": cursor}), models.Person)

    def invite(self, **body: Unpack[params.InvitePerson]) -> models.InvitedPerson:
        """Invites a person.

        Only this response contains the link, which is good for seven days and one acceptance. Send it to the person, who signs in with
        this address, verified by the identity provider, and accepts or declines. Inviting an address again ends its earlier link. A
        tenant has at most 100 open invitations, and makes at most 20 in an hour.
        """
        return self._model(Request("POST", "/v1/people", body=body), models.InvitedPerson)

    def get(self, id: str, /) -> models.Person:
        """Returns a person."""
        return self._model(Request("GET", path("/v1/people/{}", id)), models.Person)

    def update(self, id: str, /, **body: Unpack[params.UpdatePerson]) -> models.Person:
        """Changes a person's role. It takes effect with the person's next request."""
        return self._model(Request("PATCH", path("/v1/people/{}", id), body=body), models.Person)

    def remove(self, id: str, /) -> None:
        """Removes a person from the tenant; their sessions in it end at once. Removing an invited person ends the invitation's link."""
        self._send(Request("DELETE", path("/v1/people/{}", id)))


class Simulator(Resource):
    def call(self, **body: Unpack[params.SimulateCall]) -> models.Call:
        """Calls one of the tenant's numbers from the simulated phone network. The call counts towards the concurrent call limit."""
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
        """Returns what the ended calls of a time span came to, by hour or day.

        A call counts in the interval in which it ended. At most 31 days by hour, 366 by day.

        interval: The length of a bucket.
        after: Ended at or after this time, rounded down to a whole interval (UTC). Default: 24 hours before `before`, with `day` 30 days.
        before: Ended before this time, rounded up. Default: now.
        agent_id: Of this agent only.
        """
        return self._model(
            Request("GET", "/v1/statistics", query={"interval": interval, "after": after, "before": before, "agent_id": agent_id}),
            models.Statistics,
        )


class Usage(Resource):
    def get(self, *, after: datetime | str | None = None, before: datetime | str | None = None) -> models.Usage:
        """Returns calls, minutes and cost per day, by agent and by connection.

        A call counts on the day on which it ended. At most 366 days.

        after: Ended at or after this time, rounded down to a whole day (UTC). Default: 30 days before `before`.
        before: Ended before this time, rounded up. Default: now.
        """
        return self._model(Request("GET", "/v1/usage", query={"after": after, "before": before}), models.Usage)


class Attention(Resource):
    def get(self) -> models.Attention:
        """Returns what needs attention: connections that are refused, endpoints that fail, limits that are near, numbers that nobody
        answers.
        """
        return self._model(Request("GET", "/v1/attention"), models.Attention)


class Tenant(Resource):
    def get(self) -> models.Tenant:
        """Returns the key's tenant with its limits and their use."""
        return self._model(Request("GET", "/v1/tenant"), models.Tenant)


class Webhooks(Resource):
    def list(self, *, limit: int | None = None, cursor: str | None = None) -> Pages[models.Webhook]:
        """Lists the tenant's webhook endpoints, newest first."""
        return self._pages(Request("GET", "/v1/webhooks", query={"limit": limit, "cursor": cursor}), models.Webhook)

    def create(self, **body: Unpack[params.CreateWebhook]) -> models.WebhookWithSecret:
        """Registers a webhook endpoint.

        Only this response contains the signing secret. A tenant has at most 20 endpoints, unless the operator sets another limit.
        """
        return self._model(Request("POST", "/v1/webhooks", body=body), models.WebhookWithSecret)

    def get(self, id: str, /) -> models.Webhook:
        """Returns a webhook endpoint without its secret."""
        return self._model(Request("GET", path("/v1/webhooks/{}", id)), models.Webhook)

    def update(self, id: str, /, **body: Unpack[params.UpdateWebhook]) -> models.Webhook:
        """Updates a webhook endpoint. Pending deliveries go to the new URL; disabling the endpoint cancels them."""
        return self._model(Request("PATCH", path("/v1/webhooks/{}", id), body=body), models.Webhook)

    def delete(self, id: str, /) -> None:
        """Deletes a webhook endpoint and its deliveries. An attempt in flight may still arrive."""
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
        """Lists an endpoint's deliveries, newest first.

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
        """Returns a delivery with every attempt."""
        return self._model(Request("GET", path("/v1/webhooks/{}/deliveries/{}", id, delivery_id)), models.WebhookDeliveryWithAttempts)

    def redeliver(self, id: str, delivery_id: str, /) -> models.WebhookDelivery:
        """Redelivers now.

        A pending delivery is tried at once (200), as one of its 8 attempts. For one that succeeded, failed or was canceled a new delivery
        is created (201), with a new id, the same `created` and `data`, and 8 attempts of its own.
        """
        return self._model(Request("POST", path("/v1/webhooks/{}/deliveries/{}/redeliver", id, delivery_id)), models.WebhookDelivery)

    def rotate_secret(self, id: str, /) -> models.WebhookWithSecret:
        """Creates a new signing secret. Only this response contains it.

        For 24 hours deliveries are also signed with the previous secret: `t=…,v1=<new>,v1=<old>`.
        """
        return self._model(Request("POST", path("/v1/webhooks/{}/rotate-secret", id)), models.WebhookWithSecret)

    def test(self, id: str, /) -> models.WebhookDelivery:
        """Sends a `webhook.test` event to the endpoint, whatever its filter. It is retried like any other event."""
        return self._model(Request("POST", path("/v1/webhooks/{}/test", id)), models.WebhookDelivery)
