"""The client against the real service."""

from __future__ import annotations

import uuid
from datetime import datetime, timedelta, timezone

import pytest
from conftest import SIMULATED, Tenant
from service import Service

from switchhook import (
    APIError,
    AsyncSwitchhook,
    AuthenticationError,
    ConflictError,
    InvalidRequestError,
    NotFoundError,
    RateLimitError,
    Switchhook,
    WaitTimeoutError,
)


def test_a_dry_run_places_no_call(client: Switchhook, tenant: Tenant) -> None:
    before = next(iter(client.calls.list(limit=1)), None)
    checked = client.calls.check(agent_id=tenant.agent_id, to=SIMULATED["hangs up in a sentence"])
    assert (checked.status, checked.from_) == ("queued", tenant.number)
    assert next(iter(client.calls.list(limit=1)), None) == before


def test_a_call_is_placed_followed_and_read(client: Switchhook, tenant: Tenant) -> None:
    placed = client.calls.create(agent_id=tenant.agent_id, to=SIMULATED["hangs up in a sentence"], metadata={"order": 7})
    assert placed.status == "queued"
    assert placed.from_ == tenant.number

    events = list(client.calls.stream_events(placed.id))
    assert [event.event for event in events] == ["call.queued", "call.dialing", "call.in_progress", "carrier.hangup", "call.completed"]
    assert [event.sequence for event in events] == [1, 2, 3, 4, 5]

    call = client.calls.wait(placed.id, timeout=30)
    assert (call.status, call.end_reason, call.metadata) == ("completed", "caller_hangup", {"order": 7})
    assert call.ended_at is not None and call.ended_at.tzinfo is not None
    assert client.calls.events(call.id).data == events
    assert client.calls.transcript(call.id).data[0].role == "agent"
    transcript = list(client.calls.stream_transcript(call.id))
    assert transcript[0].line is not None and transcript[0].line.text.startswith("Hello")
    assert transcript[-1].event == "end" and transcript[-1].status == "completed"
    assert client.calls.recording(call.id).startswith(b"RIFF")
    assert client.calls.recording(call.id, range="bytes=0-3") == b"RIFF"
    assert client.calls.decisions(call.id).data == []
    assert list(client.calls.list_deliveries(call.id)) == []


def test_a_failed_call_says_why(client: Switchhook, tenant: Tenant) -> None:
    placed = client.calls.create(agent_id=tenant.agent_id, to=SIMULATED["busy"])
    call = client.calls.wait(placed.id, timeout=30)
    assert (call.status, call.error_code) == ("failed", "busy")


def test_a_live_call_is_controlled(client: Switchhook, tenant: Tenant) -> None:
    placed = client.calls.create(agent_id=tenant.agent_id, to=SIMULATED["holds"])
    for event in client.calls.stream_events(placed.id):
        if event.event == "call.in_progress":
            break
    assert client.calls.say(placed.id, text="One moment, please.").status == "in_progress"
    assert client.calls.send_dtmf(placed.id, digits="12#").id == placed.id
    assert client.calls.listen(placed.id).url.startswith("ws")
    with pytest.raises(WaitTimeoutError, match="had not ended after 0.3 seconds"):
        client.calls.wait(placed.id, timeout=0.3)
    client.calls.hang_up(placed.id)
    ended = client.calls.wait(placed.id, timeout=30)
    assert ended.end_reason == "api_hangup"
    with pytest.raises(ConflictError) as refused:
        client.calls.transfer(placed.id, to="+12025550100")
    assert refused.value.code in ("call_not_in_progress", "call_ended")


def test_lists_fetch_their_pages_and_filters_reach_the_service(client: Switchhook, tenant: Tenant) -> None:
    batch = uuid.uuid4().hex
    begun = datetime.now(timezone.utc) - timedelta(seconds=1)
    placed = [
        client.calls.create(agent_id=tenant.agent_id, to=SIMULATED["answers and ends at once"], metadata={"batch": batch}).id
        for _ in range(5)
    ]
    for one in placed:
        client.calls.wait(one, timeout=30)
    found = client.calls.list(metadata={"batch": batch}, limit=2, status=["completed", "failed"], created_after=begun, from_=tenant.number)
    assert [call.id for call in found] == placed[::-1]
    assert [len(page.data) for page in found.pages()] == [2, 2, 1]
    assert found.first().has_more
    assert list(client.calls.list(metadata={"batch": batch}, status="failed")) == []
    assert [event.call_id for event in client.events.list(limit=1).first().data][0] in placed


def test_an_idempotency_key_places_one_call(client: Switchhook, tenant: Tenant) -> None:
    key = uuid.uuid4().hex
    to = SIMULATED["answers and ends at once"]
    first = client.calls.create(agent_id=tenant.agent_id, to=to, idempotency_key=key)
    assert client.calls.create(agent_id=tenant.agent_id, to=to, idempotency_key=key).id == first.id
    with pytest.raises(ConflictError) as refused:
        client.calls.create(agent_id=tenant.agent_id, to=SIMULATED["busy"], idempotency_key=key)
    assert refused.value.code == "idempotency_key_reused"


