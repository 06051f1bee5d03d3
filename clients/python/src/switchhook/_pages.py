"""Lists, page by page."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar

import httpx

from ._errors import object_of
from ._model import Model
from ._request import Request

T = TypeVar("T", bound=Model)


@dataclass(frozen=True)
class Page(Generic[T]):
    data: list[T]
    has_more: bool
    #: Pass it as `cursor` to get the next page.
    next_cursor: str | None


def page_of(kind: type[T], response: httpx.Response) -> Page[T]:
    body = object_of(response)
    return Page([kind.model_validate(one) for one in body.get("data") or []], bool(body.get("has_more")), body.get("next_cursor"))


def following(request: Request, page: Page[Any]) -> Request | None:
    """The request of the next page."""
    if not page.has_more or page.next_cursor is None:
        return None
    return replace(request, query={**request.query, "cursor": page.next_cursor})


class Pages(Generic[T]):
    """A list, newest first. Iterate it to get everything; pages are fetched as needed."""

    def __init__(self, send: Callable[[Request], httpx.Response], request: Request, kind: type[T]) -> None:
        self._send, self._request, self._kind = send, request, kind

    def first(self) -> Page[T]:
        """The first page only."""
        return page_of(self._kind, self._send(self._request))

    def pages(self) -> Iterator[Page[T]]:
        request: Request | None = self._request
        while request is not None:
            page = page_of(self._kind, self._send(request))
            yield page
            request = following(request, page)

    def __iter__(self) -> Iterator[T]:
        for page in self.pages():
            yield from page.data


class AsyncPages(Generic[T]):
    """A list, newest first. Iterate it with `async for` to get everything; pages are fetched as needed."""

    def __init__(self, send: Callable[[Request], Awaitable[httpx.Response]], request: Request, kind: type[T]) -> None:
        self._send, self._request, self._kind = send, request, kind

    async def first(self) -> Page[T]:
        """The first page only."""
        return page_of(self._kind, await self._send(self._request))

    async def pages(self) -> AsyncIterator[Page[T]]:
        request: Request | None = self._request
        while request is not None:
            page = page_of(self._kind, await self._send(request))
            yield page
            request = following(request, page)

    async def __aiter__(self) -> AsyncIterator[T]:
        async for page in self.pages():
            for one in page.data:
                yield one
