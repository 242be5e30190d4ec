"""Servers that only look like MySQL: what is sent to them, and how much is taken from them."""

import asyncio
import socket
import ssl
import struct
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import pytest

from core.outbound.guard import OutboundGuard
from ingestion.connectors.base import SourceUnavailable
from ingestion.connectors.sql import mysql
from ingestion.connectors.sql.mysql import open_mysql
from ingestion.connectors.sql.place import DatabasePlace
from tests.fixtures.servers.postgres_server import write_certificate

pytestmark = pytest.mark.anyio
USER = {"username": "reader", "password": "canary-password"}
OK = b"\x00\x00\x00\x02\x00\x00\x00"


def packet(payload: bytes, number: int) -> bytes:
    return struct.pack("<I", len(payload))[:3] + bytes([number]) + payload


def greeting(version: str, plugin: str, *, has_tls: bool = False) -> bytes:
    # Protocol 4.1, authentication by plugins.
    capabilities = 0x000FF7FF | (0x800 if has_tls else 0)
    head = b"\x0a" + version.encode() + b"\x00" + struct.pack("<I", 7) + b"a" * 8 + b"\x00"
    head += struct.pack("<HBHHB", capabilities & 0xFFFF, 45, 2, capabilities >> 16, 21) + b"\x00" * 10
    return packet(head + b"b" * 12 + b"\x00" + plugin.encode() + b"\x00", 0)


