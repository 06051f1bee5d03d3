"""How a client reaches the service."""

from __future__ import annotations

import os
from dataclasses import dataclass
from ipaddress import ip_address
from typing import Any
from urllib.parse import urlsplit

import httpx

from ._errors import SwitchhookError
from ._request import Request, fields, query_of
from ._version import VERSION

#: The service gives up on a request after 30 seconds, so an answer that is still missing then is lost.
DEFAULT_TIMEOUT = 40.0
DEFAULT_RETRIES = 4


@dataclass(frozen=True)
class Options:
    api_key: str
    base_url: str
    timeout: float
    max_retries: int

    def arguments(self, request: Request, read_timeout: float) -> dict[str, Any]:
        """For `build_request` of an httpx client."""
        return {
            "method": request.method,
            "url": self.base_url + request.path,
            "params": query_of(request.query) or None,
            "headers": {
                "Authorization": f"Bearer {self.api_key}",
                "User-Agent": f"switchhook-python/{VERSION}",
                "Accept": "application/json",
                **request.headers,
            },
            "json": None if request.body is None else fields(request.body),
            "timeout": httpx.Timeout(read_timeout, connect=min(10.0, self.timeout, read_timeout)),
        }

    @property
    def uses_environment(self) -> bool:
        """Whether httpx reads proxies from the environment. A proxy cannot reach a service on this machine, and would get the key."""
        return not _is_local(self.base_url)

    def __repr__(self) -> str:
        return f"Options(base_url={self.base_url!r}, timeout={self.timeout}, max_retries={self.max_retries})"


def options(api_key: str | None, base_url: str | None, timeout: float, max_retries: int) -> Options:
    key = api_key or os.environ.get("SWITCHHOOK_API_KEY")
    if not key:
        raise SwitchhookError("There is no API key. Pass api_key, or set SWITCHHOOK_API_KEY.")
    if not key.isascii() or not key.isprintable() or " " in key:
        raise SwitchhookError("The API key has characters that no key has. Was it copied as a whole, without quotes or line ends?")
    base = base_url or os.environ.get("SWITCHHOOK_URL") or "http://127.0.0.1:8080"
    return Options(key, base.rstrip("/").removesuffix("/v1"), timeout, max_retries)


def _is_local(base_url: str) -> bool:
    """Whether requests stay on this machine, without encryption."""
    try:
        url = urlsplit(base_url)
        host = url.hostname or ""
        return url.scheme == "http" and (host == "localhost" or ip_address(host).is_loopback)
    except ValueError:
        return False
