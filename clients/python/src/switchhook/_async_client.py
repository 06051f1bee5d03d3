"""The client for asyncio."""

from __future__ import annotations

from contextlib import aclosing
from types import TracebackType

import httpx

from . import _async_resources as resources
from . import models
from ._async_transport import AsyncTransport
from ._deadline import Deadline
from ._errors import WaitTimeoutError, object_of
from ._options import DEFAULT_RETRIES, DEFAULT_TIMEOUT, options
from ._request import Request, path
from ._sse import TERMINAL, Position


class AsyncCalls(resources.AsyncCalls):
    async def wait(self, id: str, /, *, timeout: float | None = None) -> models.Call:
        """Waits until the call has ended, and returns it. Raises WaitTimeoutError after `timeout` seconds; the call continues."""
        message = f"Call {id} had not ended" + (f" after {timeout} seconds." if timeout is not None else ".")
        deadline = Deadline(timeout, message)
        stream = self._transport.events(Request("GET", path("/v1/calls/{}/events", id)), Position(None, TERMINAL), deadline)
        async with aclosing(stream):
            async for _ in stream:
                pass
        response = await self._transport.send(Request("GET", path("/v1/calls/{}", id)), deadline)
        call = models.Call.model_validate(object_of(response))
        if call.ended_at is None:
            raise WaitTimeoutError(message)
        return call


class AsyncSwitchhook:
    """A client of a Switchhook service.

    Without arguments it reads SWITCHHOOK_API_KEY and SWITCHHOOK_URL; the address defaults to that of `switchhook dev`.
    Close it, or use it in an `async with` statement.
    """

    def __init__(
        self,
        api_key: str | None = None,
        base_url: str | None = None,
        *,
        timeout: float = DEFAULT_TIMEOUT,
        max_retries: int = DEFAULT_RETRIES,
        http_client: httpx.AsyncClient | None = None,
    ) -> None:
        self._options = options(api_key, base_url, timeout, max_retries)
        self._owns_http = http_client is None
        self._http = http_client or httpx.AsyncClient(
            limits=httpx.Limits(max_connections=100), follow_redirects=False, trust_env=self._options.uses_environment
        )
        transport = AsyncTransport(self._options, self._http)
        self.agents: resources.AsyncAgents = resources.AsyncAgents(transport)
        self.api_keys: resources.AsyncApiKeys = resources.AsyncApiKeys(transport)
        self.attention: resources.AsyncAttention = resources.AsyncAttention(transport)
        self.calls: AsyncCalls = AsyncCalls(transport)
        self.connections: resources.AsyncConnections = resources.AsyncConnections(transport)
        self.events: resources.AsyncEvents = resources.AsyncEvents(transport)
        self.numbers: resources.AsyncNumbers = resources.AsyncNumbers(transport)
        self.people: resources.AsyncPeople = resources.AsyncPeople(transport)
        self.simulator: resources.AsyncSimulator = resources.AsyncSimulator(transport)
        self.statistics: resources.AsyncStatistics = resources.AsyncStatistics(transport)
        self.tenant: resources.AsyncTenant = resources.AsyncTenant(transport)
        self.usage: resources.AsyncUsage = resources.AsyncUsage(transport)
        self.webhooks: resources.AsyncWebhooks = resources.AsyncWebhooks(transport)

    async def close(self) -> None:
        if self._owns_http:
            await self._http.aclose()

    async def __aenter__(self) -> AsyncSwitchhook:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        await self.close()

    def __repr__(self) -> str:
        return f"AsyncSwitchhook(base_url={self._options.base_url!r})"
