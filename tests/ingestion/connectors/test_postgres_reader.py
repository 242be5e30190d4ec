"""Servers that only look like PostgreSQL: what is sent to them, and how much is taken from them."""

import asyncio
import struct
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager

import pytest

from core.outbound.guard import OutboundGuard
from ingestion.connectors.base import SourceUnavailable
from ingestion.connectors.sql import postgres
from ingestion.connectors.sql.place import DatabasePlace
from ingestion.connectors.sql.postgres import open_postgres

pytestmark = pytest.mark.anyio
Answer = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]
USER = {"username": "reader"}
ASK_PASSWORD = b"R" + struct.pack(">II", 8, 3)
ACCEPT = b"R" + struct.pack(">II", 8, 0)
VERSION = b"S" + struct.pack(">I", 24) + b"server_version\x0016.0\x00"
READY = b"Z" + struct.pack(">I", 5) + b"I"


@asynccontextmanager
async def server(answer: Answer) -> AsyncGenerator[int]:
    """A server that reads the first message of a client, and then does as told; gives its port."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            (length,) = struct.unpack(">I", await reader.readexactly(4))
            await reader.readexactly(length - 4)
            await answer(reader, writer)
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass
        finally:
            writer.close()

    listener = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with listener:
        yield listener.sockets[0].getsockname()[1]


async def failure_of(port: int, *, allowed: bool = True, seconds: float = 60) -> str:
    """Why nothing can be read from a server, which a name leads to."""
    guard = OutboundGuard([f"127.0.0.1:{port}"] if allowed else [])
    place = DatabasePlace("127.0.0.1", port, "zoo", "off", "", seconds)
    with pytest.raises(SourceUnavailable) as caught:
        async with open_postgres(guard, place, USER) as reader:
            await reader.columns("SELECT 1")
    return caught.value.failure.reason


async def test_endless_messages_are_cut_off(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(postgres, "_MOST_PAGE_BYTES", 2**20)
    sent = 0

    async def flood(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal sent
        writer.write(ACCEPT + VERSION + READY + b"N" + struct.pack(">I", 2**30))
        while True:
            writer.write(b"a" * 2**16)
            await writer.drain()
            sent += 2**16

    async with server(flood) as port:
        assert await failure_of(port) == "too_much_data"
    assert sent < 2**25


async def test_nothing_of_the_servers_account_is_sent(monkeypatch: pytest.MonkeyPatch):
    for name, value in {
        "PGPASSWORD": "canary",
        "PGSSLMODE": "require",
        "PGHOST": "127.0.0.2",
        "PGUSER": "root",
    }.items():
        monkeypatch.setenv(name, value)
    passwords: list[bytes] = []

    async def ask(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(ASK_PASSWORD)
        (length,) = struct.unpack(">xI", await reader.readexactly(5))
        passwords.append(await reader.readexactly(length - 4))

    async with server(ask) as port:
        assert await failure_of(port) == "no_answer"
    assert passwords == [b"\x00"]


async def test_silent_and_strange_servers_end_the_sync(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(postgres, "CONNECT_SECONDS", 1)

    async def wait(reader: asyncio.StreamReader, _: asyncio.StreamWriter) -> None:
        await reader.read()

    async def talk(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n" * 100)

    async def accept(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(ACCEPT + READY)

    async def refuse(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        fields = b"SFATAL\x00C22P02\x00Minvalid input: canary\x00\x00"
        writer.write(b"E" + struct.pack(">I", 4 + len(fields)) + fields)

    async with server(wait) as port:
        assert await failure_of(port) == "no_answer"
    async with server(talk) as port:
        assert await failure_of(port) == "no_answer"
    async with server(accept) as port:
        assert await failure_of(port) == "no_answer"
    async with server(refuse) as port:
        assert await failure_of(port) == "refused"


async def test_only_allowed_addresses_are_connected_to():
    is_met = False

    async def meet(_: asyncio.StreamReader, __: asyncio.StreamWriter) -> None:
        nonlocal is_met
        is_met = True

    async with server(meet) as port:
        assert await failure_of(port, allowed=False) == "not_allowed"
    assert not is_met