class Wire:
    """The server's side of a connection: packets, and what the client has sent."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader, self.writer = reader, writer
        self.received: list[bytes] = []

    def send(self, payload: bytes, number: int) -> None:
        self.writer.write(packet(payload, number))

    async def receive(self) -> bytes:
        head = await self.reader.readexactly(4)
        packet = await self.reader.readexactly(int.from_bytes(head[:3], "little"))
        self.received.append(packet)
        return packet

    def greet(self, version: str = "8.4.0", plugin: str = "mysql_native_password") -> None:
        self.writer.write(greeting(version, plugin))

    async def log_in(self, version: str = "8.4.0") -> None:
        self.greet(version)
        await self.receive()
        self.send(OK, 2)


Answer = Callable[[Wire], Awaitable[None]]


@asynccontextmanager
async def server(answer: Answer) -> AsyncGenerator[tuple[int, list[bytes]]]:
    """A server that does as told; gives its port, and what it has received."""
    received: list[bytes] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        wire = Wire(reader, writer)
        wire.received = received
        try:
            await answer(wire)
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass
        finally:
            writer.close()

    listener = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with listener:
        yield listener.sockets[0].getsockname()[1], received


async def failure_of(port: int, *, allowed: bool = True, seconds: float = 60, tls: str = "off") -> str:
    """Why nothing can be read from a server."""
    guard = OutboundGuard([f"127.0.0.1:{port}"] if allowed else [])
    place = DatabasePlace("127.0.0.1", port, "zoo", "encrypt" if tls == "encrypt" else "off", "", seconds)
    try:
        async with open_mysql(guard, place, USER) as reader:
            pages = [page async for page in reader.pages("SELECT 1")]
    except SourceUnavailable as error:
        return error.failure.reason
    raise AssertionError(pages)


async def acknowledge(wire: Wire, statements: int) -> None:
    for _ in range(statements):
        await wire.receive()
        wire.send(OK, 1)


@pytest.mark.parametrize(
    ("version", "limit"),
    [("8.4.0", b"max_execution_time = 60000"), ("5.5.5-10.11.6-MariaDB", b"max_statement_time = 60")],
)
async def test_query_is_limited_and_read_only_in_each_servers_words(version: str, limit: bytes):
    async def obey(wire: Wire) -> None:
        await wire.log_in(version)
        await acknowledge(wire, 4)

    async with server(obey) as (port, received):
        assert await failure_of(port) == "no_answer"
    statements = [packet[1:] for packet in received[1:]]
    assert statements[0] == b"SET NAMES utf8mb4"
    assert statements[1].startswith(b"SET SESSION " + limit)
    assert statements[2:] == [b"SET SESSION time_zone = '+00:00'", b"START TRANSACTION READ ONLY"]


async def test_old_server_without_a_limit_is_read(tmp_path: Path):
    async def obey(wire: Wire) -> None:
        await wire.log_in("5.6.1")
        await acknowledge(wire, 1)
        await wire.receive()
        wire.send(b"\xff" + struct.pack("<H", 1193) + b"#HY000Unknown system variable", 1)
        await acknowledge(wire, 2)
        await wire.receive()
        wire.send(b"\xff" + struct.pack("<H", 1366) + b"#HY000Incorrect value: 'canary'", 1)

    async with server(obey) as (port, received):
        assert await failure_of(port) == "refused"
    assert received[-1] == b"\x03SELECT 1"


async def test_no_file_is_sent_to_a_server_that_asks_for_it(tmp_path: Path):
    secret = tmp_path / "secret"
    secret.write_text("canary-file")

    async def ask(wire: Wire) -> None:
        await wire.log_in()
        await acknowledge(wire, 4)
        await wire.receive()
        wire.send(b"\xfb" + str(secret).encode(), 1)
        await wire.receive()
        await wire.receive()

    async with server(ask) as (port, received):
        assert await failure_of(port) == "no_answer"
    # Nor does the client say that it would.
    assert not int.from_bytes(received[0][:4], "little") & 0x80
    assert b"canary-file" not in b"".join(received)


@pytest.mark.parametrize("plugin", ["mysql_clear_password", "dialog", "mysql_old_password"])
@pytest.mark.parametrize("when", ["first", "later"])
async def test_password_itself_is_not_sent_to_a_server_that_asks_for_it(plugin: str, when: str):
    async def ask(wire: Wire) -> None:
        wire.greet(plugin=plugin if when == "first" else "mysql_native_password")
        await wire.receive()
        prompt = b"\x05Password: " if plugin == "dialog" else b"a" * 20
        wire.send(b"\xfe" + plugin.encode() + b"\x00" + prompt, 2)
        await wire.receive()

    async with server(ask) as (port, received):
        assert await failure_of(port) == "unsafe_login"
    assert b"canary-password" not in b"".join(received)


async def test_password_itself_is_not_sent_to_a_server_whose_certificate_is_not_checked(tmp_path: Path):
    write_certificate(tmp_path)
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(tmp_path / "server.crt", tmp_path / "server.key")
    received: list[bytes] = []

    def ask(listener: socket.socket) -> None:
        with listener.accept()[0] as sock:
            sock.sendall(greeting("8.4.0", "mysql_native_password", has_tls=True))
            # The wish for TLS, and nothing of what follows it.
            sock.recv(36, socket.MSG_WAITALL)
            with context.wrap_socket(sock, server_side=True) as line, suppress(ConnectionError):
                received.append(line.recv(2**16))
                line.sendall(packet(b"\xfemysql_clear_password\x00", 3))
                received.append(line.recv(2**16))

    with socket.create_server(("127.0.0.1", 0)) as listener:
        asked = asyncio.create_task(asyncio.to_thread(ask, listener))
        assert await failure_of(listener.getsockname()[1], tls="encrypt") == "unsafe_login"
        await asked
    assert b"reader" in received[0]
    assert b"canary-password" not in b"".join(received)


async def test_server_without_tls_gets_no_password():
    async def greet(wire: Wire) -> None:
        wire.greet()
        await wire.receive()

    async with server(greet) as (port, received):
        assert await failure_of(port, tls="encrypt") == "no_tls"
    assert received == []


async def test_no_more_is_taken_than_may_come(monkeypatch: pytest.MonkeyPatch):
    sent = 0

    async def flood(wire: Wire) -> None:
        nonlocal sent
        wire.greet()
        await wire.receive()
        # An answer of packets without an end.
        for number in range(2, 500):
            wire.send(b"\x01" * (2**24 - 1), number % 256)
            await wire.writer.drain()
            sent += 2**24

    async with server(flood) as (port, _):
        assert await failure_of(port) == "too_much_data"
    assert sent < 2**26


async def test_silent_and_strange_servers_end_the_sync(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(mysql, "CONNECT_SECONDS", 1)

    async def wait(wire: Wire) -> None:
        await wire.receive()

    async def talk(wire: Wire) -> None:
        wire.writer.write(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n" * 100)

    async def rows(texts: Sequence[bytes], wire: Wire) -> None:
        await wire.log_in()
        await acknowledge(wire, 4)
        await wire.receive()
        wire.send(b"\x01", 1)
        # One column of bytes, which is not what was asked for.
        wire.send(b"\x03def\x00\x00\x00\x01a\x00\x0c" + struct.pack("<HIBHB", 63, 9, 252, 0, 0) + b"\x00\x00", 2)
        wire.send(b"\xfe\x00\x00\x02\x00", 3)
        for number, text in enumerate(texts, start=4):
            wire.send(bytes([len(text)]) + text, number)
        await wire.receive()

    async def silent(wire: Wire) -> None:
        await rows([], wire)

    async def strange(wire: Wire) -> None:
        await rows([b"abc"] * 20, wire)

    for answer in (wait, talk, strange):
        async with server(answer) as (port, _):
            assert await failure_of(port) == "no_answer"
    monkeypatch.setattr(mysql, "GRACE_SECONDS", 0.5)
    async with server(silent) as (port, _):
        assert await failure_of(port, seconds=0.5) == "query_timeout"


async def test_only_allowed_addresses_are_connected_to():
    is_met = False

    async def meet(_: Wire) -> None:
        nonlocal is_met
        is_met = True

    async with server(meet) as (port, _):
        assert await failure_of(port, allowed=False) == "not_allowed"
    assert not is_met
