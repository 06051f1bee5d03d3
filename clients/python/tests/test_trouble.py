"""The client against a service in trouble."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import Any

import httpx
import pytest
from double import Answer, Double, problem

from switchhook import (
    APIConnectionError,
    APIError,
    APITimeoutError,
    AsyncSwitchhook,
    NotFoundError,
    RateLimitError,
    ServerError,
    Switchhook,
    SwitchhookError,
    WaitTimeoutError,
)
from switchhook._sse import Decoder, ServerEvent

CALL = {"id": "c1", "status": "queued", "from": "+12025550199", "to": "+12025550100"}


@pytest.fixture
def waits(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """How long the client waited; it does not wait in fact."""
    waited: list[float] = []

    async def wait(seconds: float) -> None:
        waited.append(seconds)

    monkeypatch.setattr("switchhook._transport.time.sleep", waited.append)
    monkeypatch.setattr("switchhook._async_transport.asyncio.sleep", wait)
    return waited


def client(double: Double, **options: Any) -> Switchhook:
    return Switchhook("vk_dev_any", double.url, **options)


def scripted(answer: Callable[[httpx.Request], httpx.Response]) -> Switchhook:
    """Against no server at all, for what depends on the clock or on the network."""
    return Switchhook("vk_dev_any", http_client=httpx.Client(transport=httpx.MockTransport(answer)))


def test_retry_after_is_honoured(waits: list[float]) -> None:
    with Double(problem(429, "rate_limited", Retry_After="7"), Answer(201, CALL)) as double:
        assert client(double).calls.create(agent_id="a", to="+12025550100").id == "c1"
    assert waits == [7]


def test_a_quota_that_is_free_next_month_is_an_error_at_once(waits: list[float]) -> None:
    with Double(problem(429, "quota_exceeded", Retry_After="86400")) as double, pytest.raises(RateLimitError) as refused:
        client(double).calls.create(agent_id="a", to="+12025550100")
    assert (refused.value.retry_after, refused.value.code, waits) == (86400, "quota_exceeded", [])


def test_a_call_is_placed_again_with_the_same_generated_key(waits: list[float]) -> None:
    answers = [
        problem(500, "internal_error"),
        Answer(reset=True),
        problem(503, "unavailable", Retry_After="1"),
        problem(409, "request_in_progress", Retry_After="1"),
        Answer(201, CALL),
    ]
    with Double(*answers) as double:
        made = client(double)
        assert made.calls.create(agent_id="a", to="+12025550100", from_="+12025550199").id == "c1"
        double.answers.append(Answer(201, CALL))
        made.calls.create(agent_id="a", to="+12025550100")
    keys = double.keys()
    assert len(keys) == 6 and keys[0] and len(set(keys[:5])) == 1, "the same key each time"
    assert keys[5] not in keys[:5], "a new key for a new call"
    assert all(one.body == {"agent_id": "a", "to": "+12025550100", "from": "+12025550199"} for one in double.received[:5])
    assert len(waits) == 4 and 0.3 < waits[0] <= 0.5 and 0.7 < waits[1] <= 1 and waits[2:] == [1, 1]


def test_a_given_key_is_kept(waits: list[float]) -> None:
    with Double(problem(500, "internal_error"), Answer(201, CALL)) as double:
        client(double).calls.create(agent_id="a", to="+12025550100", idempotency_key="order-7")
    assert double.keys() == ["order-7", "order-7"]


def test_what_could_be_done_twice_is_not_sent_twice(waits: list[float]) -> None:
    with Double(problem(500, "internal_error")) as double, pytest.raises(ServerError):
        client(double).agents.create(name="Ava", instructions="Sell.")
    assert len(double.received) == 1
    with Double(Answer(reset=True)) as double, pytest.raises(APIConnectionError):
        client(double).webhooks.create(url="https://example.com")
    assert len(double.received) == 1
    # The service refused this one before it did anything.
    with Double(problem(429, "rate_limited", Retry_After="1"), Answer(201, {"id": "a1"})) as double:
        assert client(double).agents.create(name="Ava", instructions="Sell.").id == "a1"


def test_retries_end(waits: list[float]) -> None:
    with Double(*[problem(503, "unavailable")] * 9) as double, pytest.raises(ServerError) as refused:
        client(double, max_retries=2).tenant.get()
    assert (len(double.received), refused.value.code, len(waits)) == (3, "unavailable", 2)


def test_a_deletion_whose_answer_was_lost_succeeds(waits: list[float]) -> None:
    with Double(Answer(reset=True), problem(404, "not_found")) as double:
        client(double).agents.delete("a1")
    with Double(problem(500, "internal_error"), problem(404, "not_found")) as double:
        client(double).agents.delete("a1")
    with Double(problem(404, "not_found")) as double, pytest.raises(NotFoundError):
        client(double).agents.delete("a1")
    # The rate limit refused the first attempt before it did anything.
    with Double(problem(429, "rate_limited", Retry_After="1"), problem(404, "not_found")) as double, pytest.raises(NotFoundError):
        client(double).agents.delete("a1")


def test_a_deletion_that_was_never_sent_has_deleted_nothing(waits: list[float]) -> None:
    refusals = [httpx.ConnectError("refused")]

    def answer(_: httpx.Request) -> httpx.Response:
        if refusals:
            raise refusals.pop()
        return httpx.Response(404, json={})

    with scripted(answer) as made, pytest.raises(NotFoundError):
        made.agents.delete("a1")
    assert len(waits) == 1


def test_a_slow_service_is_a_timeout() -> None:
    # The double answers in the end: who does not give up gets that answer.
    with Double(Answer(200, {}, until=threading.Event())) as double, pytest.raises(APITimeoutError):
        client(double, timeout=0.2, max_retries=0).tenant.get()


def test_a_service_that_is_not_there(waits: list[float]) -> None:
    with Double() as double:
        url = double.url
    with pytest.raises(APIConnectionError):
        Switchhook("vk_dev_any", url).agents.create(name="Ava", instructions="Sell.")
    assert len(waits) == 4, "a connection that was never made is tried again, whatever the request"


def test_a_mistake_of_the_caller_is_not_trouble_of_the_network(waits: list[float]) -> None:
    with pytest.raises(SwitchhookError, match="cannot be sent") as refused:
        Switchhook("vk_dev_any", "localhost:8080").tenant.get()
    assert not isinstance(refused.value, APIConnectionError)
    with Double() as double, pytest.raises(SwitchhookError, match="cannot be sent"):
        client(double).calls.create(agent_id="a", to="+12025550100", idempotency_key="order 7\n")
    with pytest.raises(SwitchhookError, match="cannot be sent"):
        next(Switchhook("vk_dev_any", "localhost:8080").events.stream())
    assert (double.received, waits) == ([], [])


def test_an_error_that_is_not_json(waits: list[float]) -> None:
    with Double(Answer(502, None, {"X-Request-Id": "r1"})) as double, pytest.raises(ServerError) as refused:
        client(double, max_retries=0).tenant.get()
    assert (refused.value.status, refused.value.code, refused.value.request_id) == (502, "http_502", "r1")


@pytest.mark.parametrize("body", [None, [1], "page"])
def test_a_success_that_is_not_from_the_service(body: object) -> None:
    with Double(Answer(200, body), Answer(200, body)) as double:
        for ask in (lambda: client(double).tenant.get(), lambda: list(client(double).calls.list())):
            with pytest.raises(APIError) as refused:
                ask()
            assert refused.value.code == "http_200"


def test_the_parts_of_an_error() -> None:
    with Double(problem(422, "invalid_request")) as double, pytest.raises(APIError) as refused:
        client(double).calls.get("c1")
    error = refused.value
    assert (error.code, error.message, error.errors[0].path) == ("invalid_request", "In trouble.", "to")
    assert error.request_id == "019a9d0c-5a5e-7c41-b0a5-3f1f4be0a9d1"


def test_what_a_later_service_sends_is_read() -> None:
    answer = {
        **CALL,
        "status": "on_hold",
        "turns": "many",
        "mood": {"happy": True},
        "created_at": "later",
        "carrier": {"provider": "pigeon"},
    }
    with Double(Answer(200, answer)) as double:
        call = client(double).calls.get("c1")
    found: list[object] = [call.status, call.turns, call.created_at, call.carrier.provider, call.carrier.cause]
    assert found == ["on_hold", "many", "later", "pigeon", None]
    assert call.model_extra == {"mood": {"happy": True}}
    assert call.ended_at is None, "an older service sends less"


def event(number: int, name: str, text: str = "") -> bytes:
    return f'id: {number}\nevent: {name}\ndata: {{"sequence":{number},"event":"{name}","data":{{"to":"{text}"}}}}\n\n'.encode()


STREAM = {"Content-Type": "text/event-stream"}


def test_a_stream_goes_on_after_the_last_event(waits: list[float]) -> None:
    first = b": a comment\n\n" + event(1, "call.queued", "\u2028one line") + event(2, "call.dialing")[:-1]
    with Double(
        Answer(200, headers=STREAM, cut=first),
        problem(503, "unavailable"),
        Answer(200, headers=STREAM, cut=event(1, "call.queued") + event(2, "call.dialing")),
        Answer(200, headers=STREAM, cut=event(3, "call.completed")),
    ) as double:
        events = list(client(double).calls.stream_events("c1"))
    assert [one.sequence for one in events] == [1, 2, 3]
    assert events[0].data["to"] == "\u2028one line"
    assert [one.headers.get("last-event-id") for one in double.received] == [None, "1", "1", "2"]


def test_events_come_in_any_pieces() -> None:
    decoder = Decoder()
    data = ": comment\r\nretry: 5\r\n\r\nid: 7\r\nevent: line\r\ndata:a\u2028é\r\ndata: b\r\n\r\ndata: c\n\n".encode()
    events = [event for byte in data for event in decoder.feed(bytes([byte]))]
    assert events == [ServerEvent("line", "a\u2028é\nb", "7"), ServerEvent("message", "c", "7")]


def test_a_stream_of_an_ended_call_is_empty() -> None:
    with Double(Answer(204)) as double:
        assert list(client(double).calls.stream_events("c1", last_event_id="5")) == []
    assert double.received[0].headers["last-event-id"] == "5"


def test_a_stream_gives_up_when_the_service_stays_away(waits: list[float]) -> None:
    with Double(Answer(200, headers=STREAM, cut=event(1, "call.queued"))) as double:
        stream = client(double, max_retries=0).calls.stream_events("c1")
        assert next(stream).sequence == 1
    with pytest.raises(APIConnectionError):
        next(stream)
    assert 4 <= len(waits) <= 6


DRAINING = Answer(200, headers=STREAM)


def backoffs(waits: list[float]) -> list[float]:
    """Without their random part: rounded up to the delay that was drawn from."""
    return [next(full for full in (0.5, 1, 2, 4, 8) if 0.75 * full <= wait <= full) for wait in waits]


def test_a_node_that_is_stopping_is_asked_less_and_less_often(waits: list[float]) -> None:
    first = Answer(200, headers=STREAM, cut=event(1, "call.queued"))
    last = Answer(200, headers=STREAM, cut=event(2, "call.completed"))
    with Double(*[DRAINING] * 7, Answer(reset=True), first, DRAINING, last) as double:
        events = list(client(double, max_retries=0).calls.stream_events("c1"))
    assert [one.sequence for one in events] == [1, 2], "it does not give up, for the service is there"
    # After what brought something it comes back at once, and the next delay is short again.
    assert backoffs(waits) == [0.5, 1, 2, 4, 8, 8, 8, 8, 0.5]
    assert len(double.received) == 11


def test_a_stream_outlives_a_service_that_is_away(waits: list[float]) -> None:
    answers = [
        Answer(200, headers=STREAM, cut=event(1, "call.queued")),
        problem(502, "bad_gateway"),
        problem(503, "unavailable", Retry_After="7"),
        problem(504, "timeout"),
        Answer(200, headers=STREAM, cut=event(2, "call.completed")),
    ]
    with Double(*answers) as double:
        assert [one.sequence for one in client(double, max_retries=0).calls.stream_events("c1")] == [1, 2]
    assert waits[1] == 7 and backoffs([waits[0], waits[2]]) == [0.5, 2]
    with Double(answers[0], *[problem(503, "unavailable")] * 9) as double, pytest.raises(ServerError):
        list(client(double, max_retries=0).calls.stream_events("c1"))
    assert len(double.received) == 6, "not for ever"
    with Double(problem(503, "unavailable")) as double, pytest.raises(ServerError):
        list(client(double, max_retries=0).calls.stream_events("c1"))
    assert len(double.received) == 1, "it was never there"


@pytest.mark.parametrize("kind", ["application/json", "text/html; charset=utf-8", "text/event-stream-like"])
def test_a_success_that_is_not_a_stream(waits: list[float], kind: str) -> None:
    with Double(Answer(200, "page", {"Content-Type": kind})) as double, pytest.raises(APIError) as refused:
        list(client(double).calls.stream_events("c1"))
    assert (refused.value.code, refused.value.body, len(double.received)) == ("http_200", "page", 1)


class Clock:
    """Moves only when the client waits, or as the test says."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 1000.0
        monkeypatch.setattr("switchhook._deadline.monotonic", lambda: self.now)
        monkeypatch.setattr("switchhook._transport.time.sleep", self.wait)

    def wait(self, seconds: float) -> None:
        self.now += seconds


