"""Guarded connections for ``httpx2``: the transport that a client to a user's address is given."""

import httpcore
import httpcore2
import httpx
import httpx2

from core.outbound.connector import KEPT_SECONDS, guarded_pool
from core.outbound.guard import OutboundGuard

# As many as the library has by default.
_LIMITS = httpx2.Limits(
    max_connections=100, max_keepalive_connections=20, keepalive_expiry=KEPT_SECONDS
)


class GuardedHttpx2Transport(httpx2.AsyncHTTPTransport):
    """A transport whose every connection goes to an address that the guard let through.

    The host name stays that of the URL, for ``Host`` and for TLS. A client made with it reads no
    proxies from the environment; redirects, where it follows any, are judged like all others.
    Requests raise ``UrlNotAllowed`` beside what ``httpx2`` raises.

    Args:
        guard: judges.
        limits: of the pool.
    """

    def __init__(self, guard: OutboundGuard, limits: httpx2.Limits = _LIMITS) -> None:
        super().__init__(trust_env=False, limits=limits)
        # httpx2 has no parameter for the part of its pool that connects.
        self._pool = guarded_pool(guard, httpcore2, httpx2.create_ssl_context(), limits)


# As many as the library has by default.
_HTTPX_TRANSPORT_LIMITS = httpx.Limits(
    max_connections=100, max_keepalive_connections=20, keepalive_expiry=KEPT_SECONDS
)


class GuardedHttpxTransport(httpx.AsyncHTTPTransport):
    """A transport whose every connection goes to an address that the guard let through.

    The host name stays that of the URL, for ``Host`` and for TLS. A client made with it reads no
    proxies from the environment; redirects, where it follows any, are judged like all others.
    Requests raise ``UrlNotAllowed`` beside what ``httpx`` raises.

    Args:
        guard: judges.
        limits: of the pool.
    """

    def __init__(
        self, guard: OutboundGuard, limits: httpx.Limits = _HTTPX_TRANSPORT_LIMITS
    ) -> None:
        super().__init__(trust_env=False, limits=limits)
        # httpx has no parameter for the part of its pool that connects.
        self._pool = guarded_pool(guard, httpcore, httpx.create_ssl_context(), limits)