def test_agents_are_changed_and_restored(client: Switchhook) -> None:
    made = client.agents.create(name=f"Ben {uuid.uuid4().hex}", instructions="Sell.", greeting={"text": "Hi!"}, nonsense=1)  # type: ignore[call-arg]
    assert made.warnings is not None and "Unknown field nonsense was ignored." in made.warnings
    assert (made.greeting.text, made.limits.ring_timeout_seconds) == ("Hi!", 30)
    changed = client.agents.update(made.id, greeting=None, limits={"ring_timeout_seconds": 20})
    assert (changed.version, changed.greeting.text, changed.limits.ring_timeout_seconds) == (2, "Hello, how can I help you?", 20)
    assert [one.version for one in client.agents.list_versions(made.id)] == [2, 1]
    assert client.agents.get_version(made.id, 1).greeting.text == "Hi!"
    assert client.agents.restore_version(made.id, 1).version == 3
    assert client.agents.get(made.id).version == 3
    assert made.id in [one.id for one in client.agents.list()]
    client.agents.delete(made.id)
    with pytest.raises(NotFoundError):
        client.agents.get(made.id)


def test_the_rest_of_the_tenant(client: Switchhook, tenant: Tenant) -> None:
    key = client.api_keys.create(name="ci", expires_in_days=1)
    with Switchhook(key.key, tenant.url) as other:
        assert other.tenant.get().id == client.tenant.get().id
        assert client.api_keys.get(key.id).name == "ci"
        client.api_keys.revoke(key.id)
        with pytest.raises(AuthenticationError):
            other.tenant.get()
    assert key.id in [one.id for one in client.api_keys.list()]

    assert client.connections.get(tenant.connection_id).provider == "simulator"
    assert client.connections.test(tenant.connection_id).ok
    assert client.connections.update(tenant.connection_id, name="simulator").name == "simulator"
    with pytest.raises(ConflictError) as used:
        client.connections.delete(tenant.connection_id)
    assert used.value.code == "connection_in_use"
    assert len(list(client.connections.list())) >= 2

    number = client.numbers.list().first().data[0]
    assert client.numbers.update(number.id, label="Front desk").label == "Front desk"
    assert client.numbers.get(number.id).number == tenant.number
    inbound = client.simulator.call(to=tenant.number, from_="+12025550111")
    assert client.calls.wait(inbound.id, timeout=30).direction == "inbound"

    person = client.people.invite(email="ava@example.com", role="member")
    assert client.people.update(person.id, role="viewer").role == "viewer"
    assert client.people.get(person.id).status == "invited"
    client.people.remove(person.id)

    assert client.statistics.get(interval="hour").totals.calls >= 1
    assert client.usage.get().totals.calls >= 1
    assert isinstance(client.attention.get().data, list)


def test_a_stream_outlives_a_restart_of_the_service(client: Switchhook, tenant: Tenant, service: Service) -> None:
    tomorrow = datetime.now(timezone.utc) + timedelta(days=1)
    call = client.calls.create(agent_id=tenant.agent_id, to=SIMULATED["busy"], schedule_at=tomorrow)
    stream = client.calls.stream_events(call.id)
    assert next(stream).event == "call.queued"
    service.restart()
    client.calls.hang_up(call.id)
    assert [event.event for event in stream] == ["call.completed"]
    assert client.calls.get(call.id).end_reason == "canceled"


def test_errors_say_what_to_do(client: Switchhook, tenant: Tenant) -> None:
    with pytest.raises(InvalidRequestError) as refused:
        client.agents.create(name="")  # type: ignore[call-arg]
    error = refused.value
    assert error.status == 422 and error.code == "invalid_request" and error.request_id
    assert error.errors[0].path in ("name", "instructions") and error.message in str(error)
    with pytest.raises(NotFoundError) as gone:
        client.calls.get(str(uuid.uuid4()))
    assert gone.value.message == "No such call."
    with pytest.raises(ValueError, match="is not an id"):
        client.calls.get("")
    with Switchhook("vk_dev_wrong", tenant.url) as wrong, pytest.raises(AuthenticationError):
        wrong.tenant.get()


def test_a_quota_is_an_error_with_its_wait(service: Service) -> None:
    key, _ = service.tenant("small", "--rate-limit", "3")
    with Switchhook(key, service.url, max_retries=0) as client, pytest.raises(RateLimitError) as refused:
        for _ in range(4):
            client.tenant.get()
    assert refused.value.code == "rate_limited"
    assert refused.value.retry_after is not None and 1 <= refused.value.retry_after <= 60


async def test_the_same_with_asyncio(tenant: Tenant) -> None:
    async with AsyncSwitchhook(tenant.api_key, tenant.url) as client:
        placed = await client.calls.create(agent_id=tenant.agent_id, to=SIMULATED["answers and ends at once"])
        events = [event.event async for event in client.calls.stream_events(placed.id)]
        assert events[0] == "call.queued" and events[-1] == "call.completed"
        assert (await client.calls.wait(placed.id, timeout=30)).status == "completed"
        assert placed.id in [call.id async for call in client.calls.list(limit=3)]
        assert (await client.calls.list(limit=1).first()).data[0].id == placed.id
        resumed = client.events.stream(last_event_id=(await _event_before(client, placed.id)))
        async for event in resumed:
            # Events of the last seconds can come again.
            if event.call_id == placed.id:
                break
        with pytest.raises(APIError):
            await client.calls.get("no-such-call")


async def _event_before(client: AsyncSwitchhook, call: str) -> str:
    """The id of the last event before those of a call."""
    found = False
    async for event in client.events.list():
        if event.call_id == call:
            found = True
        elif found:
            return event.id
    raise AssertionError("There is no earlier event.")
