"""The guard of outgoing connections."""

import asyncio
import socket
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager

import httpx
import httpx2
import pytest

from core.errors.requests import UrlNotAllowed
from core.outbound import transports
from core.outbound.connector import KEPT_SECONDS
from core.outbound.guard import NameNotResolved, OutboundGuard

pytestmark = pytest.mark.anyio

# Each of these has reached this machine, its metadata service or nothing public somewhere.
FORMS = (
    "127.0.0.1",
    "127.1",
    "127.0.1",
    "0",
    "0.0.0.0",
    "2130706433",
    "0x7f000001",
    "0x7f.1",
    "017700000001",
    "0177.0.0.1",
    "[::1]",
    "[::]",
    "[::ffff:127.0.0.1]",
    "[::ffff:7f00:1]",
    "[::127.0.0.1]",
    "[64:ff9b::7f00:1]",
    "[2002:7f00:1::]",
    "localhost",
    "localhost.",
    "LOCALHOST",
    "ⓛocalhost",
    "127。0。0。1",
    "①②⑦.0.0.1",
    "169.254.169.254",
    "[fd00:ec2::254]",
    "[fe80::1%25lo]",
    "100.64.0.1",
    "192.0.0.8",
    "198.18.0.1",
    "224.0.0.1",
    "255.255.255.255",
    "10.1.2.3",
    "172.16.0.1",
    "192.168.1.1",
    "100.100.100.200",
    "168.63.129.16",
    "[2001:db8::1]",
    "[64:ff9b:1::1]",
    "inner.localhost",
)
Client = httpx.AsyncClient | httpx2.AsyncClient


def of_httpx(guard: OutboundGuard) -> Client:
    transport = transports.GuardedHttpxTransport(guard)
    assert transport._pool._keepalive_expiry == KEPT_SECONDS
    return httpx.AsyncClient(transport=transport, follow_redirects=True, timeout=5)


def of_httpx2(guard: OutboundGuard) -> Client:
    transport = transports.GuardedHttpx2Transport(guard)
    assert transport._pool._keepalive_expiry == KEPT_SECONDS
    return httpx2.AsyncClient(transport=transport, follow_redirects=True, timeout=5)


BOTH = pytest.mark.parametrize("client_of", [of_httpx, of_httpx2])


class Canary:
    """A server on this machine that counts who connects, and answers what it is told."""

    def __init__(self) -> None:
        self.answer = "HTTP/1.1 204 No Content\r\n"
        self.port = 0
        self.requests: list[str] = []
        self.connections = 0

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        self.requests.append((await reader.readuntil(b"\r\n\r\n")).decode())
        writer.write(f"{self.answer}Content-Length: 0\r\nConnection: close\r\n\r\n".encode())
        await writer.drain()
        writer.close()


@asynccontextmanager
async def canary() -> AsyncGenerator[Canary]:
    one = Canary()
    async with await asyncio.start_server(one.serve, "127.0.0.1", 0) as server:
        one.port = server.sockets[0].getsockname()[1]
        yield one


@BOTH
async def test_no_spelling_of_a_private_address_is_connected_to(
    client_of: Callable[[OutboundGuard], Client],
):
    guard = OutboundGuard()
    async with canary() as listening, client_of(guard) as client:
        for form in FORMS:
            url = f"http://{form}:{listening.port}/"
            with pytest.raises(UrlNotAllowed):
                await guard.check(url)
            with pytest.raises((UrlNotAllowed, httpx.InvalidURL, httpx2.InvalidURL)):
                await client.get(url)
        assert listening.connections == 0


@pytest.mark.parametrize(
    "url",
    [
        "ftp://example.com/",
        "file:///etc/passwd",
        "http://",
        "http://user:secret@93.184.215.14/",
        "http://93.184.215.14:22/",
        "http://[::ffff:93.184.215.14]:25/",
        f"http://93.184.215.14/{'a' * 2048}",
        "no url",
        "",
    ],
)
async def test_what_is_no_plain_url_of_a_web_service_is_refused(url: str):
    with pytest.raises(UrlNotAllowed):
        await OutboundGuard().check(url)


