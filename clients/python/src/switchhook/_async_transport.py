"""Sends requests, and sends them again."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from typing import TypeVar

import httpx

from ._errors import APIConnectionError, connection_error, error_of, object_of
from ._model import Model
from ._options import Options
from ._pages import AsyncPages
from ._request import Request, backoff, delay_after_error, delay_after_failure
from ._sse import READ_TIMEOUT, Decoder, Position, ServerEvent

M = TypeVar("M", bound=Model)
E = TypeVar("E")


class AsyncTransport:
    def __init__(self, options: Options, http: httpx.AsyncClient) -> None:
        self.options: Options = options
        self.http: httpx.AsyncClient = http

    async def send(self, request: Request) -> httpx.Response:
        """The response, read, of a request that succeeded."""
        return await self._attempts(request, stream=False, read_timeout=None)

    async def open(self, request: Request, read_timeout: float) -> httpx.Response:
        """The same, not yet read: close it."""
        return await self._attempts(request, stream=True, read_timeout=read_timeout)

    async def _attempts(self, request: Request, stream: bool, read_timeout: float | None) -> httpx.Response:
        attempt = 0
        while True:
            last = attempt >= self.options.max_retries
            try:
                response = await self.http.send(self.http.build_request(**self.options.arguments(request, read_timeout)), stream=stream)
                if response.is_success:
                    return response
                await response.aread()
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
            await asyncio.sleep(delay)

    async def events(self, request: Request, position: Position, deadline: float | None = None) -> AsyncGenerator[ServerEvent | None, None]:
        """The events of a stream, across reconnects; `None` whenever there is time to look at the clock."""
        while not position.ended:
            request.headers |= position.headers()
            remaining = READ_TIMEOUT if deadline is None else min(READ_TIMEOUT, max(0.05, deadline - time.monotonic()))
            try:
                response = await self.open(request, remaining)
                try:
                    if response.status_code == 204:
                        return
                    position.alive()
                    async for event in _read(response, position):
                        yield event
                finally:
                    await response.aclose()
                position.failures += 1
            except (httpx.TransportError, APIConnectionError) as failure:
                if position.lost():
                    raise (connection_error(failure) if isinstance(failure, httpx.TransportError) else failure) from failure
            if not position.ended:
                yield None
                if position.failures > 1:
                    await asyncio.sleep(backoff(position.failures - 2))


async def _read(response: httpx.Response, position: Position) -> AsyncGenerator[ServerEvent | None, None]:
    decoder = Decoder()
    async for chunk in response.aiter_bytes():
        position.alive()
        for event in decoder.feed(chunk):
            if position.is_new(event):
                yield event
            if position.ended:
                return
        yield None


class AsyncResource:
    def __init__(self, transport: AsyncTransport) -> None:
        self._transport: AsyncTransport = transport

    async def _send(self, request: Request) -> httpx.Response:
        return await self._transport.send(request)

    async def _model(self, request: Request, kind: type[M]) -> M:
        return kind.model_validate(object_of(await self._send(request)))

    def _pages(self, request: Request, kind: type[M]) -> AsyncPages[M]:
        return AsyncPages(self._send, request, kind)

    async def _stream(
        self, request: Request, parse: Callable[[ServerEvent], E], last: tuple[str, ...], last_event_id: str | None
    ) -> AsyncGenerator[E, None]:
        found = self._transport.events(request, Position(last_event_id, last))
        async with aclosing(found):
            async for event in found:
                if event is not None:
                    yield parse(event)
