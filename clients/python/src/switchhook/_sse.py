"""Server-sent events: lines to events. No I/O."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

#: Connections in a row that were lost and brought nothing before a stream gives up.
MAX_FAILURES = 5
#: The service sends an empty comment every 15 seconds.
READ_TIMEOUT = 45.0
#: The last events of a call.
TERMINAL: tuple[str, ...] = ("call.completed", "call.failed")
#: Around a reconnect an event can come twice.
REMEMBERED = 1000


@dataclass(frozen=True)
class ServerEvent:
    event: str
    data: str
    id: str

    def json(self) -> Any:
        return json.loads(self.data)


class Decoder:
    """Give it the bytes as they come. Only line feeds end lines: spoken text can have U+2028, at which `splitlines` splits too."""

    def __init__(self) -> None:
        self._rest = b""
        self._event = ""
        self._data: list[str] = []
        self._id = ""

    def feed(self, chunk: bytes) -> list[ServerEvent]:
        """The events that these bytes complete."""
        *lines, self._rest = (self._rest + chunk).split(b"\n")
        found = [self._line(line.removesuffix(b"\r").decode(errors="replace")) for line in lines]
        return [event for event in found if event is not None]

    def _line(self, line: str) -> ServerEvent | None:
        if not line:
            return self._complete()
        name, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if name == "event":
            self._event = value
        elif name == "data":
            self._data.append(value)
        elif name == "id" and "\0" not in value:
            self._id = value
        return None

    def _complete(self) -> ServerEvent | None:
        event = ServerEvent(self._event or "message", "\n".join(self._data), self._id) if self._data else None
        self._event, self._data = "", []
        return event


class Position:
    """The position of a stream: the event it resumes after, and whether it has ended."""

    def __init__(self, last_event_id: str | None, last: tuple[str, ...]) -> None:
        self.last_event_id: str | None = last_event_id
        self.ended: bool = False
        #: Whether the service was ever there.
        self.connected: bool = False
        #: Connections in a row that brought nothing, with this one until something comes. Each waits longer than the one before.
        self.fruitless: int = 0
        self._failures = 0
        self._last = last
        self._seen: dict[str, None] = {} if last_event_id is None else {last_event_id: None}

    def headers(self) -> dict[str, str]:
        resume = {} if self.last_event_id is None else {"Last-Event-ID": self.last_event_id}
        return {"Accept": "text/event-stream", **resume}

    def begin(self) -> None:
        """A connection is about to be made."""
        self.fruitless += 1
        self._failures += 1

    def alive(self) -> None:
        """Something came, if only a comment."""
        self.fruitless = self._failures = 0

    def closed(self) -> None:
        """The service ended the stream in good order, as a node does that is stopping: it is there, so this is no reason to give up."""
        self._failures = 0

    def gives_up(self) -> bool:
        """After a lost connection: whether the service was never there, or is gone for long."""
        return not self.connected or self._failures >= MAX_FAILURES

    def is_new(self, event: ServerEvent) -> bool:
        self.ended = event.event in self._last
        if not event.id:
            return True
        self.last_event_id = event.id
        if event.id in self._seen:
            return False
        self._seen[event.id] = None
        if len(self._seen) > REMEMBERED:
            del self._seen[next(iter(self._seen))]
        return True
