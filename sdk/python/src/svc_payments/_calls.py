"""What the resources need of a client."""

from __future__ import annotations

from typing import Any, Callable, Mapping, Protocol, Sequence, TypeVar

from ._core import Call, RequestOptions
from ._paging import AsyncPages, Page
from .generated.operations import Operation

T = TypeVar("T")


def as_is(body: Any) -> Any:
    return body


class Calls(Protocol):
    def _call(self, call: Call[T]) -> T: ...

    def _list(
        self,
        operation: Operation,
        convert: Callable[[Any], T],
        ids: Sequence[str],
        query: Mapping[str, Any],
        options: RequestOptions | None,
    ) -> Page[T]: ...


class AsyncCalls(Protocol):
    async def _call(self, call: Call[T]) -> T: ...

    def _list(
        self,
        operation: Operation,
        convert: Callable[[Any], T],
        ids: Sequence[str],
        query: Mapping[str, Any],
        options: RequestOptions | None,
    ) -> AsyncPages[T]: ...
