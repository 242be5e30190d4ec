"""Guarded connections for ``httpx2``: the transport that a client to a user's address is given."""

from collections.abc import Iterable
from typing import cast

import httpcore2
import httpx2

from core.outgoing.connecting import connect_guarded
from core.outgoing.guard import OutgoingGuard

_Option = tuple[int, int, int] | tuple[int, int, bytes | bytearray] | tuple[int, int, None, int]


class GuardedTransport(httpx2.AsyncHTTPTransport):
    """A transport whose every connection goes to an address that the guard let through.

    The host name stays that of the URL, for ``Host`` and for TLS. A client made with it reads no
    proxies from the environment; redirects, where it follows any, are judged like all others.
    Requests raise ``UrlNotAllowed`` beside what ``httpx2`` raises.

    Args:
        guard: judges.
        limits: of the pool.
    """

    def __init__(self, guard: OutgoingGuard, limits: httpx2.Limits | None = None) -> None:
        limits = limits or httpx2.Limits(max_connections=100, max_keepalive_connections=20)
        super().__init__(trust_env=False, limits=limits)
        # httpx2 has no parameter for the part of its pool that connects.
        self._pool = httpcore2.AsyncConnectionPool(
            ssl_context=httpx2.create_ssl_context(),
            max_connections=limits.max_connections,
            max_keepalive_connections=limits.max_keepalive_connections,
            keepalive_expiry=limits.keepalive_expiry,
            network_backend=_GuardedBackend(guard),
        )


class _GuardedBackend(httpcore2.AsyncNetworkBackend):
    def __init__(self, guard: OutgoingGuard) -> None:
        self._guard = guard
        self._inner = cast(httpcore2.AsyncNetworkBackend, httpcore2.AnyIOBackend())

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,  # noqa: ASYNC109
        local_address: str | None = None,
        socket_options: Iterable[_Option] | None = None,
    ) -> httpcore2.AsyncNetworkStream:
        async def connect(address: str, seconds: float | None) -> httpcore2.AsyncNetworkStream:
            return await self._inner.connect_tcp(
                address, port, seconds, local_address, socket_options
            )

        failures = (httpcore2.ConnectError, httpcore2.ConnectTimeout)
        return await connect_guarded(self._guard, (host, port), connect, failures, timeout)

    async def sleep(self, seconds: float) -> None:
        await self._inner.sleep(seconds)
