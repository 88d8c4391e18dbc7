"""Verifies deliveries of webhooks, and signs deliveries to test a receiver. Needs no API key."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import json
import re
import time
from dataclasses import dataclass
from typing import Any, Callable, Dict, Mapping, Sequence, Union

from ._errors import WebhookSignatureError
from .generated.models import Event, event_of

RawBody = Union[bytes, str]
Secrets = Union[str, Sequence[str]]

_secret_prefix = "whsec_"
_secret_rule = f"A signing secret must start with {_secret_prefix}. Is the variable with the secret set?"


@dataclass(frozen=True)
class SignedDelivery:
    body: str
    headers: Dict[str, str]


@dataclass(frozen=True)
class _Signed:
    timestamp: int
    signatures: Sequence[str]
    sign: Callable[[str, bytes], str]


def verify(
    raw_body: RawBody,
    headers: Mapping[str, str],
    secret: Secrets,
    *,
    tolerance: float = 300,
    now: float | None = None,
) -> Event:
    """Returns the event of a delivery, or raises a WebhookSignatureError.

    Pass the raw body, before any parsing. During a rotation you can pass several secrets; one that matches is enough.

    :param tolerance: Maximum difference between the signing time and now in seconds, in both directions.
    :param now: The current time as seconds since 1970, for tests.
    """
    secrets = _secrets_of(secret)
    if secrets is None:
        raise _refusal(_secret_rule)
    if not isinstance(raw_body, (bytes, bytearray, str)):
        raise TypeError("webhooks.verify() requires the raw body, not the parsed one")
    body = raw_body.encode() if isinstance(raw_body, str) else bytes(raw_body)
    found = {name.lower(): value for name, value in headers.items()}
    signed = _own_signature(found) or _standard_signature(found)
    if signed is None:
        raise _refusal("The delivery has no signature header.")
    matches = False
    for one in secrets:
        expected = signed.sign(one, body)
        # Compares every signature completely, so that the duration reveals nothing.
        for given in signed.signatures:
            matches = hmac.compare_digest(given.encode(), expected.encode()) or matches
    if not matches:
        raise _refusal("No signature matches the body and the secret.")
    distance = abs((time.time() if now is None else now) - signed.timestamp)
    if distance > tolerance:
        raise _refusal(f"The delivery was signed {round(distance)} seconds away from now.")
    return event_of(json.loads(body))


def sign_test_event(event: Event | Mapping[str, Any], secret: Secrets, *, timestamp: int | None = None) -> SignedDelivery:
    """Creates a signed delivery to test a receiver. With two secrets, it looks as during a rotation."""
    secrets = _secrets_of(secret)
    if secrets is None:
        raise ValueError(_secret_rule)
    data = dict(event) if isinstance(event, Mapping) else event.to_dict()
    body = json.dumps(data, separators=(",", ":"), ensure_ascii=False)
    seconds = int(time.time()) if timestamp is None else timestamp
    event_id = str(data["id"])
    own = [f"v1={_sign_own(one, seconds, body.encode())}" for one in secrets]
    standard = [f"v1,{_sign_standard(one, event_id, seconds, body.encode())}" for one in secrets]
    return SignedDelivery(
        body,
        {
            "content-type": "application/json",
            "svc-event-id": event_id,
            "svc-event-type": str(data["type"]),
            "svc-delivery-attempt": "1",
            "svc-signature": ",".join([f"t={seconds}", *own]),
            "webhook-id": event_id,
            "webhook-timestamp": str(seconds),
            "webhook-signature": " ".join(standard),
        },
    )


def _own_signature(headers: Mapping[str, str]) -> _Signed | None:
    """``SVC-Signature: t=<seconds>,v1=<hex>``, with one ``v1`` per valid secret."""
    header = headers.get("svc-signature")
    if header is None:
        return None
    parts = [part.strip() for part in header.split(",")]
    timestamp = _seconds_of(next((part[2:] for part in parts if part.startswith("t=")), None))
    signatures = [part[3:] for part in parts if part.startswith("v1=")]
    return _Signed(timestamp, signatures, lambda secret, body: _sign_own(secret, timestamp, body))


def _standard_signature(headers: Mapping[str, str]) -> _Signed | None:
    """The headers of Standard Webhooks, for receivers behind a proxy that passes only those."""
    event_id = headers.get("webhook-id")
    header = headers.get("webhook-signature")
    if event_id is None or header is None:
        return None
    timestamp = _seconds_of(headers.get("webhook-timestamp"))
    signatures = [part[3:] for part in header.split(" ") if part.startswith("v1,")]
    return _Signed(timestamp, signatures, lambda secret, body: _sign_standard(secret, event_id, timestamp, body))


def _sign_own(secret: str, timestamp: int, body: bytes) -> str:
    return hmac.new(secret.encode(), f"{timestamp}.".encode() + body, hashlib.sha256).hexdigest()


def _sign_standard(secret: str, event_id: str, timestamp: int, body: bytes) -> str:
    try:
        key = base64.b64decode(secret[len(_secret_prefix) :], validate=True)
    except binascii.Error:
        raise _refusal("The signing secret is not complete: copy the whole secret.") from None
    content = f"{event_id}.{timestamp}.".encode() + body
    return base64.b64encode(hmac.new(key, content, hashlib.sha256).digest()).decode()


def _secrets_of(secret: object) -> Sequence[str] | None:
    """None if one is missing: an unset variable must not become an empty key that anyone can sign with."""
    secrets = [secret] if isinstance(secret, str) else secret
    if not isinstance(secrets, (list, tuple)) or not secrets:
        return None
    usable = all(isinstance(one, str) and one.startswith(_secret_prefix) and one != _secret_prefix for one in secrets)
    return secrets if usable else None


def _seconds_of(text: str | None) -> int:
    if text is None or not re.fullmatch(r"[0-9]{1,15}", text):
        raise _refusal("The signature header has no valid timestamp.")
    return int(text)


def _refusal(message: str) -> WebhookSignatureError:
    return WebhookSignatureError(message, type="webhook_error", code="webhook_signature_failed")
