"""One call of an operation, without any input or output: both clients send what it asks for."""

from __future__ import annotations

import json
import math
import random
import re
import time
import uuid
from dataclasses import dataclass
from datetime import date, datetime, timezone
from enum import Enum
from typing import Any, Callable, Dict, Generator, Generic, Mapping, Sequence, TypedDict, TypeVar, Union
from urllib.parse import quote, urlencode, urlsplit

from ._errors import ConnectionError, SvcError, TimeoutError, error_of
from ._hooks import AfterResponse, BeforeRequest, Hooks
from ._models import Model, Response
from .generated.operations import API_VERSION, SDK_VERSION, Operation

T = TypeVar("T")

USER_AGENT = f"svc-payments-python/{SDK_VERSION}"


class Omitted(Enum):
    """The value of parameters that are not sent. None sends null, which clears a field."""

    OMITTED = "omitted"

    def __repr__(self) -> str:
        return "OMITTED"

    def __bool__(self) -> bool:
        return False


OMITTED = Omitted.OMITTED


class RequestOptions(TypedDict, total=False):
    """Options of one call."""

    #: Default: a new key. Pass your own to continue an operation after a restart of your process.
    idempotency_key: str
    #: The version that the object must still have, from ``version_of(object)``. If it has changed, an update does nothing and
    #: raises an InvalidRequestError with the code ``resource_changed``. None is rejected.
    if_match: str | None
    #: Seconds for each attempt.
    timeout: float
    #: Seconds after the first failure in which attempts can start; 0 for no retries.
    retry_for: float
    #: Maximum number of retries.
    max_retries: int


class Secret:
    """A text that is not shown."""

    __slots__ = ("_value",)

    def __init__(self, value: str) -> None:
        self._value = value

    def reveal(self) -> str:
        return self._value

    def __repr__(self) -> str:
        return "Secret('…')"

    def __reduce__(self) -> tuple[Any, ...]:
        raise TypeError("a client cannot be copied or pickled, because it contains the API key")


@dataclass(frozen=True)
class Settings:
    key: Secret
    base_url: str
    capture_url: str | None
    timeout: float
    retry_for: float
    max_retries: float
    hooks: Hooks


@dataclass(frozen=True)
class Attempt:
    """Asks the client to send a request. It answers with an Answer or a Failure."""

    method: str
    url: str
    headers: Mapping[str, str]
    content: bytes | None
    timeout: float

    def __repr__(self) -> str:
        return f"Attempt({self.method} {self.url})"


@dataclass(frozen=True)
class Pause:
    """Asks the client to wait."""

    seconds: float


@dataclass(frozen=True)
class Answer:
    status: int
    headers: Mapping[str, str]
    content: bytes


@dataclass(frozen=True)
class Failure:
    """No response, so the outcome is unknown."""

    cause: BaseException
    timed_out: bool


Step = Union[Attempt, Pause]
Result = Union[Answer, Failure, None]
Steps = Generator[Step, Result, T]


@dataclass(frozen=True)
class Call(Generic[T]):
    """One call: the operation with its values."""

    operation: Operation
    convert: Callable[[Any], T]
    ids: Sequence[str] = ()
    query: Mapping[str, Any] | None = None
    body: Mapping[str, Any] | None = None
    file: bytes | None = None
    options: RequestOptions | None = None


def read_settings(
    api_key: object,
    base_url: object,
    *,
    capture_url: str | None,
    timeout: float,
    retry_for: float,
    max_retries: int | None,
    hooks: Hooks | None,
) -> Settings:
    if not isinstance(api_key, str) or api_key == "":
        raise TypeError("Svc() requires an API key")
    if re.match(r"svc_[a-z]+_pk_", api_key):
        raise ValueError("Svc() requires a secret key (svc_…_sk_…), not a publishable key, which is for web pages")
    if not re.fullmatch(r"[!-~]+", api_key):
        raise ValueError("the API key contains a space, a line break or another character that a key never has")
    if not isinstance(base_url, str):
        raise TypeError("Svc() requires the base_url of the service")
    if not re.match(r"https?://[^/]", base_url):
        raise ValueError(f"base_url must begin with https:// or http://, not {base_url!r}")
    retries = math.inf if max_retries is None else max_retries
    _check_patience(timeout, retry_for, retries)
    return Settings(Secret(api_key), base_url.rstrip("/"), capture_url, timeout, retry_for, retries, hooks if hooks else Hooks())


