# Written by generate.py from _async_client.py: do not edit.
"""The client that blocks."""

from __future__ import annotations

from contextlib import closing
from types import TracebackType

import httpx

from . import _resources as resources
from . import models
from ._transport import Transport
from ._deadline import Deadline
from ._errors import WaitTimeoutError, object_of
from ._options import DEFAULT_RETRIES, DEFAULT_TIMEOUT, options
from ._request import Request, path
from ._sse import TERMINAL, Position


class Calls(resources.Calls):
    def wait(self, id: str, /, *, timeout: float | None = None) -> models.Call:
        """Waits until the call has ended, and returns it. Raises WaitTimeoutError after `timeout` seconds; the call continues."""
        message = f"Call {id} had not ended" + (f" after {timeout} seconds." if timeout is not None else ".")
        deadline = Deadline(timeout, message)
        stream = self._transport.events(Request("GET", path("/v1/calls/{}/events", id)), Position(None, TERMINAL), deadline)
        with closing(stream):
            for _ in stream:
                pass
        response = self._transport.send(Request("GET", path("/v1/calls/{}", id)), deadline)
        call = models.Call.model_validate(object_of(response))
        if call.ended_at is None:
            raise WaitTimeoutError(message)
        return call


class Switchhook:
    """A client of a Switchhook service.

    Without arguments it reads SWITCHHOOK_API_KEY and SWITCHHOOK_URL; the address defaults to that of `switchhook dev`.
    Threads can share it. Close it, or use it in a `with` statement.
    """

    def __init__(
        self,
        api_key: str | None = None,
        base_url: str | None = None,
        *,
        timeout: float = DEFAULT_TIMEOUT,
        max_retries: int = DEFAULT_RETRIES,
        http_client: httpx.Client | None = None,
    ) -> None:
        self._options = options(api_key, base_url, timeout, max_retries)
        self._owns_http = http_client is None
        self._http = http_client or httpx.Client(
            limits=httpx.Limits(max_connections=100), follow_redirects=False, trust_env=self._options.uses_environment
        )
        transport = Transport(self._options, self._http)
        self.agents: resources.Agents = resources.Agents(transport)
        self.api_keys: resources.ApiKeys = resources.ApiKeys(transport)
        self.attention: resources.Attention = resources.Attention(transport)
        self.calls: Calls = Calls(transport)
        self.connections: resources.Connections = resources.Connections(transport)
        self.events: resources.Events = resources.Events(transport)
        self.numbers: resources.Numbers = resources.Numbers(transport)
        self.people: resources.People = resources.People(transport)
        self.simulator: resources.Simulator = resources.Simulator(transport)
        self.statistics: resources.Statistics = resources.Statistics(transport)
        self.tenant: resources.Tenant = resources.Tenant(transport)
        self.usage: resources.Usage = resources.Usage(transport)
        self.webhooks: resources.Webhooks = resources.Webhooks(transport)

    def close(self) -> None:
        if self._owns_http:
            self._http.close()

    def __enter__(self) -> Switchhook:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Switchhook(base_url={self._options.base_url!r})"
