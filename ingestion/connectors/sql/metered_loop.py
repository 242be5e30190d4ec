"""An event loop for a library of its own connections: they go through the outbound guard, and what comes is bounded.

asyncpg takes no socket, but an event loop, of which it uses two ways to connect. Ours resolve the name by the guard and
connect to that address; the name stays what TLS verifies.
"""

import asyncio
import ssl
from collections.abc import Callable
from typing import Any

from core.outbound.guard import OutboundGuard

Connection = tuple[asyncio.Transport, asyncio.Protocol]


class MeteredLoop:
    """The running event loop, as asyncpg may use it.

    Args:
        guard: decides on the addresses.
        limit: bytes that may come between two calls of ``reset``; beyond it connections are cut.
    """

    def __init__(self, guard: OutboundGuard, limit: int) -> None:
        self._loop = asyncio.get_running_loop()
        self._guard = guard
        self._limit = limit
        self._count = 0
        self.is_exceeded = False

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401
        return getattr(self._loop, name)

    def reset(self) -> None:
        """Count from zero."""
        self._count = 0

    def admits(self, number: int) -> bool:
        """Count bytes that have come; False if they are too many."""
        self._count += number
        self.is_exceeded = self.is_exceeded or self._count > self._limit
        return not self.is_exceeded

    async def create_connection(self, factory: Callable[[], asyncio.Protocol], host: str, port: int) -> Connection:
        """Connect to the first address of a name that accepts it; raises ``UrlNotAllowed`` or ``OSError``."""
        addresses = await self._guard.resolve(host, port)
        for address in addresses[:-1]:
            try:
                return await self._connect(factory, address, port)
            except OSError:
                continue
        return await self._connect(factory, addresses[-1], port)

    async def start_tls(
        self,
        transport: asyncio.Transport,
        protocol: asyncio.Protocol,
        context: ssl.SSLContext,
        *,
        server_hostname: str,
    ) -> "_MeteredTransport | None":
        """Encrypt a connection; what comes over it is counted after decryption, too."""
        encrypted = await self._loop.start_tls(transport, protocol, context, server_hostname=server_hostname)
        return _MeteredTransport(encrypted, self) if encrypted is not None else None

    async def _connect(self, factory: Callable[[], asyncio.Protocol], address: str, port: int) -> Connection:
        protocol = factory()
        transport, _ = await self._loop.create_connection(lambda: _MeteredProtocol(protocol, self), address, port)
        return transport, protocol


class _MeteredProtocol(asyncio.Protocol):
    """Hands on what comes, and cuts the connection where that is too much."""

    def __init__(self, protocol: asyncio.Protocol, loop: MeteredLoop) -> None:
        self._protocol = protocol
        self._loop = loop
        self._transport: asyncio.BaseTransport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport
        self._protocol.connection_made(transport)

    def attach(self, transport: asyncio.BaseTransport) -> None:
        """Take over a connection that was made before."""
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        if self._loop.admits(len(data)):
            self._protocol.data_received(data)
        elif isinstance(self._transport, asyncio.WriteTransport):
            self._transport.abort()

    def eof_received(self) -> bool | None:
        return self._protocol.eof_received()

    def connection_lost(self, exc: Exception | None) -> None:
        self._protocol.connection_lost(exc)

    def pause_writing(self) -> None:
        self._protocol.pause_writing()

    def resume_writing(self) -> None:
        self._protocol.resume_writing()


class _MeteredTransport:
    """An encrypted connection whose protocols are metered ones."""

    def __init__(self, transport: asyncio.Transport, loop: MeteredLoop) -> None:
        self._transport = transport
        self._loop = loop

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401
        return getattr(self._transport, name)

    def set_protocol(self, protocol: asyncio.Protocol) -> None:
        metered = _MeteredProtocol(protocol, self._loop)
        metered.attach(self._transport)
        self._transport.set_protocol(metered)
