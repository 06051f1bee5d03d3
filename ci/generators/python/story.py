"""What each generated client is used for; see Client."""

import json
import os
import queue
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Protocol
from uuid import UUID, uuid4

import httpx
from standardwebhooks import Webhook

URL = os.environ["SWITCHHOOK_URL"]
KEY = os.environ["SWITCHHOOK_API_KEY"]
SMALL_KEY = os.environ["SWITCHHOOK_SMALL_KEY"]
# The id of no agent.
UNKNOWN = UUID("0198c6a0-0000-7000-8000-000000000000")

# Numbers of the simulator.
HANGS_UP_IN_A_SENTENCE = "+12025550108"
BUSY = "+12025550101"
ENDS = {"call.completed", "call.failed"}


@dataclass(frozen=True)
class Refusal:
    """What a typed error said."""

    status: int
    code: str
    path: str | None = None
    retry_after: str | None = None


@dataclass(frozen=True)
class Page:
    ids: list[UUID]
    next_cursor: UUID | None


@dataclass(frozen=True)
class Event:
    kind: str
    call_id: UUID
    sequence: int


class Client(Protocol):
    """A generated client, in the types of its own."""

    def connect(self, name: str, provider: str, settings: dict[str, Any]) -> UUID: ...
    def agent(self, connection: UUID) -> UUID: ...
    def number(self, connection: UUID) -> UUID: ...
    def webhook(self, url: str) -> str: ...
    def call(self, agent: UUID, to: str, batch: str, key: str) -> UUID: ...
    def calls(self, batch: str, cursor: UUID | None) -> Page:
        """A page of one call that is completed or failed and has this metadata."""

    def greet(self, agent: UUID, text: str) -> None: ...
    def greeting(self, agent: UUID) -> tuple[str, str]:
        """The agent's name, and the text of its greeting."""

    def call_unknown_agent(self) -> Refusal: ...
    def list_agents(self, key: str) -> Refusal | None: ...
    def event(self, sent: dict[str, Any]) -> Event:
        """What a stream sent."""

    def delivered(self, body: dict[str, Any]) -> Event:
        """What a webhook received."""


class Receiver:
    """Takes deliveries of webhooks."""

    def __init__(self) -> None:
        deliveries: queue.Queue[tuple[dict[str, str], bytes]] = queue.Queue()

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                deliveries.put((dict(self.headers), self.rfile.read(int(self.headers["Content-Length"]))))
                self.send_response(204)
                self.end_headers()

            def log_message(self, format: str, *args: object) -> None:
                """Says nothing."""

        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        self.deliveries = deliveries
        self.url = f"http://127.0.0.1:{server.server_address[1]}/hooks"


def stream(call: UUID) -> Iterator[dict[str, Any]]:
    """The events of a call as they happen; generated clients for Python wait for the end of a response."""
    request = httpx.stream("GET", f"{URL}/v1/calls/{call}/events/stream", headers={"Authorization": f"Bearer {KEY}"}, timeout=60)
    with request as response:
        for line in response.iter_lines():
            if line.startswith("data:"):
                yield json.loads(line.removeprefix("data:"))


def same(found: object, expected: object) -> None:
    if found != expected:
        raise AssertionError(f"{found!r} instead of {expected!r}")


def tell(client: Client) -> None:
    receiver = Receiver()
    scripted = client.connect("no models", "scripted", {})
    agent = client.agent(scripted)
    client.number(client.connect("simulator", "simulator", {"time_scale": 0.05}))
    secret = client.webhook(receiver.url)

    batch, key = str(uuid4()), str(uuid4())
    completed = client.call(agent, HANGS_UP_IN_A_SENTENCE, batch, key)
    same(client.call(agent, HANGS_UP_IN_A_SENTENCE, batch, key), completed)
    streamed = [client.event(sent) for sent in stream(completed)]
    same([event.sequence for event in streamed], list(range(1, len(streamed) + 1)))
    same((streamed[0].kind, streamed[-1].kind), ("call.queued", "call.completed"))
    failed = client.call(agent, BUSY, batch, str(uuid4()))
    same([client.event(sent).kind for sent in stream(failed)][-1], "call.failed")
    other = client.call(agent, BUSY, "another", str(uuid4()))
    same([client.event(sent).kind for sent in stream(other)][-1], "call.failed")

    first = client.calls(batch, None)
    same(first.ids, [failed])
    same(client.calls(batch, first.next_cursor), Page([completed], None))

    client.greet(agent, "Good morning!")
    same(client.greeting(agent), ("Ava", "Good morning!"))

    same(client.call_unknown_agent(), Refusal(422, "invalid_request", path="agent_id"))
    refusal = first_refusal(lambda: client.list_agents(SMALL_KEY))
    same((refusal.status, refusal.code), (429, "rate_limited"))
    same(int(refusal.retry_after or 0) > 0, True)

    receive(client, receiver, Webhook(secret), {completed, failed, other}, streamed)


def first_refusal(send: Callable[[], Refusal | None]) -> Refusal:
    """Three requests are allowed."""
    for _ in range(4):
        if refusal := send():
            return refusal
    raise AssertionError("four requests were allowed")


def receive(client: Client, receiver: Receiver, webhook: Webhook, calls: set[UUID], streamed: list[Event]) -> None:
    """Verifies and parses deliveries until each call has ended, and compares those of the streamed call."""
    delivered: list[Event] = []
    wanted = Counter(event.call_id for event in streamed)
    while calls - {event.call_id for event in delivered if event.kind in ENDS} or any(
        sum(event.call_id == call for event in delivered) < count for call, count in wanted.items()
    ):
        headers, body = receiver.deliveries.get(timeout=60)
        delivered.append(client.delivered(webhook.verify(body, headers)))
    of_streamed = [event for event in delivered if event.call_id in wanted]
    same(sorted(of_streamed, key=lambda event: event.sequence), streamed)
