"""HTTP to authorization servers: guarded, over https, without redirects to elsewhere, and bounded in size and time."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import httpx2

from agents.mcp.oauth.faults import OAuthFailure, OAuthFault
from core.errors.requests import UrlNotAllowed
from core.outbound.bounded_stream import BoundedStream
from core.outbound.guard import NameNotResolved, OutboundGuard, is_private, read_url
from core.outbound.transports import GuardedHttpx2Transport
from core.types.network import parse_address

REQUEST_SECONDS = 10
_LARGEST_ANSWER = 2**18


@asynccontextmanager
async def oauth_http(guard: OutboundGuard, *, seconds: float) -> AsyncGenerator[httpx2.AsyncClient]:
    """A client for one exchange of messages; every failure inside is an ``OAuthFailure``.

    Args:
        guard: of the connection's owner.
        seconds: for all that is done inside.
    """
    transport = BoundedTransport(GuardedHttpx2Transport(guard), guard)
    headers = {"Accept-Encoding": "identity", "Accept": "application/json"}
    try:
        async with (
            asyncio.timeout(seconds),
            httpx2.AsyncClient(
                headers=headers, timeout=REQUEST_SECONDS, transport=transport, follow_redirects=False
            ) as http,
        ):
            yield http
    except UrlNotAllowed as refusal:
        raise OAuthFailure(OAuthFault.NOT_ALLOWED, refusal=refusal) from refusal
    except (TimeoutError, httpx2.TimeoutException) as error:
        raise OAuthFailure(OAuthFault.NO_ANSWER) from error
    except (httpx2.HTTPError, httpx2.InvalidURL) as error:
        raise OAuthFailure(OAuthFault.UNREACHABLE) from error


async def require_secure(url: str, guard: OutboundGuard) -> None:
    """Refuse an address that is not allowed, and one without TLS that is not this machine's or its network's."""
    target = read_url(url)
    try:
        addresses = await guard.resolve(target.host, target.port)
    except NameNotResolved as error:
        raise OAuthFailure(OAuthFault.UNREACHABLE) from error
    if httpx2.URL(url).scheme == "https":
        return
    parsed = [parse_address(address) for address in addresses]
    if not all(address is not None and is_private(address) for address in parsed):
        raise OAuthFailure(OAuthFault.NOT_SECURE)


class BoundedTransport(httpx2.AsyncBaseTransport):
    """Refuses insecure addresses and compressed responses, and cuts long ones off with an error."""

    def __init__(self, inner: httpx2.AsyncBaseTransport, guard: OutboundGuard) -> None:
        self._inner = inner
        self._guard = guard

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        await require_secure(str(request.url), self._guard)
        response = await self._inner.handle_async_request(request)
        if response.headers.get("Content-Encoding", "identity").lower() != "identity":
            await response.aclose()
            raise OAuthFailure(OAuthFault.BAD_ANSWER)
        stream = response.stream
        if isinstance(stream, httpx2.AsyncByteStream):
            response.stream = BoundedStream(stream, _LARGEST_ANSWER, lambda: OAuthFailure(OAuthFault.BAD_ANSWER))
        return response

    async def aclose(self) -> None:
        await self._inner.aclose()