@pytest.mark.parametrize("there", [True, False])
def test_waiting_for_a_call_ends_in_time_whatever_the_service_does(monkeypatch: pytest.MonkeyPatch, there: bool) -> None:
    clock = Clock(monkeypatch)
    answers = [DRAINING if there else problem(503, "unavailable", Retry_After="30")] * 9
    with Double(*answers) as double, pytest.raises(WaitTimeoutError, match="Call c1 had not ended after 5 seconds"):
        client(double).calls.wait("c1", timeout=5)
    assert clock.now == 1005
    assert len(double.received) == (4 if there else 1)


def test_waiting_for_a_call_ends_in_time_on_a_stream_that_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock(monkeypatch)
    opened: list[float] = []

    def stream(request: httpx.Request) -> httpx.Response:
        patience = request.extensions["timeout"]["read"]
        opened.append(clock.now - 1000)

        def comments() -> Iterator[bytes]:
            while patience >= 15:
                clock.wait(15)
                yield b":\n\n"
            clock.wait(patience)
            raise httpx.ReadTimeout("")

        return httpx.Response(200, headers=STREAM, content=comments())

    with scripted(stream) as made, pytest.raises(WaitTimeoutError):
        made.calls.wait("c1", timeout=100)
    assert clock.now == 1100
    # How long a read may take is fixed for a connection: near the end others replace it.
    assert opened == [0, 60, 75, 90]


