"""Shared part of the guarded transports of all HTTP libraries: tries the addresses one after another."""

import asyncio
import ssl
from collections.abc import Iterable
from typing import Any, Generic, Protocol, TypeVar

from core.outbound.guard import NameNotResolved, OutboundGuard

KEPT_SECONDS = 60.0
"""How long an idle connection is kept: a new one costs DNS, TCP and TLS."""
StreamT_co = TypeVar("StreamT_co", covariant=True)
SocketOption = tuple[int, int, int] | tuple[int, int, bytes | bytearray] | tuple[int, int, None, int]


class Connector(Protocol[StreamT_co]):
    """The part of an HTTP library that connects."""

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,  # noqa: ASYNC109
        local_address: str | None = None,
        socket_options: Iterable[SocketOption] | None = None,
    ) -> StreamT_co:
        """A connection to one address."""
        ...


class PoolLimits(Protocol):
    """Connection limits of a client, with the names of ``httpx.Limits``."""

    max_connections: int | None
    max_keepalive_connections: int | None
    keepalive_expiry: float | None


def guarded_pool(
    guard: OutboundGuard,
    library: Any,  # noqa: ANN401 (modules have no protocols)
    ssl_context: ssl.SSLContext,
    limits: PoolLimits,
) -> Any:  # noqa: ANN401
    """The ``AsyncConnectionPool`` of ``httpcore`` or ``httpcore2``, limited to addresses that the guard allows."""
    failures = (library.ConnectError, library.ConnectTimeout)
    return library.AsyncConnectionPool(
        ssl_context=ssl_context,
        max_connections=limits.max_connections,
        max_keepalive_connections=limits.max_keepalive_connections,
        keepalive_expiry=limits.keepalive_expiry,
        network_backend=GuardedConnector(guard, library.AnyIOBackend(), failures),
    )


class GuardedConnector(Generic[StreamT_co]):
    """Connects only to allowed addresses; ``failures`` are the library's errors for no connection and for a timeout."""

    def __init__(
        self, guard: OutboundGuard, inner: Connector[StreamT_co], failures: tuple[type[Exception], type[Exception]]
    ) -> None:
        self._guard = guard
        self._inner = inner
        self._failures = failures

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,  # noqa: ASYNC109
        local_address: str | None = None,
        socket_options: Iterable[SocketOption] | None = None,
    ) -> StreamT_co:
        """A connection to the first address that accepts it; all attempts share the timeout."""
        try:
            addresses = await self._guard.resolve(host, port)
        except NameNotResolved as error:
            raise self._failures[0]("the name has no address") from error
        each = None if timeout is None else timeout / len(addresses)
        for address in addresses[:-1]:
            try:
                return await self._inner.connect_tcp(address, port, each, local_address, socket_options)
            except self._failures:
                continue
        return await self._inner.connect_tcp(addresses[-1], port, each, local_address, socket_options)

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)
