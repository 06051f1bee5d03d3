"""What can go wrong."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import httpx


class SwitchhookError(Exception):
    """Every error of this package."""


class APIConnectionError(SwitchhookError):
    """The service could not be reached, or the connection broke."""


class APITimeoutError(APIConnectionError):
    """The service did not answer in time."""


class WaitTimeoutError(SwitchhookError):
    """The call had not ended in time. It continues."""


class WebhookVerificationError(SwitchhookError):
    """The delivery is not genuine, or too old. Respond with 401."""


@dataclass(frozen=True)
class FieldError:
    """A field of the request that the service refuses."""

    path: str
    message: str


class APIError(SwitchhookError):
    """The service answered with an error."""

    def __init__(self, status: int, headers: Mapping[str, str], body: Any) -> None:
        fields = body if isinstance(body, dict) else {}
        self.status: int = status
        self.headers: Mapping[str, str] = headers
        self.body: Any = body
        #: For programs, for example `idempotency_key_reused`.
        self.code: str = str(fields.get("code") or f"http_{status}")
        #: A sentence for people.
        self.message: str = str(fields.get("detail") or fields.get("title") or f"The service answered with status {status}.")
        #: The request's id in the service's log.
        self.request_id: str | None = fields.get("request_id") or headers.get("x-request-id")
        listed = fields.get("errors")
        self.errors: Sequence[FieldError] = [
            FieldError(str(one.get("path", "")), str(one.get("message", "")))
            for one in (listed if isinstance(listed, list) else [])
            if isinstance(one, dict)
        ]
        super().__init__(f"{self.message} (status {status}, code {self.code}, request {self.request_id})")

    @property
    def retry_after(self) -> float | None:
        """The seconds to wait, if the service names them."""
        value = self.headers.get("retry-after", "")
        return float(value) if value.isascii() and value.isdigit() else None

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.status, dict(self.headers), self.body)


class AuthenticationError(APIError):
    """401: the API key is missing, wrong, expired or revoked."""


class PermissionDeniedError(APIError):
    """403: the tenant is deactivated, or the role does not permit this."""


class NotFoundError(APIError):
    """404: there is no such resource in this tenant."""


class ConflictError(APIError):
    """409: taken, in use, or not possible in this state; `code` says which."""


class InvalidRequestError(APIError):
    """422: a field is missing or invalid; `errors` names each."""


class RateLimitError(APIError):
    """429: too many requests, or a quota is used up; `retry_after` says how long to wait."""


class ServerError(APIError):
    """500 and above: the service failed."""


_BY_STATUS: dict[int, type[APIError]] = {
    401: AuthenticationError,
    403: PermissionDeniedError,
    404: NotFoundError,
    409: ConflictError,
    422: InvalidRequestError,
    429: RateLimitError,
}


def error_of(response: httpx.Response) -> APIError:
    """The error of a response that was read."""
    try:
        body = response.json()
    except ValueError:
        body = response.text
    kind = _BY_STATUS.get(response.status_code, ServerError if response.status_code >= 500 else APIError)
    return kind(response.status_code, response.headers, body)


def object_of(response: httpx.Response) -> dict[str, Any]:
    """The body of a success. A proxy's page is an error."""
    try:
        body = response.json()
    except ValueError:
        body = None
    if not isinstance(body, dict):
        raise error_of(response)
    return body


def connection_error(error: httpx.TransportError) -> APIConnectionError:
    kind = APITimeoutError if isinstance(error, httpx.TimeoutException) else APIConnectionError
    found = kind(f"{type(error).__name__}: {error}" if str(error) else type(error).__name__)
    found.__cause__ = error
    return found
