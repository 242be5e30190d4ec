"""HTTP to a provider: guarded addresses, short responses, one deadline, own error messages."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import httpx2

from core.errors.oidc import OidcUnavailable
from core.errors.requests import UrlNotAllowed
from core.logging import get_logger
from core.outbound.bounded_stream import BoundedStream

log = get_logger(__name__)

TIMEOUT = httpx2.Timeout(10)
_LONGEST_SECONDS = 15
_LARGEST_ANSWER = 2**20


class BorrowedTransport(httpx2.AsyncBaseTransport):
    """Lends one transport to clients that close theirs, and cuts responses that are too long."""

    def __init__(self, inner: httpx2.AsyncBaseTransport) -> None:
        self._inner = inner

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        response = await self._inner.handle_async_request(request)
        stream = response.stream
        if isinstance(stream, httpx2.AsyncByteStream):
            response.stream = BoundedStream(stream, _LARGEST_ANSWER, lambda: httpx2.ReadError("the answer is too long"))
        return response


@asynccontextmanager
async def provider_request(what: str) -> AsyncGenerator[None]:
    """Turn every failure of a request into ``OidcUnavailable``.

    Its ``reason`` is ``what``: ``discovery``, ``keys``, ``token`` or ``userinfo``.
    """
    try:
        async with asyncio.timeout(_LONGEST_SECONDS):
            yield
    except (httpx2.HTTPError, httpx2.InvalidURL, UrlNotAllowed, TimeoutError, ValueError) as error:
        # The answer's text stays out of the log: it may hold tokens.
        log.warning("oidc.unavailable", asked_for=what, cause=type(error).__name__)
        raise OidcUnavailable(what) from error
