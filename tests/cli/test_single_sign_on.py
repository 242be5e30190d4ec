"""The local port to which a browser returns after single sign-on."""

import asyncio

import pytest

from cli.client import sso

pytestmark = pytest.mark.anyio


async def said_to(port: int, line: bytes) -> bytes:
    """All that the port answers to a first line."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(line)
    answer = await reader.read()
    writer.close()
    return answer


async def test_login_goes_on_while_a_browser_leaves_other_connections_open():
    async with asyncio.timeout(4):
        async with sso._waiting() as (port, told):
            idle, writer = await asyncio.open_connection("127.0.0.1", port)
            assert b"200 OK" in await said_to(port, b"GET /?sso_code=c HTTP/1.1\r\n\r\n")
            assert await told == {"sso_code": ["c"]}
        # Nothing of ours is left waiting for it.
        assert await idle.read() == b""
        writer.close()


async def test_connection_that_says_nothing_is_closed(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(sso, "_LINE_SECONDS", 0.05)
    async with asyncio.timeout(4), sso._waiting() as (port, told):
        assert await said_to(port, b"GET /?sso_co") == b""
        assert not told.done()


@pytest.mark.parametrize(
    "line",
    [b"GET /favicon.ico HTTP/1.1\r\n", b"POST /?sso_code=c HTTP/1.1\r\n", b"\r\n", b"GET\r\n"],
)
async def test_other_requests_are_no_login(line: bytes):
    async with asyncio.timeout(4), sso._waiting() as (port, told):
        assert b"404 Not Found" in await said_to(port, line)
        assert not told.done()


async def test_address_that_can_not_be_read_harms_nothing(caplog: pytest.LogCaptureFixture):
    async with asyncio.timeout(4), sso._waiting() as (port, told):
        assert await said_to(port, b"GET //[?sso_code=c HTTP/1.1\r\n") == b""
        assert b"200 OK" in await said_to(port, b"GET /?sso_error=40101 HTTP/1.1\r\n\r\n")
        assert await told == {"sso_error": ["40101"]}
    assert caplog.text == ""
