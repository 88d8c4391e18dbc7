"""The objects of responses. Fields are converted when they are read, so unknown fields and values never break a client."""

from __future__ import annotations

import re
from copy import deepcopy
from dataclasses import dataclass
from datetime import date, datetime, timezone
from typing import TYPE_CHECKING, Any, Callable, ClassVar, Dict, Iterator, Mapping, Sequence, TypeVar

Converter = Callable[[Any], Any]

if TYPE_CHECKING:
    from typing_extensions import Self


@dataclass(frozen=True)
class Response:
    """The response that an object or a page came with."""

    status: int
    #: Name it when you ask about this request.
    request_id: str | None
    headers: Mapping[str, str]
    content: bytes

    def __repr__(self) -> str:
        return f"Response(status={self.status}, request_id={self.request_id!r})"


class Model:
    """An object of the service. ``order["name"]`` reads a field that this version does not know."""

    __slots__ = ("_data", "_read", "_response")

    _fields: ClassVar[frozenset[str]] = frozenset()
    #: Fields that the service can leave out. They are None then.
    _optional: ClassVar[frozenset[str]] = frozenset()
    _secret: ClassVar[frozenset[str]] = frozenset()
    _converters: ClassVar[Mapping[str, Converter]] = {}

    _data: Dict[str, Any]
    _read: Dict[str, Any]
    _response: Response | None

    def __init__(self, data: Mapping[str, Any], response: Response | None = None) -> None:
        object.__setattr__(self, "_data", dict(data))
        object.__setattr__(self, "_read", {})
        object.__setattr__(self, "_response", response)

    @classmethod
    def of(cls, value: Any) -> Self:
        """From JSON."""
        return cls(value if isinstance(value, dict) else {})

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            if name.startswith("__"):
                raise AttributeError(name)
            read = self._read
            if name not in read:
                read[name] = self._value(name)
            return read[name]

        def __setattr__(self, name: str, value: Any) -> None:
            raise AttributeError(f"{type(self).__name__} is read-only; change it with an update of the client")

    def _value(self, name: str) -> Any:
        if name not in self._data:
            if name in self._optional:
                return None
            if name in self._fields:
                raise AttributeError(f"the response has no {name}: it was not in the selected fields")
            raise AttributeError(f"{type(self).__name__} has no field {name}")
        value = self._data[name]
        converter = self._converters.get(name)
        return value if value is None or converter is None else converter(value)

    def __getitem__(self, name: str) -> Any:
        return self._data[name]

    def __contains__(self, name: object) -> bool:
        return name in self._data

    def __iter__(self) -> Iterator[str]:
        return iter(self._data)

    def to_dict(self) -> Dict[str, Any]:
        """A copy of the object as the service has sent it."""
        return deepcopy(self._data)

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and isinstance(other, Model) and other._data == self._data

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        shown = (f"{name}={_shown(name, value, self._secret)}" for name, value in self._data.items())
        return f"{type(self).__name__}({', '.join(shown)})"

    def __reduce__(self) -> tuple[Any, ...]:
        return (type(self), (self._data,))

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *self._fields})


_secret_name = re.compile(r"secret$|^authorization$|^cookie$", re.IGNORECASE)


def _shown(name: str, value: object, secret: frozenset[str]) -> str:
    if value is not None and (name in secret or _secret_name.search(name)):
        return "'…'"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key!r}: {_shown(str(key), inner, frozenset())}" for key, inner in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(_shown(name, inner, frozenset()) for inner in value) + "]"
    return repr(value)


ModelType = TypeVar("ModelType", bound=Model)


def time_of(value: Any) -> datetime:
    """A time of the service, always with its time zone."""
    text = str(value)
    match = re.fullmatch(r"(\d{4}-\d\d-\d\d)T(\d\d:\d\d:\d\d)(?:\.(\d+))?(Z|[+-]\d\d:\d\d)", text)
    if not match:
        raise ValueError(f"not a time: {text!r}")
    day, clock, fraction, zone = match.groups()
    micros = ((fraction or "") + "000000")[:6]
    return datetime.fromisoformat(f"{day}T{clock}.{micros}{'+00:00' if zone == 'Z' else zone}").astimezone(timezone.utc)


def date_of(value: Any) -> date:
    """The day of a date, also if the service sends a time."""
    return date.fromisoformat(str(value)[:10])


def list_of(convert: Converter) -> Converter:
    return lambda values: [convert(value) for value in values] if isinstance(values, list) else values


def map_of(convert: Converter) -> Converter:
    return lambda values: {key: convert(value) for key, value in values.items()}


def one_of(*choices: tuple[type[Model], Sequence[str], Mapping[str, object]]) -> Converter:
    """The first type whose required fields are there and whose fixed fields have their values; else the last one."""

    def convert(value: Any) -> Any:
        if not isinstance(value, dict):
            return value
        for model, required, fixed in choices:
            if all(name in value for name in required) and all(value.get(name) == one for name, one in fixed.items()):
                return model(value)
        return choices[-1][0](value)

    return convert


def response_of(value: object) -> Response | None:
    """The response of a call that succeeded, from the object or the page that it returned. None for the objects of a page."""
    found = getattr(value, "_response", None)
    return found if isinstance(found, Response) else None


def version_of(value: object) -> str | None:
    """The version of an object as ``get`` or ``update`` has returned it, for the option ``if_match``."""
    response = response_of(value)
    return None if response is None else response.headers.get("etag")
