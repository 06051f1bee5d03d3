"""One request, and whether and when it is sent again. No I/O."""

from __future__ import annotations

import random
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timezone
from typing import Any
from urllib.parse import quote

import httpx

from ._errors import APIError

#: The longest time that the client waits by itself. A quota that is free again only next month is an error at once.
MAX_DELAY = 60.0
#: Requests that reached the service but were not carried out.
NOT_DONE = {408, 429}
#: May or may not have been carried out.
MAYBE_DONE = {500, 502, 503, 504}
#: The service is away: answers of a proxy, or of a node that is starting.
AWAY = {502, 503, 504}
#: The caller's, such as an address without http or a line end in a key, which httpx counts as failures of the network.
MISTAKES = (httpx.UnsupportedProtocol, httpx.LocalProtocolError)


@dataclass
class Request:
    method: str
    path: str
    query: Mapping[str, Any] = field(default_factory=dict)
    headers: dict[str, str] = field(default_factory=dict)
    body: Mapping[str, Any] | None = None
    #: Whether it does the same when it is sent twice.
    repeatable: bool = False

    def __post_init__(self) -> None:
        self.repeatable = self.repeatable or self.method in ("GET", "DELETE") or "Idempotency-Key" in self.headers


def path(template: str, *values: object) -> str:
    """Fills the template's `{}` with values, each one segment."""
    for value in values:
        if str(value) in ("", ".", ".."):
            raise ValueError(f"{value!r} is not an id.")
    return template.format(*(quote(str(value), safe="") for value in values))


def keyed(key: str | None) -> dict[str, str]:
    """The header with the caller's key, or with a new one, so that a lost answer can be asked for again."""
    return {"Idempotency-Key": str(uuid.uuid4()) if key is None else key}


def given(**headers: str | None) -> dict[str, str]:
    return {name.replace("_", "-"): value for name, value in headers.items() if value is not None}


def query_of(values: Mapping[str, Any]) -> dict[str, str]:
    """Lists are separated by commas; what is `None` is left out; `metadata` becomes `metadata[key]`."""
    result: dict[str, str] = {}
    for name, value in values.items():
        if isinstance(value, Mapping):
            result |= {f"{name}[{key}]": text(one) for key, one in value.items()}
        elif isinstance(value, Sequence) and not isinstance(value, str):
            result[name] = ",".join(text(one) for one in value)
        elif value is not None:
            result[name] = text(value)
    return result


def text(value: Any) -> str:
    if isinstance(value, datetime):
        return time_of(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)


def time_of(value: datetime) -> str:
    if value.tzinfo is None:
        raise ValueError("A datetime needs a time zone: use datetime.now(timezone.utc), or astimezone().")
    return value.astimezone(timezone.utc).isoformat().replace("+00:00", "Z")


def body_of(value: Any) -> Any:
    """What JSON can say."""
    if isinstance(value, datetime):
        return time_of(value)
    if isinstance(value, Mapping):
        return {key: body_of(one) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [body_of(one) for one in value]
    return value


def fields(body: Mapping[str, Any]) -> dict[str, Any]:
    """The body as the service names its fields: `from` is a keyword of Python."""
    return {("from" if name == "from_" else name): body_of(value) for name, value in body.items()}


def backoff(attempt: int) -> float:
    """Half a second, doubled each time up to 8 s, a quarter of it random so that clients do not return together."""
    return float(0.5 * 2 ** min(attempt, 4) * random.uniform(0.75, 1.0))


def delay_after_error(request: Request, error: APIError, attempt: int) -> float | None:
    """The seconds to wait before the request is sent again; `None` if it must not be."""
    # The first request with this Idempotency-Key is still being carried out.
    in_progress = error.status == 409 and error.code == "request_in_progress"
    again = in_progress or error.status in NOT_DONE or (error.status in MAYBE_DONE and request.repeatable)
    if not again:
        return None
    asked = error.retry_after
    if asked is None:
        return backoff(attempt)
    return None if asked > MAX_DELAY else max(asked, 0.1)


def delay_after_failure(request: Request, error: httpx.TransportError, attempt: int) -> float | None:
    """The same after a connection failed."""
    return backoff(attempt) if never_sent(error) or request.repeatable else None


def never_sent(error: httpx.TransportError) -> bool:
    """A connection that was never made has carried out nothing."""
    return isinstance(error, (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout))
