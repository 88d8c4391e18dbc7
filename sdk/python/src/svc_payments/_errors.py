"""One class per type of error. Each has the error code and the request ID."""

from __future__ import annotations

import json
import re
import time
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from typing import Any, Dict, Mapping, Sequence


@dataclass(frozen=True)
class FieldError:
    """One invalid field of the request, with a path such as ``items[0].quantity``."""

    field: str
    code: str
    message: str


class SvcError(Exception):
    """Every error of this package. New versions of the service may have more codes."""

    def __init__(
        self,
        message: str,
        *,
        type: str,
        code: str,
        status: int | None = None,
        param: str | None = None,
        request_id: str | None = None,
        field_errors: Sequence[FieldError] = (),
        retry_after: float | None = None,
        idempotency_key: str | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.type = type
        self.code = code
        #: The HTTP status; None if there was no response.
        self.status = status
        #: The most relevant field or parameter.
        self.param = param
        self.request_id = request_id
        self.field_errors = tuple(field_errors)
        #: Seconds.
        self.retry_after = retry_after
        #: The idempotency key of the request. Send it again to continue the same operation.
        self.idempotency_key = idempotency_key

    def __reduce__(self) -> tuple[Any, ...]:
        # Exceptions with keyword arguments are not copied and pickled without this.
        return (_restore, (self.__class__, self.message, {**self.__dict__}))


def _restore(error_class: type[SvcError], message: str, facts: Dict[str, Any]) -> SvcError:
    error = error_class(message, type=facts["type"], code=facts["code"])
    error.__dict__.update(facts)
    return error


class InvalidRequestError(SvcError):
    """The request is invalid, or the status of the object does not allow it."""


class AuthenticationError(SvcError):
    """The API key is missing, invalid, expired or revoked."""


class AuthorizationError(SvcError):
    """The API key does not have the permission."""


class RateLimitError(SvcError):
    """Too many requests, even after the retries."""


class IdempotencyError(SvcError):
    """The idempotency key was used for another request, or that request is still in progress."""


class ProcessingError(SvcError):
    """The service or the payment processor failed."""


class WebhookError(SvcError):
    """A webhook endpoint is not allowed."""


class WebhookSignatureError(WebhookError):
    """A delivery is forged or too old."""


class ConnectionError(SvcError):
    """There was no response, so the outcome is unknown. It is safe to send the same idempotency key again."""


class TimeoutError(ConnectionError):
    """There was no response within the timeout."""


_classes: Mapping[str, type[SvcError]] = {
    "invalid_request_error": InvalidRequestError,
    "authentication_error": AuthenticationError,
    "authorization_error": AuthorizationError,
    "rate_limit_error": RateLimitError,
    "idempotency_error": IdempotencyError,
    "processing_error": ProcessingError,
    "webhook_error": WebhookError,
}


def error_of(status: int, headers: Mapping[str, str], content: bytes, idempotency_key: str | None) -> SvcError:
    """Converts a response other than 2xx to an error."""
    retry_after = retry_after_seconds(headers.get("retry-after"))
    body = _error_body(content)
    if body is None:
        return ProcessingError(
            f"The response with status {status} does not come from the service.",
            type="processing_error",
            code="unreadable_answer",
            status=status,
            request_id=headers.get("svc-request-id"),
            retry_after=retry_after,
            idempotency_key=idempotency_key,
        )
    kind = str(body["type"])
    return _classes.get(kind, SvcError)(
        str(body.get("message") or body["code"]),
        type=kind,
        code=str(body["code"]),
        status=status,
        param=_text(body.get("param")),
        request_id=_text(body.get("request_id")),
        field_errors=_field_errors(body.get("field_errors")),
        retry_after=retry_after,
        idempotency_key=idempotency_key,
    )


def _error_body(content: bytes) -> Dict[str, Any] | None:
    """None if the response comes from a proxy instead of the service."""
    try:
        error = json.loads(content)["error"]
    except (ValueError, KeyError, TypeError):
        return None
    is_error = isinstance(error, dict) and isinstance(error.get("type"), str) and isinstance(error.get("code"), str)
    return error if is_error else None


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None


def _field_errors(value: object) -> list[FieldError]:
    if not isinstance(value, list):
        return []
    entries = [entry for entry in value if isinstance(entry, dict)]
    return [FieldError(*(str(entry.get(name, "")) for name in ("field", "code", "message"))) for entry in entries]


def retry_after_seconds(header: str | None, now: float | None = None) -> float | None:
    """Seconds, or a date if a proxy has written the header."""
    if not header:
        return None
    if re.fullmatch(r"[0-9]{1,9}", header):
        return float(header)
    try:
        date = parsedate_to_datetime(header)
    except (TypeError, ValueError):
        return None
    return max(0.0, date.timestamp() - (time.time() if now is None else now))