def _check_patience(timeout: float, retry_for: float, max_retries: float) -> None:
    if not timeout > 0:
        raise ValueError("timeout must be greater than 0")
    if not retry_for >= 0:
        raise ValueError("retry_for must be 0 or greater")
    if not max_retries >= 0:
        raise ValueError("max_retries must be 0 or greater")


_option_names = frozenset(RequestOptions.__annotations__)


def steps_of(settings: Settings, call: Call[T]) -> Steps[T]:
    """The attempts of a call and the pauses between them. Raises the last error as soon as no further attempt can start."""
    options: RequestOptions = call.options if call.options is not None else {}
    unknown = [name for name in options if name not in _option_names]
    if unknown:
        raise TypeError(f"unknown option {unknown[0]!r}; the options are {', '.join(sorted(_option_names))}")
    timeout = options.get("timeout", settings.timeout)
    retry_for = options.get("retry_for", settings.retry_for)
    max_retries = options.get("max_retries", settings.max_retries)
    _check_patience(timeout, retry_for, max_retries)
    key = options.get("idempotency_key", str(uuid.uuid4())) if call.operation.keyed else None
    url = _url_of(settings, call)
    content, content_type = _content_of(call)
    headers = _headers_of(settings, options, key, content_type)

    attempts = 0
    end: float | None = None
    while True:
        attempts += 1
        error: SvcError
        try:
            answer = yield from _attempt(settings, Attempt(call.operation.method, url, headers, content, timeout), attempts, key)
            if 200 <= answer.status <= 299:
                return _result_of(call, answer, key)
            raise error_of(answer.status, answer.headers, answer.content, key)
        except SvcError as caught:
            error = caught
        if attempts > min(max_retries, retries_for(error)):
            raise error
        now = time.monotonic()
        end = now + retry_for if end is None else end
        delay = retry_delay(attempts, error.retry_after)
        if now + delay > end:
            raise error
        yield Pause(delay)


def _attempt(settings: Settings, attempt: Attempt, number: int, key: str | None) -> Steps[Answer]:
    hooks = settings.hooks
    added: Dict[str, str] = {}
    if hooks.before_request:
        hooks.before_request(BeforeRequest(attempt.method, attempt.url, number, added))
        _check_headers(added)
    own = {name.lower() for name in attempt.headers}
    headers = {name: value for name, value in added.items() if name.lower() not in own}
    headers.update(attempt.headers)
    sent_at = time.monotonic()
    result = yield Attempt(attempt.method, attempt.url, headers, attempt.content, attempt.timeout)
    answer = result if isinstance(result, Answer) else None
    if hooks.after_response:
        hooks.after_response(
            AfterResponse(
                method=attempt.method,
                url=attempt.url,
                attempt=number,
                duration=time.monotonic() - sent_at,
                status=answer.status if answer else None,
                request_id=answer.headers.get("svc-request-id") if answer else None,
                headers=answer.headers if answer else None,
            )
        )
    if answer:
        return answer
    assert isinstance(result, Failure)
    if result.timed_out:
        raise TimeoutError(
            f"No response within {attempt.timeout:g} seconds.",
            type="connection_error",
            code="timed_out",
            idempotency_key=key,
        ) from result.cause
    origin = "{0.scheme}://{0.netloc}".format(urlsplit(attempt.url))
    raise ConnectionError(
        f"The service is unreachable at {origin}.",
        type="connection_error",
        code="connection_failed",
        idempotency_key=key,
    ) from result.cause


def _result_of(call: Call[T], answer: Answer, key: str | None) -> T:
    try:
        body = json.loads(answer.content)
    except ValueError:
        raise error_of(answer.status, answer.headers, answer.content, key) from None
    result = call.convert(body)
    response = Response(answer.status, answer.headers.get("svc-request-id"), answer.headers, answer.content)
    if isinstance(result, Model) or hasattr(result, "_response"):
        object.__setattr__(result, "_response", response)
    return result


def _headers_of(settings: Settings, options: RequestOptions, key: str | None, content_type: str | None) -> Dict[str, str]:
    headers = {
        "accept": "application/json",
        "authorization": f"Bearer {settings.key.reveal()}",
        "user-agent": USER_AGENT,
        # The types match this version, not the one that the company is pinned to.
        "svc-version": API_VERSION,
    }
    if key is not None:
        headers["x-svc-idempotency-key"] = key
    if "if_match" in options:
        if_match = options["if_match"]
        if if_match is None:
            raise TypeError(
                "if_match is None. Read the object with get() or update(): objects of lists and created objects have no version"
            )
        headers["if-match"] = if_match
    if content_type is not None:
        headers["content-type"] = content_type
    _check_headers(headers)
    return headers


