"""Sends requests, and sends them again."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from typing import TypeVar

import httpx

from ._deadline import NEVER, Deadline
from ._errors import APIConnectionError, APIError, SwitchhookError, connection_error, error_of, object_of
from ._model import Model
from ._options import Options
from ._pages import AsyncPages
from ._request import AWAY, MAYBE_DONE, MISTAKES, Request, backoff, delay_after_error, delay_after_failure, never_sent
from ._sse import READ_TIMEOUT, Decoder, Position, ServerEvent

M = TypeVar("M", bound=Model)
E = TypeVar("E")


class AsyncTransport:
    def __init__(self, options: Options, http: httpx.AsyncClient) -> None:
        self.options: Options = options
        self.http: httpx.AsyncClient = http

    async def send(self, request: Request, deadline: Deadline = NEVER) -> httpx.Response:
        """The response, read, of a request that succeeded."""
        return await self._attempts(request, deadline, stream=False, read_timeout=self.options.timeout)

    async def open(self, request: Request, read_timeout: float, deadline: Deadline) -> httpx.Response:
        """The same, not yet read: close it."""
        return await self._attempts(request, deadline, stream=True, read_timeout=read_timeout)

    async def _attempts(self, request: Request, deadline: Deadline, *, stream: bool, read_timeout: float) -> httpx.Response:
        attempt, maybe_done = 0, False
        while True:
            deadline.check()
            last = attempt >= self.options.max_retries
            try:
                arguments = self.options.arguments(request, deadline.limit(read_timeout))
                response = await self.http.send(self.http.build_request(**arguments), stream=stream)
                if response.is_success:
                    return response
                await response.aread()
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
            await asyncio.sleep(deadline.limit(delay))

    async def events(self, request: Request, position: Position, deadline: Deadline = NEVER) -> AsyncGenerator[ServerEvent, None]:
        """The events of a stream, across reconnects."""
        while not position.ended:
            position.begin()
            request.headers |= position.headers()
            delay = backoff(position.fruitless - 1)
            patience = deadline.limit(READ_TIMEOUT)
            try:
                response = await self.open(request, patience, deadline)
                try:
                    if response.status_code == 204:
                        return
                    await _expect_events(response)
                    position.connected = True
                    async for event in _read(response, position, deadline, patience):
                        yield event
                finally:
                    await response.aclose()
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
                await asyncio.sleep(deadline.limit(delay))


async def _expect_events(response: httpx.Response) -> None:
    """A proxy's page is an error."""
    if response.headers.get("content-type", "").partition(";")[0].strip().lower() != "text/event-stream":
        await response.aread()
        raise error_of(response)


async def _read(response: httpx.Response, position: Position, deadline: Deadline, patience: float) -> AsyncGenerator[ServerEvent, None]:
    decoder = Decoder()
    async for chunk in response.aiter_bytes():
        position.alive()
        for event in decoder.feed(chunk):
            if position.is_new(event):
                yield event
            if position.ended:
                return
        deadline.check()
        if not deadline.allows(patience):
            return  # The next read would wait for too long, and how long is fixed for a connection: make another.


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
                yield parse(event)
