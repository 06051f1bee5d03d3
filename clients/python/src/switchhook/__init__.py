"""The official client of Switchhook, a self-hosted voice calling service."""

from . import models, params
from ._async_client import AsyncSwitchhook
from ._client import Switchhook
from ._errors import (
    APIConnectionError,
    APIError,
    APITimeoutError,
    AuthenticationError,
    ConflictError,
    FieldError,
    InvalidRequestError,
    NotFoundError,
    PermissionDeniedError,
    RateLimitError,
    ServerError,
    SwitchhookError,
    WaitTimeoutError,
    WebhookVerificationError,
)
from ._pages import AsyncPages, Page, Pages
from ._version import VERSION as __version__
from ._webhook import verify_webhook
from .events import EventData, TranscriptEvent, WebhookEvent

__all__ = [
    "APIConnectionError",
    "APIError",
    "APITimeoutError",
    "AsyncPages",
    "AsyncSwitchhook",
    "AuthenticationError",
    "ConflictError",
    "EventData",
    "FieldError",
    "InvalidRequestError",
    "NotFoundError",
    "Page",
    "Pages",
    "PermissionDeniedError",
    "RateLimitError",
    "ServerError",
    "Switchhook",
    "SwitchhookError",
    "TranscriptEvent",
    "WaitTimeoutError",
    "WebhookEvent",
    "WebhookVerificationError",
    "__version__",
    "models",
    "params",
    "verify_webhook",
]