def _check_headers(headers: Mapping[str, str]) -> None:
    for name, value in headers.items():
        if not re.fullmatch(r"[\x20-\x7e]*", value):
            raise ValueError(f"the header {name} has a character that a header cannot have")


def _content_of(call: Call[Any]) -> tuple[bytes | None, str | None]:
    if call.file is not None:
        boundary = uuid.uuid4().hex
        head = f'--{boundary}\r\ncontent-disposition: form-data; name="file"; filename="image"\r\ncontent-type: application/octet-stream\r\n\r\n'
        return head.encode() + call.file + f"\r\n--{boundary}--\r\n".encode(), f"multipart/form-data; boundary={boundary}"
    if call.body is None:
        return None, None
    return json.dumps(_sendable(call.body), allow_nan=False, separators=(",", ":")).encode(), "application/json"


def _sendable(value: Any) -> Any:
    if isinstance(value, Model):
        return value.to_dict()
    if isinstance(value, Mapping):
        return {name: _sendable(one) for name, one in value.items() if one is not OMITTED}
    if isinstance(value, (datetime, date)):
        return _time_text(value)
    if isinstance(value, (list, tuple, set, frozenset)):
        return [_sendable(one) for one in value]
    return value


def _time_text(value: datetime | date) -> str:
    if not isinstance(value, datetime):
        return value.isoformat()
    if value.tzinfo is None:
        raise ValueError("a time needs a time zone, for example datetime.now(timezone.utc)")
    return value.astimezone(timezone.utc).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _url_of(settings: Settings, call: Call[Any]) -> str:
    if call.operation.path == "/capture" and settings.capture_url:
        return settings.capture_url
    return settings.base_url + path_of(call.operation.path, call.ids) + query_of(call.query or {}, call.operation.fields_of)


def path_of(template: str, ids: Sequence[str]) -> str:
    """Inserts the IDs into ``/v1/orders/{id}``."""
    remaining = iter(ids)

    def insert(match: re.Match[str]) -> str:
        value = next(remaining, None)
        # An empty ID or `..` would lead to another path, for example to the list.
        if not isinstance(value, str) or value in ("", ".", ".."):
            raise TypeError(f"{match.group(1)} must be the ID of an object")
        return quote(value, safe="")

    return re.sub(r"\{(\w+)\}", insert, template)


def query_of(parameters: Mapping[str, Any], fields_of: str | None) -> str:
    """``created_at={"gte": …}`` is sent as ``created_at[gte]``, a list with commas."""
    pairs: list[tuple[str, str]] = []
    for name, value in parameters.items():
        sent_name = f"fields[{fields_of}]" if name == "fields" and fields_of else name
        if value is OMITTED or value is None:
            continue
        if isinstance(value, Mapping):
            pairs += [(f"{sent_name}[{bound}]", _query_text(one)) for bound, one in value.items()]
        elif isinstance(value, (list, tuple, set, frozenset)):
            pairs.append((sent_name, ",".join(_query_text(one) for one in value)))
        else:
            pairs.append((sent_name, _query_text(value)))
    return f"?{urlencode(pairs)}" if pairs else ""


def _query_text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return _time_text(value) if isinstance(value, date) else str(value)


_passing_statuses = frozenset([429, 502, 503, 504])
#: A 500 may fail on every attempt, so it is retried only a few times.
_retries_of_internal_errors = 3
_first_delay = 0.25
_longest_delay = 5.0


def retries_for(error: SvcError) -> float:
    if isinstance(error, ConnectionError) or error.status in _passing_statuses:
        return math.inf
    if error.code == "request_in_progress":
        return math.inf
    return _retries_of_internal_errors if error.status == 500 else 0


def retry_delay(attempt: int, retry_after: float | None, chance: Callable[[], float] = random.random) -> float:
    """The delay before attempt number ``attempt + 1``: exponential, with jitter, and never earlier than requested."""
    back_off = min(_longest_delay, _first_delay * 2.0 ** min(attempt - 1, 30)) * (0.5 + chance() / 2)
    return back_off if retry_after is None else max(retry_after + chance() * _first_delay, back_off)
