"""Guarded ``httpx`` and ``httpx2`` transports, for clients to users' addresses.

Every connection goes to an address that the guard allows. The host name stays that of the URL, for
``Host`` and for TLS. Clients with such a transport read no proxies from the environment; redirects
are checked too, and so is each request over a kept connection to a private address. Requests may raise ``UrlNotAllowed`` besides the library's errors.
"""

import httpcore
import httpcore2
import httpx
import httpx2

from core.outbound.connector import KEPT_SECONDS, guarded_pool
from core.outbound.guard import OutboundGuard
from core.types.network import HostPort

# As many connections as the libraries keep by default. They have no parameter for the part of
# their pool that connects, so the pool is replaced.
_MAX, _MAX_IDLE = 100, 20
_HTTPX_LIMITS = httpx.Limits(max_connections=_MAX, max_keepalive_connections=_MAX_IDLE, keepalive_expiry=KEPT_SECONDS)
_HTTPX2_LIMITS = httpx2.Limits(max_connections=_MAX, max_keepalive_connections=_MAX_IDLE, keepalive_expiry=KEPT_SECONDS)


class GuardedHttpxTransport(httpx.AsyncHTTPTransport):
    """A guarded transport of ``httpx``."""

    def __init__(self, guard: OutboundGuard, limits: httpx.Limits = _HTTPX_LIMITS) -> None:
        super().__init__(trust_env=False, limits=limits)
        self._guard = guard
        self._pool = guarded_pool(guard, httpcore, httpx.create_ssl_context(), limits)

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        await self._guard.check_again(_target(request.url))
        return await super().handle_async_request(request)


class GuardedHttpx2Transport(httpx2.AsyncHTTPTransport):
    """A guarded transport of ``httpx2``."""

    def __init__(self, guard: OutboundGuard, limits: httpx2.Limits = _HTTPX2_LIMITS) -> None:
        super().__init__(trust_env=False, limits=limits)
        self._guard = guard
        self._pool = guarded_pool(guard, httpcore2, httpx2.create_ssl_context(), limits)

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        await self._guard.check_again(_target(request.url))
        return await super().handle_async_request(request)


def _target(url: httpx.URL | httpx2.URL) -> HostPort:
    return HostPort(url.raw_host.decode("ascii").strip("[]"), url.port or (443 if url.scheme == "https" else 80))
