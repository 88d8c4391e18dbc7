"""The clients: the same calls, once with blocking and once with asynchronous input and output."""

from __future__ import annotations

import time
from types import TracebackType
from typing import TYPE_CHECKING, Any, Callable, Mapping, Sequence, TypeVar

import anyio
import httpx

from ._core import (
    OMITTED,
    Answer,
    Attempt,
    Call,
    Failure,
    Omitted,
    Pause,
    RequestOptions,
    Result,
    Steps,
    read_settings,
    steps_of,
)
from ._hooks import Hooks
from ._paging import AsyncPage, AsyncPages, Page
from .generated.async_resources import AsyncResources
from .generated.operations import Operation
from .generated.resources import Resources

if TYPE_CHECKING:
    from typing_extensions import Self

T = TypeVar("T")


def _raw_operation(method: str, path: str) -> Operation:
    if not isinstance(path, str) or not path.startswith("/") or path[1:2] in ("", "/", "\\"):
        raise ValueError("request() requires a path that begins with one slash, for example /v1/orders")
    if method not in ("GET", "POST", "PATCH", "DELETE"):
        raise ValueError("request() requires one of GET, POST, PATCH and DELETE")
    return Operation(method, path.replace("{", "%7B"), method != "GET", None)


def _as_is(body: Any) -> Any:
    return body


class Svc(Resources):
    """The payments API with a secret key: ``Svc("svc_test_sk_…", base_url="https://pay.example.com")``.

    A client can be used by several threads. ``with Svc(…) as svc`` closes its connections at the end.
    """

    def __init__(
        self,
        api_key: str,
        *,
        base_url: str,
        capture_url: str | None = None,
        timeout: float = 60.0,
        retry_for: float = 45.0,
        max_retries: int | None = None,
        hooks: Hooks | None = None,
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        """
        :param base_url: URL of the service.
        :param capture_url: URL for raw cards. Default: ``{base_url}/capture``.
        :param timeout: Seconds for each attempt.
        :param retry_for: Seconds after the first failure in which attempts can start; 0 for no retries.
        :param max_retries: Default: limited only by ``retry_for``.
        :param hooks: Functions that see every attempt.
        :param transport: Sends the requests, for example ``httpx.MockTransport`` in tests.
        """
        self._settings = read_settings(
            api_key,
            base_url,
            capture_url=capture_url,
            timeout=timeout,
            retry_for=retry_for,
            max_retries=max_retries,
            hooks=hooks,
        )
        self._http = httpx.Client(transport=transport, follow_redirects=False)
        super().__init__(self)

    def request(
        self,
        method: str,
        path: str,
        *,
        body: Mapping[str, Any] | None = None,
        query: Mapping[str, Any] | None = None,
        options: RequestOptions | None = None,
    ) -> Any:
        """Calls any path of the service, with the key, retries and errors of the other methods. Returns the parsed JSON."""
        return self._call(Call(_raw_operation(method, path), _as_is, query=query, body=body, options=options))

    def close(self) -> None:
        self._http.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Svc(base_url={self._settings.base_url!r})"

    def _call(self, call: Call[T]) -> T:
        return self._run(steps_of(self._settings, call))

    def _list(
        self,
        operation: Operation,
        convert: Callable[[Any], T],
        ids: Sequence[str],
        query: Mapping[str, Any],
        options: RequestOptions | None,
    ) -> Page[T]:
        def fetch(body_of: Callable[[Any], Any], at: Mapping[str, Any]) -> Any:
            return self._call(Call(operation, body_of, ids=ids, query=at, options=options))

        return Page.load(convert, fetch, query)

    def _run(self, steps: Steps[T]) -> T:
        result: Result = None
        while True:
            try:
                step = steps.send(result)
            except StopIteration as end:
                value: T = end.value
                return value
            if isinstance(step, Pause):
                time.sleep(step.seconds)
                result = None
            else:
                result = self._exchange(step)

    def _exchange(self, attempt: Attempt) -> Answer | Failure:
        """One attempt, including the complete response."""
        end = time.monotonic() + attempt.timeout
        try:
            with self._http.stream(
                attempt.method, attempt.url, headers=attempt.headers, content=attempt.content, timeout=attempt.timeout
            ) as response:
                content = bytearray()
                for chunk in response.iter_bytes():
                    content += chunk
                    if time.monotonic() > end:
                        raise httpx.ReadTimeout("the response took too long")
                return Answer(response.status_code, response.headers, bytes(content))
        except httpx.RequestError as error:
            return Failure(error, isinstance(error, httpx.TimeoutException))


class AsyncSvc(AsyncResources):
    """The same as Svc, with asynchronous methods, on asyncio or trio."""

    def __init__(
        self,
        api_key: str,
        *,
        base_url: str,
        capture_url: str | None = None,
        timeout: float = 60.0,
        retry_for: float = 45.0,
        max_retries: int | None = None,
        hooks: Hooks | None = None,
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        self._settings = read_settings(
            api_key,
            base_url,
            capture_url=capture_url,
            timeout=timeout,
            retry_for=retry_for,
            max_retries=max_retries,
            hooks=hooks,
        )
        self._http = httpx.AsyncClient(transport=transport, follow_redirects=False)
        super().__init__(self)

    async def request(
        self,
        method: str,
        path: str,
        *,
        body: Mapping[str, Any] | None = None,
        query: Mapping[str, Any] | None = None,
        options: RequestOptions | None = None,
    ) -> Any:
        """Calls any path of the service, with the key, retries and errors of the other methods. Returns the parsed JSON."""
        return await self._call(Call(_raw_operation(method, path), _as_is, query=query, body=body, options=options))

    async def close(self) -> None:
        await self._http.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        await self.close()

    def __repr__(self) -> str:
        return f"AsyncSvc(base_url={self._settings.base_url!r})"

    async def _call(self, call: Call[T]) -> T:
        return await self._run(steps_of(self._settings, call))

    def _list(
        self,
        operation: Operation,
        convert: Callable[[Any], T],
        ids: Sequence[str],
        query: Mapping[str, Any],
        options: RequestOptions | None,
    ) -> AsyncPages[T]:
        async def fetch(body_of: Callable[[Any], Any], at: Mapping[str, Any]) -> Any:
            return await self._call(Call(operation, body_of, ids=ids, query=at, options=options))

        return AsyncPages(convert, fetch, query)

    async def _run(self, steps: Steps[T]) -> T:
        result: Result = None
        while True:
            try:
                step = steps.send(result)
            except StopIteration as end:
                value: T = end.value
                return value
            if isinstance(step, Pause):
                await anyio.sleep(step.seconds)
                result = None
            else:
                result = await self._exchange(step)

    async def _exchange(self, attempt: Attempt) -> Answer | Failure:
        try:
            with anyio.fail_after(attempt.timeout):
                response = await self._http.request(
                    attempt.method, attempt.url, headers=attempt.headers, content=attempt.content, timeout=attempt.timeout
                )
                return Answer(response.status_code, response.headers, response.content)
        except httpx.RequestError as error:
            return Failure(error, isinstance(error, httpx.TimeoutException))
        except TimeoutError as error:
            return Failure(error, True)


__all__ = ["OMITTED", "AsyncPage", "AsyncPages", "AsyncSvc", "Omitted", "Page", "Svc"]
