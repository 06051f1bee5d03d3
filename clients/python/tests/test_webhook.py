"""Whether a delivery is genuine, as docs/webhooks.md says."""

from __future__ import annotations

import hashlib
import hmac

import pytest

from switchhook import WebhookVerificationError, verify_webhook

# The example of docs/webhooks.md.
SECRET = "whsec_dGVzdC1zZWNyZXQtdGVzdC1zZWNyZXQtdGVzdC0zMjE="
TIME = 1700000123
BODY = (
    b'{"id":"dlv_test_1","event":"call.completed","created":1700000000,"data":{"call_id":"11111111-2222-4333-8444-555555555555",'
    b'"status":"completed","summary":"ok","duration_seconds":42,"turns":3,"error":null}}'
)
SIGNATURE = "ce0b0e7a52477cf11a504714f00b453fffb83f34bddd35d0e984afc6d0439d84"


def header(value: str = f"t={TIME},v1={SIGNATURE}") -> dict[str, str]:
    return {"Content-Type": "application/json", "X-Voice-Signature": value}


def sign(secret: str, body: bytes = BODY, at: int = TIME) -> str:
    return hmac.new(secret.encode(), f"{at}.".encode() + body, hashlib.sha256).hexdigest()


def test_the_example_of_the_documentation() -> None:
    event = verify_webhook(BODY, header(), SECRET, now=TIME)
    assert (event.id, event.event, event.created) == ("dlv_test_1", "call.completed", 1700000000)
    assert (event.data.call_id, event.data.duration_seconds, event.data.summary) == ("11111111-2222-4333-8444-555555555555", 42, "ok")
    assert verify_webhook(BODY.decode(), {"x-voice-signature": header()["X-Voice-Signature"]}, SECRET, now=TIME).id == event.id


def test_two_secrets_during_a_rotation() -> None:
    new, old = "whsec_new", "whsec_old"
    both = header(f"t={TIME},v1={sign(new)},v1={sign(old)}")
    for secret in (new, old, [new, old], ["whsec_other", old]):
        assert verify_webhook(BODY, both, secret, now=TIME)
    only_old = header(f"t={TIME},v1={sign(old)}")
    assert verify_webhook(BODY, only_old, [new, old], now=TIME)
    with pytest.raises(WebhookVerificationError):
        verify_webhook(BODY, only_old, new, now=TIME)


@pytest.mark.parametrize("apart", [-301, 301, 10**9])
def test_an_old_or_future_delivery(apart: int) -> None:
    with pytest.raises(WebhookVerificationError, match="clock"):
        verify_webhook(BODY, header(), SECRET, now=TIME + apart)


def test_the_tolerance() -> None:
    assert verify_webhook(BODY, header(), SECRET, now=TIME + 300)
    assert verify_webhook(BODY, header(), SECRET, now=TIME - 300)
    assert verify_webhook(BODY, header(), SECRET, now=TIME + 900, tolerance=1000)
    with pytest.raises(WebhookVerificationError, match="clock"):
        verify_webhook(BODY, header(), SECRET)


@pytest.mark.parametrize(
    "value",
    [
        "",
        "t=,v1=" + SIGNATURE,
        f"v1={SIGNATURE}",
        f"t={TIME}",
        f"t={TIME},v1=",
        f"t={TIME},v1={SIGNATURE[:-1]}",
        f"t={TIME},v1={SIGNATURE.upper()}",
        f"t={TIME},v0={SIGNATURE}",
        f"t={TIME + 1},v1={SIGNATURE}",
        f"t={TIME},t={TIME},v1={SIGNATURE}",
        f"t=+{TIME},v1={SIGNATURE}",
        f"t=１７,v1={SIGNATURE}",
        f"t={TIME},v1=é",
        f"t={TIME},v1=\udce9",
    ],
)
def test_what_is_not_genuine(value: str) -> None:
    with pytest.raises(WebhookVerificationError):
        verify_webhook(BODY, header(value), SECRET, now=TIME)


def test_other_bodies_and_headers() -> None:
    for body in (BODY + b"\n", b"", BODY.replace(b"42", b"43"), "\udce9"):
        with pytest.raises(WebhookVerificationError):
            verify_webhook(body, header(), SECRET, now=TIME)
    with pytest.raises(WebhookVerificationError, match="X-Voice-Signature"):
        verify_webhook(BODY, {}, SECRET, now=TIME)
    with pytest.raises(WebhookVerificationError):
        verify_webhook(b"[]", header(f"t={TIME},v1={sign(SECRET, b'[]')}"), SECRET, now=TIME)


@pytest.mark.parametrize("secret", ["", [], [SECRET, ""]])
def test_an_empty_secret_is_a_mistake(secret: str | list[str]) -> None:
    with pytest.raises(ValueError, match="secret is empty"):
        verify_webhook(BODY, header(), secret, now=TIME)
