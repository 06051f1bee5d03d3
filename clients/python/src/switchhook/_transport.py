# Written by generate.py from _async_transport.py: do not edit.
"""Sends requests, and sends them again."""

from __future__ import annotations

import time
from collections.abc import Generator, Callable
from contextlib import closing
from typing import TypeVar

import httpx

from ._deadline import NEVER, Deadline
from ._errors import APIConnectionError, APIError, SwitchhookError, connection_error, error_of, object_of
from ._model import Model
from ._options import Options
from ._pages import Pages
from ._request import AWAY, MAYBE_DONE, MISTAKES, Request, backoff, delay_after_error, delay_after_failure, never_sent
from ._sse import READ_TIMEOUT, Decoder, Position, ServerEvent

M = TypeVar("M", bound=Model)
E = TypeVar("E")


class Transport:
    def __init__(self, options: Options, http: httpx.Client) -> None:
        self.options: Options = options
        self.http: httpx.Client = http

    def send(self, request: Request, deadline: Deadline = NEVER) -> httpx.Response:
        """The response, read, of a request that succeeded."""
        return self._attempts(request, deadline, stream=False, read_timeout=self.options.timeout)

    def open(self, request: Request, read_timeout: float, deadline: Deadline) -> httpx.Response:
        """The same, not yet read: close it."""
        return self._attempts(request, deadline, stream=True, read_timeout=read_timeout)

    def _attempts(self, request: Request, deadline: Deadline, *, stream: bool, read_timeout: float) -> httpx.Response:
        attempt, maybe_done = 0, False
        while True:
            deadline.check()
            last = attempt >= self.options.max_retries
            try:
                arguments = self.options.arguments(request, deadline.limit(read_timeout))
                response = self.http.send(self.http.build_request(**arguments), stream=stream)
                if response.is_success:
                    return response
                response.read()
            except MISTAKES as mistake:
                raise SwitchhookError(f"The request cannot be sent: {mistake}") from mistake
            except httpx.TransportError as failure:
                deadline.check()
                maybe_done = maybe_done or not never_sent(failure)
                delay = None if last else delay_after_failure(request, failure, attempt)
                if delay is None:
                    raise connection_error(failure) from failure
            else:
                error = error_of(response)
                if error.status == 404 and request.method == "DELETE" and maybe_done:
                    return response  # An earlier attempt has deleted it; only its answer was lost.
                maybe_done = maybe_done or error.status in MAYBE_DONE
                delay = None if last else delay_after_error(request, error, attempt)
                if delay is None:
                    raise error
            attempt += 1
            time.sleep(deadline.limit(delay))

    def events(self, request: Request, position: Position, deadline: Deadline = NEVER) -> Generator[ServerEvent, None, None]:
        """The events of a stream, across reconnects."""
        while not position.ended:
            position.begin()
            request.headers |= position.headers()
            delay = backoff(position.fruitless - 1)
            patience = deadline.limit(READ_TIMEOUT)
            try:
                response = self.open(request, patience, deadline)
                try:
                    if response.status_code == 204:
                        return
                    _expect_events(response)
                    position.connected = True
                    for event in _read(response, position, deadline, patience):
                        yield event
                finally:
                    response.close()
                position.closed()
            except (httpx.TransportError, APIConnectionError) as failure:
                deadline.check()
                if position.gives_up():
                    raise (connection_error(failure) if isinstance(failure, httpx.TransportError) else failure) from failure
            except APIError as error:
                asked = delay_after_error(request, error, position.fruitless - 1) if error.status in AWAY else None
                if asked is None or position.gives_up():
                    raise
                delay = asked
            if position.fruitless and not position.ended:
                time.sleep(deadline.limit(delay))


def _expect_events(response: httpx.Response) -> None:
    """A proxy's page is an error."""
    if response.headers.get("content-type", "").partition(";")[0].strip().lower() != "text/event-stream":
        response.read()
        raise error_of(response)


def _read(response: httpx.Response, position: Position, deadline: Deadline, patience: float) -> Generator[ServerEvent, None, None]:
    decoder = Decoder()
    for chunk in response.iter_bytes():
        position.alive()
        for event in decoder.feed(chunk):
            if position.is_new(event):
                yield event
            if position.ended:
                return
        deadline.check()
        if not deadline.allows(patience):
            return  # The next read would wait for too long, and how long is fixed for a connection: make another.


class Resource:
    def __init__(self, transport: Transport) -> None:
        self._transport: Transport = transport

    def _send(self, request: Request) -> httpx.Response:
        return self._transport.send(request)

    def _model(self, request: Request, kind: type[M]) -> M:
        return kind.model_validate(object_of(self._send(request)))

    def _pages(self, request: Request, kind: type[M]) -> Pages[M]:
        return Pages(self._send, request, kind)

    def _stream(
        self, request: Request, parse: Callable[[ServerEvent], E], last: tuple[str, ...], last_event_id: str | None
    ) -> Generator[E, None, None]:
        found = self._transport.events(request, Position(last_event_id, last))
        with closing(found):
            for event in found:
                yield parse(event)