async def test_public_addresses_pass_and_mapped_forms_are_unwrapped():
    guard = OutboundGuard()
    await guard.check("https://93.184.215.14/mcp")
    await guard.check("wss://93.184.215.14:8443", schemes=("ws", "wss"))
    assert await guard.resolve("::ffff:93.184.215.14", 443) == ["93.184.215.14"]
    assert await guard.resolve("2606:4700::1111", 443) == ["2606:4700::1111"]


@BOTH
async def test_a_listed_target_is_reached_under_its_own_name_and_no_other_port_is(
    client_of: Callable[[OutboundGuard], Client],
):
    async with canary() as listed, canary() as other:
        guard = OutboundGuard([f"LocalHost.:{listed.port}"])
        async with client_of(guard) as client:
            answer = await client.get(f"http://localhost:{listed.port}/")
            assert answer.status_code == 204
            assert f"host: localhost:{listed.port}" in listed.requests[0].lower()
            with pytest.raises(UrlNotAllowed):
                await client.get(f"http://localhost:{other.port}/")
            with pytest.raises(UrlNotAllowed):
                await client.get(f"http://127.0.0.1:{listed.port}/")
        assert (listed.connections, other.connections) == (1, 0)


async def test_a_listed_address_is_reached_by_every_name_of_it():
    guard = OutboundGuard(["127.0.0.1:3001", "[::1]:3001"])
    assert await guard.resolve("localhost", 3001)
    assert await guard.resolve("::ffff:127.0.0.1", 3001) == ["127.0.0.1"]


async def test_listing_never_opens_link_local_or_unspecified_addresses():
    guard = OutboundGuard(["169.254.169.254:80", "0.0.0.0:80", "[fd00:ec2::254]:80"])
    for host in ("169.254.169.254", "0.0.0.0", "fd00:ec2::254"):
        with pytest.raises(UrlNotAllowed):
            await guard.resolve(host, 80)


@BOTH
async def test_a_redirect_to_loopback_is_not_followed(
    client_of: Callable[[OutboundGuard], Client],
):
    async with canary() as listed, canary() as inner:
        listed.answer = f"HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:{inner.port}/\r\n"
        async with client_of(OutboundGuard([f"127.0.0.1:{listed.port}"])) as client:
            with pytest.raises(UrlNotAllowed):
                await client.get(f"http://127.0.0.1:{listed.port}/")
        assert (listed.connections, inner.connections) == (1, 0)


@BOTH
async def test_a_name_that_flips_after_the_check_is_judged_again_at_the_connection(
    client_of: Callable[[OutboundGuard], Client], monkeypatch: pytest.MonkeyPatch
):
    answers = ["93.184.215.14", "127.0.0.1"]

    def flipping(host: str, port: int, **options: object) -> list[object]:
        # Only the guard may ask: a second question would get the second answer.
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (answers.pop(0), port))]

    async with canary() as inner:
        guard = OutboundGuard()
        monkeypatch.setattr(socket, "getaddrinfo", flipping)
        url = f"http://flipping.example:{inner.port}/"
        await guard.check(url)
        async with client_of(guard) as client:
            with pytest.raises(UrlNotAllowed):
                await client.get(url)
        assert (answers, inner.connections) == ([], 0)


async def test_a_name_with_a_private_address_among_public_ones_is_refused(
    monkeypatch: pytest.MonkeyPatch,
):
    def mixed(host: str, port: int, **options: object) -> list[object]:
        found = ("93.184.215.14", "10.0.0.1")
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (one, port)) for one in found]

    monkeypatch.setattr(socket, "getaddrinfo", mixed)
    with pytest.raises(UrlNotAllowed):
        await OutboundGuard().resolve("mixed.example", 443)


@BOTH
async def test_a_name_without_an_address_fails_like_any_dead_server(
    client_of: Callable[[OutboundGuard], Client],
):
    guard = OutboundGuard()
    await guard.check("http://nowhere.invalid/")
    with pytest.raises(NameNotResolved):
        await guard.resolve("nowhere.invalid", 80)
    async with client_of(guard) as client:
        with pytest.raises((httpx.ConnectError, httpx2.ConnectError)):
            await client.get("http://nowhere.invalid/")
