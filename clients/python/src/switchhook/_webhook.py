"""Whether a delivery is genuine."""

from __future__ import annotations

import hashlib
import hmac
import json
import time
from collections.abc import Mapping, Sequence

from ._errors import WebhookVerificationError
from .events import WebhookEvent

HEADER = "x-voice-signature"


def verify_webhook(
    payload: bytes | str,
    headers: Mapping[str, str],
    secret: str | Sequence[str],
    *,
    tolerance: int = 300,
    now: float | None = None,
) -> WebhookEvent:
    """Checks the signature and the time of a delivery, and returns its event.

    Give the raw body, before it is parsed. `secret` is that of the endpoint, `whsec_…`, or several of them. Raises
    WebhookVerificationError if the delivery is not genuine or if its time differs from now by more than `tolerance` seconds.
    """
    body = _bytes(payload) if isinstance(payload, str) else bytes(payload)
    secrets = [secret] if isinstance(secret, str) else list(secret)
    if not secrets or not all(secrets):
        raise ValueError("The secret is empty. It is shown when the webhook is created and when its secret is rotated.")
    signed_at, signatures = _parts(headers)
    genuine = False
    for one in secrets:
        expected = hmac.new(one.encode(), signed_at.encode() + b"." + body, hashlib.sha256).hexdigest().encode()
        for signature in signatures:
            genuine = hmac.compare_digest(expected, _bytes(signature)) or genuine
    if not genuine:
        raise WebhookVerificationError("No signature matches. Check the secret, and that the body is the raw one.")
    if abs((time.time() if now is None else now) - int(signed_at)) > tolerance:
        raise WebhookVerificationError(f"The delivery was signed more than {tolerance} seconds from now. Check this machine's clock.")
    return _event(body)


def _bytes(text: str) -> bytes:
    """Frameworks put surrogates where bytes were not UTF-8. They must not raise: what has them is not genuine."""
    return text.encode(errors="surrogatepass")


def _parts(headers: Mapping[str, str]) -> tuple[str, list[str]]:
    """The time and the signatures of the header."""
    found = [value for name, value in headers.items() if name.lower() == HEADER]
    if len(found) != 1:
        raise WebhookVerificationError("There is no X-Voice-Signature, or more than one.")
    parts = [part.partition("=") for part in found[0].split(",")]
    times = [value for name, _, value in parts if name == "t"]
    if len(times) != 1 or not (times[0].isascii() and times[0].isdigit()):
        raise WebhookVerificationError("X-Voice-Signature has no time.")
    return times[0], [value for name, _, value in parts if name == "v1"]


def _event(body: bytes) -> WebhookEvent:
    try:
        return WebhookEvent.model_validate(json.loads(body))
    except ValueError as error:
        raise WebhookVerificationError("The body is genuine but not an event.") from error