@pytest.mark.parametrize("answers", [[], [Answer(204)]])
async def test_waiting_for_a_call_ends_in_time_on_a_silent_service(answers: list[Answer]) -> None:
    with Double(*answers, Answer(until=threading.Event())) as double, pytest.raises(WaitTimeoutError):
        client(double, max_retries=0).calls.wait("c1", timeout=0.2)
    with Double(*answers, Answer(until=threading.Event())) as double:
        async with AsyncSwitchhook("vk_dev_any", double.url) as made:
            with pytest.raises(WaitTimeoutError):
                await made.calls.wait("c1", timeout=0.2)
    # On a busy machine the time may be over before a request arrives; what counts is that none is repeated.
    assert len(double.received) <= len(answers) + 1


def test_waiting_for_a_call_returns_it(waits: list[float]) -> None:
    ended = {**CALL, "status": "completed", "ended_at": "2026-01-05T12:10:00Z"}
    with Double(Answer(200, headers=STREAM, cut=event(1, "call.completed")), Answer(200, ended)) as double:
        assert client(double).calls.wait("c1", timeout=60).status == "completed"


async def test_asyncio_does_the_same(waits: list[float]) -> None:
    answers = [problem(500, "internal_error"), Answer(reset=True), problem(429, "rate_limited", Retry_After="3"), Answer(201, CALL)]
    with Double(*answers) as double:
        async with AsyncSwitchhook("vk_dev_any", double.url) as made:
            assert (await made.calls.create(agent_id="a", to="+12025550100")).id == "c1"
            assert len(set(double.keys())) == 1 and double.keys()[0]
            assert waits[-1] == 3
            double.answers += [problem(500, "internal_error")]
            with pytest.raises(ServerError):
                await made.agents.create(name="Ava", instructions="Sell.")
            double.answers += [
                Answer(200, headers=STREAM, cut=event(1, "call.queued")),
                Answer(200, headers=STREAM, cut=event(2, "call.failed")),
            ]
            assert [one.sequence async for one in made.calls.stream_events("c1")] == [1, 2]
            waits.clear()
            double.answers += [DRAINING, DRAINING, Answer(200, headers=STREAM, cut=event(2, "call.failed"))]
            assert [one.sequence async for one in made.calls.stream_events("c1")] == [2]
            assert backoffs(waits) == [0.5, 1]
            page = {"data": [CALL], "has_more": True, "next_cursor": "n"}
            double.answers += [Answer(200, page), Answer(200, {**page, "has_more": False, "next_cursor": None})]
            assert len([one async for one in made.calls.list(status="queued")]) == 2
            assert double.received[-1].path == "/v1/calls?status=queued&cursor=n"


