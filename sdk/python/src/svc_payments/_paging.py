"""Pages of lists. You can read the objects of a page, or iterate over it and all following pages."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, AsyncIterator, Awaitable, Callable, Generator, Generic, Iterator, List, Mapping, TypeVar

from ._models import Response

T = TypeVar("T")


@dataclass(frozen=True)
class Cursors:
    next: str | None
    previous: str | None


class PageBody(Generic[T]):
    """What the service returns for a page."""

    def __init__(self, body: Any, convert: Callable[[Any], T]) -> None:
        cursors = body.get("cursors") or {}
        self.data: List[T] = [convert(one) for one in body["data"]]
        #: Whether there are more objects in this direction.
        self.has_more: bool = bool(body.get("has_more"))
        self.cursors = Cursors(cursors.get("next"), cursors.get("previous"))
        self._response: Response | None = None

    def __len__(self) -> int:
        """The number of objects in this page."""
        return len(self.data)

    def __bool__(self) -> bool:
        return True

    def __repr__(self) -> str:
        return f"{type(self).__name__}({len(self.data)} objects, has_more={self.has_more})"


def _at(query: Mapping[str, Any], **cursor: str) -> dict[str, Any]:
    kept = {name: value for name, value in query.items() if name not in ("starting_after", "ending_before")}
    return {**kept, **cursor}


def _is_backwards(query: Mapping[str, Any]) -> bool:
    return isinstance(query.get("ending_before"), str)


def _checked(limit: int) -> int:
    if not isinstance(limit, int) or limit < 1:
        raise ValueError("to_list() requires a limit of at least 1")
    return limit


#: Loads a page, and makes an object of what the service returned.
Fetch = Callable[[Callable[[Any], Any], Mapping[str, Any]], Any]


class Page(PageBody[T]):
    """``for order in page`` iterates from this page to the end of the list, and loads pages as you need them. A page that was
    requested with ``ending_before`` iterates backwards, from its last object to the beginning."""

    def __init__(self, body: Any, convert: Callable[[Any], T], fetch: Fetch, query: Mapping[str, Any]) -> None:
        super().__init__(body, convert)
        self._convert = convert
        self._fetch = fetch
        self._query = query

    @staticmethod
    def load(convert: Callable[[Any], T], fetch: Fetch, query: Mapping[str, Any]) -> Page[T]:
        page: Page[T] = fetch(lambda body: Page(body, convert, fetch, query), query)
        return page

    def next_page(self) -> Page[T] | None:
        """None on the last page."""
        after = self.cursors.next
        return None if after is None else Page.load(self._convert, self._fetch, _at(self._query, starting_after=after))

    def previous_page(self) -> Page[T] | None:
        """None on the first page."""
        before = self.cursors.previous
        return None if before is None else Page.load(self._convert, self._fetch, _at(self._query, ending_before=before))

    def __iter__(self) -> Iterator[T]:
        backwards = _is_backwards(self._query)
        page: Page[T] | None = self
        while page is not None:
            yield from reversed(page.data) if backwards else page.data
            page = page.previous_page() if backwards else page.next_page()

    def to_list(self, *, limit: int) -> List[T]:
        """At most ``limit`` objects, which bounds memory and requests."""
        found: List[T] = []
        _checked(limit)
        for one in self:
            found.append(one)
            if len(found) == limit:
                break
        return found


class AsyncPage(PageBody[T]):
    """``async for order in page`` iterates from this page to the end of the list."""

    def __init__(self, body: Any, convert: Callable[[Any], T], fetch: Fetch, query: Mapping[str, Any]) -> None:
        super().__init__(body, convert)
        self._convert = convert
        self._fetch = fetch
        self._query = query

    @staticmethod
    async def load(convert: Callable[[Any], T], fetch: Fetch, query: Mapping[str, Any]) -> AsyncPage[T]:
        page: AsyncPage[T] = await fetch(lambda body: AsyncPage(body, convert, fetch, query), query)
        return page

    async def next_page(self) -> AsyncPage[T] | None:
        """None on the last page."""
        after = self.cursors.next
        if after is None:
            return None
        return await AsyncPage.load(self._convert, self._fetch, _at(self._query, starting_after=after))

    async def previous_page(self) -> AsyncPage[T] | None:
        """None on the first page."""
        before = self.cursors.previous
        if before is None:
            return None
        return await AsyncPage.load(self._convert, self._fetch, _at(self._query, ending_before=before))

    async def __aiter__(self) -> AsyncIterator[T]:
        backwards = _is_backwards(self._query)
        page: AsyncPage[T] | None = self
        while page is not None:
            for one in reversed(page.data) if backwards else page.data:
                yield one
            page = await (page.previous_page() if backwards else page.next_page())

    async def to_list(self, *, limit: int) -> List[T]:
        """At most ``limit`` objects, which bounds memory and requests."""
        return await _collected(self.__aiter__(), limit)


class AsyncPages(Generic[T]):
    """Await it to get one page, or iterate over it to get all objects. Nothing is sent before."""

    def __init__(self, convert: Callable[[Any], T], fetch: Fetch, query: Mapping[str, Any]) -> None:
        self._load: Callable[[], Awaitable[AsyncPage[T]]] = lambda: AsyncPage.load(convert, fetch, query)

    def __await__(self) -> Generator[Any, None, AsyncPage[T]]:
        return self._load().__await__()

    async def __aiter__(self) -> AsyncIterator[T]:
        async for one in await self._load():
            yield one

    async def to_list(self, *, limit: int) -> List[T]:
        """At most ``limit`` objects, which bounds memory and requests."""
        return await _collected(self.__aiter__(), limit)


async def _collected(items: AsyncIterator[T], limit: int) -> List[T]:
    found: List[T] = []
    _checked(limit)
    async for one in items:
        found.append(one)
        if len(found) == limit:
            break
    return found
