# Written by generate.py from _async_transport.py: do not edit.
"""Sends requests, and sends them again."""

from __future__ import annotations

import time
from collections.abc import Generator, Callable
from contextlib import closing
from typing import TypeVar

import httpx

from ._errors import APIConnectionError, connection_error, error_of, object_of
from ._model import Model
from ._options import Options
from ._pages import Pages
from ._request import Request, backoff, delay_after_error, delay_after_failure
from ._sse import READ_TIMEOUT, Decoder, Position, ServerEvent

M = TypeVar("M", bound=Model)
E = TypeVar("E")


class Transport:
    def __init__(self, options: Options, http: httpx.Client) -> None:
        self.options: Options = options
        self.http: httpx.Client = http

    def send(self, request: Request) -> httpx.Response:
        """The response, read, of a request that succeeded."""
        return self._attempts(request, stream=False, read_timeout=None)

    def open(self, request: Request, read_timeout: float) -> httpx.Response:
        """The same, not yet read: close it."""
        return self._attempts(request, stream=True, read_timeout=read_timeout)

    def _attempts(self, request: Request, stream: bool, read_timeout: float | None) -> httpx.Response:
        attempt = 0
        while True:
            last = attempt >= self.options.max_retries
            try:
                response = self.http.send(self.http.build_request(**self.options.arguments(request, read_timeout)), stream=stream)
                if response.is_success:
                    return response
                response.read()
            except httpx.TransportError as failure:
                delay = None if last else delay_after_failure(request, failure, attempt)
                if delay is None:
                    raise connection_error(failure) from failure
            else:
                error = error_of(response)
                if error.status == 404 and request.method == "DELETE" and attempt > 0:
                    return response  # An earlier attempt has deleted it; only its answer was lost.
                delay = None if last else delay_after_error(request, error, attempt)
                if delay is None:
                    raise error
            attempt += 1
            time.sleep(delay)

    def events(self, request: Request, position: Position, deadline: float | None = None) -> Generator[ServerEvent | None, None, None]:
        """The events of a stream, across reconnects; `None` whenever there is time to look at the clock."""
        while not position.ended:
            request.headers |= position.headers()
            remaining = READ_TIMEOUT if deadline is None else min(READ_TIMEOUT, max(0.05, deadline - time.monotonic()))
            try:
                response = self.open(request, remaining)
                try:
                    if response.status_code == 204:
                        return
                    position.alive()
                    for event in _read(response, position):
                        yield event
                finally:
                    response.close()
                position.failures += 1
            except (httpx.TransportError, APIConnectionError) as failure:
                if position.lost():
                    raise (connection_error(failure) if isinstance(failure, httpx.TransportError) else failure) from failure
            if not position.ended:
                yield None
                if position.failures > 1:
                    time.sleep(backoff(position.failures - 2))


def _read(response: httpx.Response, position: Position) -> Generator[ServerEvent | None, None, None]:
    decoder = Decoder()
    for chunk in response.iter_bytes():
        position.alive()
        for event in decoder.feed(chunk):
            if position.is_new(event):
                yield event
            if position.ended:
                return
        yield None


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
                if event is not None:
                    yield parse(event)