def test_the_key_stays_out_of_what_is_printed() -> None:
    made = Switchhook("vk_dev_secret", "http://127.0.0.1:1")
    assert "secret" not in repr(made) and "secret" not in repr(vars(made)["_options"])


def test_settings_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    with Double(Answer(200, {"id": "t1"})) as double:
        monkeypatch.setenv("SWITCHHOOK_API_KEY", "vk_dev_named")
        monkeypatch.setenv("SWITCHHOOK_URL", double.url + "/")
        assert Switchhook().tenant.get().id == "t1"
    assert double.received[0].headers["authorization"] == "Bearer vk_dev_named"
    assert double.received[0].headers["user-agent"].startswith("switchhook-python/")
    monkeypatch.delenv("SWITCHHOOK_API_KEY")
    with pytest.raises(Exception, match="SWITCHHOOK_API_KEY"):
        Switchhook()


@pytest.fixture
def proxy(monkeypatch: pytest.MonkeyPatch) -> Iterator[Double]:
    """A proxy that the environment names, as in companies."""
    for name in ("no_proxy", "NO_PROXY", "all_proxy", "ALL_PROXY", "REQUEST_METHOD"):
        monkeypatch.delenv(name, raising=False)
    with Double(Answer(200, {"id": "t2"})) as double:
        for name in ("http_proxy", "HTTP_PROXY"):
            monkeypatch.setenv(name, double.url)
        yield double


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
async def test_a_service_on_this_machine_is_reached_without_a_proxy(proxy: Double, host: str) -> None:
    with Double(Answer(200, {"id": "t1"}), Answer(200, {"id": "t1"})) as double:
        url = double.url.replace("127.0.0.1", host)
        assert Switchhook("vk_dev_any", url).tenant.get().id == "t1"
        async with AsyncSwitchhook("vk_dev_any", url) as made:
            assert (await made.tenant.get()).id == "t1"
    assert proxy.received == []


def test_other_services_are_reached_through_the_proxy(proxy: Double) -> None:
    assert Switchhook("vk_dev_any", "http://voice.example.com").tenant.get().id == "t2"
    assert proxy.received[0].path == "http://voice.example.com/v1/tenant"
