"""Changed lists of MCP servers, heard over every transport."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import replace

import pytest

from agents.mcp.change_queue import ChangeQueue
from agents.mcp.config import McpLimits, McpTarget, McpType
from agents.mcp.pool import McpPool
from core.outbound.guard import OutboundGuard, OutboundGuards
from tests.fixtures.servers.live_mcp_server import LiveMcpServer, live_mcp_server

pytestmark = pytest.mark.anyio
LIMITS = McpLimits(connect_seconds=5, list_seconds=5, call_seconds=10)


@pytest.fixture(scope="module")
def live(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveMcpServer]:
    with live_mcp_server(tmp_path_factory.mktemp("live")) as server:
        yield server


def newest(server: LiveMcpServer) -> McpTarget:
    return McpTarget("newest", McpType.STANDARD, server.url)


def handshake(server: LiveMcpServer) -> McpTarget:
    return McpTarget("handshake", McpType.STANDARD, server.old_url)


def websocket(server: LiveMcpServer) -> McpTarget:
    return McpTarget("websocket", McpType.WEBSOCKET, server.ws_url)


TARGETS = [newest, handshake, websocket]


@asynccontextmanager
async def hearing_pool(
    server: LiveMcpServer, limits: McpLimits = LIMITS
) -> AsyncIterator[tuple[McpPool, asyncio.Event]]:
    heard = asyncio.Event()
    guard = OutboundGuard(tuple(server.targets.split(",")))
    pool = McpPool(OutboundGuards(guard, guard), limits, on_change=lambda _: heard.set())
    yield pool, heard
    await pool.close()


@pytest.mark.parametrize("target_of", TARGETS)
async def test_change_of_the_tools_is_heard_while_the_session_is_open(live: LiveMcpServer, target_of):
    target, name = target_of(live), f"new_{target_of.__name__}"
    async with hearing_pool(live) as (pool, heard):
        session = (await pool.session(target)).session
        assert not heard.is_set()
        async with asyncio.timeout(20):
            while not heard.is_set():
                # A stream of notices opens beside the first calls.
                await session.call("change_tools", {"add": name})
                await asyncio.wait({asyncio.ensure_future(heard.wait())}, timeout=1)
        assert name in {tool.name for tool in (await session.list_tools()).tools}
        assert pool.present(target.connection_id) is session


async def test_stream_that_a_server_may_not_open_leaves_the_session_usable(live: LiveMcpServer):
    async with hearing_pool(live, replace(LIMITS, streams=0)) as (pool, _):
        for target in (newest(live), handshake(live)):
            session = (await pool.session(target)).session
            result = await session.call("ping", {})
            assert result.content[0].text == "pong"  # type: ignore[union-attr]


async def test_many_notices_make_one_look_at_a_time_and_one_more_behind_the_pause():
    looks: list[str] = []
    begun, go_on = asyncio.Event(), asyncio.Event()

    async def look(target: McpTarget) -> None:
        looks.append(target.connection_id)
        begun.set()
        await go_on.wait()

    queue = ChangeQueue(look, pause_seconds=0)
    target = McpTarget("c", McpType.STANDARD, "http://127.0.0.1:1/mcp")
    queue.note(target)
    await begun.wait()
    for _ in range(100):
        queue.note(target)
    assert looks == ["c"]
    begun.clear()
    go_on.set()
    async with asyncio.timeout(10):
        await begun.wait()
    await queue.close()
    assert looks == ["c", "c"]
