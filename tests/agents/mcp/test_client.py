"""The MCP client against real servers: sessions, limits, rogue servers, names of tools."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import psutil
import pytest

from agents.mcp.config import McpLimits, McpTarget, McpType
from agents.mcp.errors import McpFault, McpRefusal, McpSessionLost
from agents.mcp.pool import McpPool
from agents.mcp.results import read_call_result
from agents.mcp.tools import callable_name
from core.errors.base import AgentexError
from core.errors.server import McpResultTooLarge, McpUnavailable
from core.outbound.guard import OutboundGuard, OutboundGuards
from tests.fixtures.servers.mcp_server import TOKEN, McpServers, mcp_servers

pytestmark = pytest.mark.anyio
LIMITS = McpLimits(connect_seconds=5, list_seconds=5, call_seconds=5)
BRIEF = replace(LIMITS, connect_seconds=0.5, list_seconds=0.5, call_seconds=0.5)


@pytest.fixture
def servers(outside_mcp: McpServers) -> McpServers:
    return outside_mcp


def guards(*targets: str) -> OutboundGuards:
    guard = OutboundGuard(targets)
    return OutboundGuards(guard, guard)


@asynccontextmanager
async def pool_for(servers: McpServers, limits: McpLimits = LIMITS) -> AsyncIterator[McpPool]:
    pool = McpPool(guards(*servers.targets.split(",")), limits)
    yield pool
    await pool.close()


def http(servers: McpServers, **fields: object) -> McpTarget:
    return McpTarget("http", McpType.STANDARD, servers.http_url, TOKEN, **fields)  # type: ignore[arg-type]


def ws(servers: McpServers) -> McpTarget:
    return McpTarget("ws", McpType.WEBSOCKET, servers.ws_url, TOKEN, heartbeat_seconds=5)


def fault_of(error: AgentexError) -> str:
    return str(error.details.get("fault"))


@pytest.mark.parametrize("target_of", [http, ws])
async def test_tools_are_listed_and_called_side_by_side_in_one_session(servers: McpServers, target_of):
    async with pool_for(servers) as pool:
        opened = await pool.session(target_of(servers))
        tools = {tool.name: tool for tool in opened.tools}
        assert set(tools) == {"add", "block.set", "fail", "big", "wait"}
        assert tools["block.set"].description == "在指定位置放置方块"
        assert tools["add"].input_schema["required"] == ["a", "b"]
        flags = {name: (one.is_read_only, one.is_idempotent) for name, one in tools.items()}
        assert flags["add"] == (True, True)
        assert flags["fail"] == (False, True)
        assert flags["block.set"] == (False, False)

        call = opened.session.call
        results = await asyncio.gather(call("add", {"a": 1, "b": 2}), call("wait", {"seconds": 0.2}), call("fail", {}))
        texts = [read_call_result(result).text for result in results]
        assert texts[:2] == ["3", "waited"]
        assert texts[2].startswith("The tool reported an error: ")
        assert (await pool.session(target_of(servers))).session is opened.session


@pytest.mark.parametrize("target_of", [http, ws])
async def test_call_that_takes_too_long_ends_and_leaves_the_session_usable(servers: McpServers, target_of):
    async with pool_for(servers, replace(LIMITS, call_seconds=0.5)) as pool:
        session = (await pool.session(target_of(servers))).session
        with pytest.raises(McpUnavailable) as caught:
            await session.call("wait", {"seconds": 60})
        assert fault_of(caught.value) == "no_answer"
        assert read_call_result(await session.call("add", {"a": 1, "b": 1})).text == "2"


@pytest.mark.parametrize("target_of", [http, ws])
async def test_answer_beyond_the_limit_is_refused_and_the_next_call_works(servers: McpServers, target_of):
    async with pool_for(servers) as pool:
        session = (await pool.session(target_of(servers))).session
        with pytest.raises(McpResultTooLarge):
            await session.call("big", {"kilobytes": 1100})
        again = (await pool.session(target_of(servers))).session
        assert read_call_result(await again.call("add", {"a": 1, "b": 1})).text == "2"


async def test_unknown_tool_is_an_error_of_the_servers(servers: McpServers):
    async with pool_for(servers) as pool:
        session = (await pool.session(http(servers))).session
        try:
            text = read_call_result(await session.call("nothing", {})).text
        except McpRefusal as refusal:
            text = refusal.text
        assert "nothing" in text


async def test_wrong_token_is_told_apart(servers: McpServers):
    async with pool_for(servers) as pool:
        for target in (http(servers), ws(servers)):
            with pytest.raises(McpUnavailable) as caught:
                await pool.session(replace(target, token="wrong"))
            assert fault_of(caught.value) == "unauthorised"


@pytest.mark.parametrize(
    ("kind", "faults"),
    [
        ("hang", {"no_answer"}),
        ("html", {"not_mcp"}),
        ("redirect", {"redirected"}),
        ("badjson", {"not_mcp"}),
        ("huge", {"None"}),
        ("stream", {"None", "no_answer"}),
        ("many", {"None"}),
    ],
)
async def test_rogue_server_fails_in_time_and_takes_no_memory(servers: McpServers, kind: str, faults: set[str]):
    async with pool_for(servers, replace(BRIEF, connect_seconds=2, list_seconds=2)) as pool:
        target = McpTarget(kind, McpType.STANDARD, servers.rogue_url(kind))
        before, start = psutil.Process().memory_info().rss, time.monotonic()
        with pytest.raises(AgentexError) as caught:
            await pool.session(target)
        assert time.monotonic() - start < 8
        assert fault_of(caught.value) in faults
        is_too_large = fault_of(caught.value) == "None"
        assert type(caught.value) is (McpResultTooLarge if is_too_large else McpUnavailable)
        assert "secret" not in str(caught.value.details)
        assert psutil.Process().memory_info().rss - before < 64 * 2**20
        # Others are not affected.
        assert (await pool.session(http(servers))).tools


async def test_endless_lists_are_cut(servers: McpServers):
    async with pool_for(servers) as pool:
        pages = await pool.session(McpTarget("p", McpType.STANDARD, servers.rogue_url("pages")))
        assert len(pages.tools) == 100
        some = await pool.session(McpTarget("s", McpType.STANDARD, servers.rogue_url("some")))
        assert len(some.tools) == 200


async def test_private_target_that_is_not_listed_is_not_connected_to(servers: McpServers):
    pool = McpPool(guards(), LIMITS)
    # Also after as many refusals as a server that is down would be left alone for.
    for target in 5 * [http(servers), ws(servers)]:
        with pytest.raises(McpUnavailable) as caught:
            await pool.session(target)
        assert fault_of(caught.value) == "not_allowed"
        details = caught.value.details
        assert details["setting"] == "AGENTEX_ALLOWED_PRIVATE_TARGETS"
        assert details["value"] in servers.targets.split(",")
    await pool.close()


async def test_server_that_is_down_is_left_alone_for_ever_longer(servers: McpServers, tmp_path: Path):
    dead = McpTarget("dead", McpType.STANDARD, "http://127.0.0.1:9/mcp", pause_seconds=60, max_retries=2)
    pool = McpPool(guards("127.0.0.1:9"), LIMITS)
    faults: list[str] = []
    for insists in (False, False, False, True):
        with pytest.raises(McpUnavailable) as caught:
            await pool.session(dead, insists=insists)
        faults.append(fault_of(caught.value))
    assert faults == ["unreachable", "unreachable", "paused", "unreachable"]
    await pool.close()


async def test_session_is_opened_again_once_the_server_is_back(tmp_path: Path):
    with mcp_servers(tmp_path) as own:
        async with pool_for(own) as pool:
            session = (await pool.session(http(own))).session
            socket = (await pool.session(ws(own))).session
            await asyncio.to_thread(own.stop)
            for one in (session, socket):
                with pytest.raises(McpUnavailable) as caught:
                    await one.call("add", {"a": 1, "b": 1})
                assert fault_of(caught.value) in {"unreachable", "broke_off"}
            await asyncio.to_thread(own.start)
            for target in (http(own), ws(own)):
                again = await pool.session(target)
                result = await again.session.call("add", {"a": 1, "b": 1})
                assert read_call_result(result).text == "2"


@pytest.mark.parametrize("kind", ["lost-404-json", "lost-400-json"])
async def test_calls_side_by_side_all_learn_that_the_session_is_lost(servers: McpServers, kind: str):
    async with pool_for(servers) as pool:
        session = (await pool.session(McpTarget(kind, McpType.STANDARD, servers.raw_url(kind)))).session
        await asyncio.to_thread(servers.forget_sessions, kind)
        before = servers.raw_calls(kind)
        results = await asyncio.gather(*(session.call("search", {}) for _ in range(5)), return_exceptions=True)
        assert [type(result) for result in results] == [McpSessionLost] * 5
        assert servers.raw_calls(kind) == before
        assert not session.is_usable


async def test_refusal_in_a_session_that_is_alive_leaves_it_open(servers: McpServers):
    async with pool_for(servers) as pool:
        target = McpTarget("alive", McpType.STANDARD, servers.raw_url("lost-400-json"))
        session = (await pool.session(target)).session
        for tool in ("refuse", "limited", "absent"):
            with pytest.raises(McpRefusal):
                await session.call(tool, {})
        assert (await pool.session(target)).session is session


async def test_test_of_a_server_replaces_the_session_of_calls(servers: McpServers):
    async with pool_for(servers) as pool:
        session = (await pool.session(http(servers))).session
        await pool.list_tools_once(http(servers))
        assert not session.is_usable
        # It was got before the test and is used after it: nothing was sent.
        with pytest.raises(McpSessionLost):
            await session.call("add", {"a": 1, "b": 1})
        again = (await pool.session(http(servers))).session
        assert read_call_result(await again.call("add", {"a": 1, "b": 1})).text == "2"


async def test_closed_pool_leaves_no_task_behind(servers: McpServers):
    before = asyncio.all_tasks()
    async with pool_for(servers) as pool:
        await pool.session(http(servers))
        await pool.session(ws(servers))
    assert asyncio.all_tasks() <= before
    with pytest.raises(McpUnavailable):
        await pool.session(http(servers))


def test_names_for_models_are_valid_stable_and_never_collide():
    plain = callable_name("files", "read_file")
    assert plain == "mcp__files__read_file"
    names = [
        plain,
        callable_name("files", "read.file"),
        callable_name("files", "read/file"),
        callable_name("我的世界", "block_set"),
        callable_name("我的世畍", "block_set"),
        callable_name("a", "b__c"),
        callable_name("a__b", "c"),
        callable_name("a_", "_c"),
        callable_name("File System", "x" * 300),
        callable_name("File System", "x" * 301),
        callable_name("x" * 100, "x" * 100),
        callable_name("x", "工具"),
    ]
    assert len(set(names)) == len(names)
    for name in names:
        assert len(name) <= 64
        assert name.replace("_", "").replace("-", "").isascii()
        assert name.replace("_", "").replace("-", "").isalnum()


def test_every_fault_has_its_words_in_both_languages():
    from agents.mcp.errors import mcp_error

    for fault in McpFault:
        details = mcp_error(fault).details
        assert details["reason"]
