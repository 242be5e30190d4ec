"""The body of a response, up to a size."""

from collections.abc import AsyncIterator, Callable

import httpx2


class BoundedStream(httpx2.AsyncByteStream):
    """Raises what ``error`` gives once a body has more than ``limit`` bytes."""

    def __init__(self, inner: httpx2.AsyncByteStream, limit: int, error: Callable[[], Exception]) -> None:
        self._inner = inner
        self._limit = limit
        self._error = error

    async def __aiter__(self) -> AsyncIterator[bytes]:
        size = 0
        async for part in self._inner:
            size += len(part)
            if size > self._limit:
                raise self._error()
            yield part

    async def aclose(self) -> None:
        await self._inner.aclose()
