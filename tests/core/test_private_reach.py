"""Which private addresses are open to whom: the guard's rule, the list that changes, the binding."""

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from ipaddress import ip_address

import httpx
import httpx2
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.errors.requests import UrlNotAllowed
from core.outbound.guard import OutboundGuard, PrivateReach, is_private, is_public
from core.settings import Settings
from core.types.network import parse_address
from tests.core.test_outbound import BOTH, FORMS, Client

pytestmark = pytest.mark.anyio

# Loopback and private networks, in spellings that URLs bring into their usual form.
PRIVATE = frozenset(
    {
        "127.0.0.1",
        "[::1]",
        "[::ffff:127.0.0.1]",
        "[::ffff:7f00:1]",
        "localhost",
        "localhost.",
        "LOCALHOST",
        "127。0。0。1",
        "100.64.0.1",
        "198.18.0.1",
        "10.1.2.3",
        "172.16.0.1",
        "192.168.1.1",
        "inner.localhost",
    }
)


def guard_of(*listed: str, is_open: bool = False) -> OutboundGuard:
    async def reach() -> PrivateReach:
        return PrivateReach(frozenset(listed), is_open)

    return OutboundGuard(reach=reach)


@pytest.mark.parametrize("form", FORMS)
async def test_open_guard_leads_to_loopback_and_private_networks_and_nowhere_else(form: str):
    url = f"http://{form}:3001/"
    with pytest.raises(UrlNotAllowed):
        await guard_of().check(url)
    if form in PRIVATE:
        await guard_of(is_open=True).check(url)
        return
    with pytest.raises(UrlNotAllowed) as caught:
        await guard_of(is_open=True).check(url)
    assert "value" not in caught.value.details


@pytest.mark.parametrize("form", sorted(PRIVATE))
async def test_value_that_a_refusal_names_is_the_entry_that_opens_the_address(form: str):
    url = f"http://{form}:3001/"
    with pytest.raises(UrlNotAllowed) as caught:
        await guard_of().check(url)
    details = caught.value.details
    assert details["setting"] == "AGENTEX_ALLOWED_PRIVATE_TARGETS"
    for words in (str(details["error"]), str(details["error_zh"])):
        assert f"{details['value']}" in words
        assert "AGENTEX_ALLOWED_PRIVATE_TARGETS" in words
    listed = Settings(_env_file=None, allowed_private_targets=str(details["value"])).allowed_private_targets
    await guard_of(*listed).check(url)


async def test_privileged_ports_stay_closed_where_private_networks_are_open():
    with pytest.raises(UrlNotAllowed) as caught:
        await guard_of(is_open=True).resolve("localhost", 25)
    assert caught.value.details["value"] == "localhost:25"
    assert await guard_of("localhost:25", is_open=True).resolve("localhost", 25)
    # The name of no list: it would change nothing.
    with pytest.raises(UrlNotAllowed) as caught:
        await guard_of(is_open=True).resolve("169.254.169.254", 25)
    assert "value" not in caught.value.details


@given(st.ip_addresses())
def test_open_guard_adds_private_networks_to_what_all_may_reach(address: object):
    literal = parse_address(str(address)) or ip_address("0.0.0.0")

    def may(guard: OutboundGuard) -> bool:
        try:
            asyncio.run(guard.resolve(str(address), 8080))
        except UrlNotAllowed:
            return False
        return True

    assert may(guard_of()) is is_public(literal)
    assert may(guard_of(is_open=True)) is (is_public(literal) or is_private(literal))


@asynccontextmanager
async def patient_server() -> AsyncGenerator[tuple[int, list[str]]]:
    """A server that keeps its connections; gives its port and the requests of all of them."""
    requests: list[str] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                requests.append((await reader.readuntil(b"\r\n\r\n")).decode())
                writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    async with await asyncio.start_server(serve, "127.0.0.1", 0) as server:
        yield server.sockets[0].getsockname()[1], requests


@BOTH
async def test_kept_connection_is_not_used_after_its_target_was_taken_off_the_list(
    client_of: Callable[[OutboundGuard], Client],
):
    async with patient_server() as (port, requests):
        listed = {f"localhost:{port}"}

        async def reach() -> PrivateReach:
            return PrivateReach(frozenset(listed))

        async with client_of(OutboundGuard(reach=reach)) as client:
            url = f"http://localhost:{port}/"
            for _ in range(2):
                assert (await client.get(url)).status_code == httpx.codes.OK
            listed.clear()
            with pytest.raises(UrlNotAllowed):
                await client.get(url)
            listed.add(f"localhost:{port}")
            assert (await client.get(url)).status_code == httpx2.codes.OK
        assert len(requests) == 3


@pytest.mark.parametrize(
    ("fields", "is_local"),
    [
        ({}, True),
        ({"host": "localhost"}, True),
        ({"host": "127.0.0.2"}, True),
        ({"host": "::1"}, True),
        ({"trusted_proxies": "none"}, True),
        ({"url": "http://127.0.0.1:8000"}, True),
        ({"host": "0.0.0.0"}, False),
        ({"host": "::"}, False),
        ({"host": "192.168.1.20"}, False),
        ({"host": "wiki.local"}, False),
        # The default's own value says that there is one, if somebody wrote it down.
        ({"trusted_proxies": "127.0.0.1"}, False),
        ({"trusted_proxies": "10.0.0.0/8,none"}, False),
        ({"oidc_public_url": "https://wiki.example.com"}, False),
        ({"url": "https://wiki.example.com"}, False),
        ({"url": "http://["}, False),
    ],
)
def test_server_is_local_only_while_it_listens_on_loopback_and_no_setting_names_a_way_in(
    fields: dict[str, str], is_local: bool
):
    assert Settings(_env_file=None, **fields).is_local_only is is_local
