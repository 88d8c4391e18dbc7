"""Functions of yours that see every attempt of a call, for logs, metrics and traces. An error that they raise ends the call."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Callable, Dict, Mapping


@dataclass(frozen=True)
class BeforeRequest:
    method: str
    url: str
    #: 1 for the first attempt.
    attempt: int
    #: Add headers here, for example ``traceparent``. Those of the SDK replace yours; the key is not in it.
    headers: Dict[str, str]


@dataclass(frozen=True)
class AfterResponse:
    method: str
    url: str
    attempt: int
    #: Seconds.
    duration: float
    #: None if there was no response.
    status: int | None
    request_id: str | None
    headers: Mapping[str, str] | None


@dataclass(frozen=True)
class Hooks:
    before_request: Callable[[BeforeRequest], None] | None = None
    after_response: Callable[[AfterResponse], None] | None = None
