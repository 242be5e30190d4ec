"""The stored MCP connections of users: lists of tools within bounds, read when needed."""

import asyncio
from dataclasses import replace

import pytest

from agents.llm.extractive.model import ExtractiveModel
from agents.mcp import connections
from agents.mcp.config import McpLimits, McpTarget, McpType
from agents.mcp.connections import ConnectionFields, ToolListCache
from agents.mcp.forms import ConnectionForm, update
from agents.mcp.models import McpConnection
from agents.mcp.pool import McpPool
from agents.mcp.service import PURPOSE, McpService
from agents.mcp.tools import McpTool, ToolListing
from agents.run_context import RunLimits
from agents.runs.builder import RunBuilder, RunServices
from agents.runs.planner import LimitsProvider, choose_connections
from agents.tools import DEFAULT_POLICIES
from core.auth.principal import Principal
from core.db.database import Database
from core.db.types import utc_now
from core.db.unit_of_work import unit_of_work
from core.errors.server import McpUnavailable
from core.outbound.guard import OutboundGuard, OutboundGuards
from core.security.vault import Vault
from core.settings.tool_policies import ServerPolicies
from tests.agents.runs.helpers import make_request, models_of, register, searcher_of
from tests.fixtures.database.databases import one_database, statements_of
from tests.fixtures.http.client import unique

pytestmark = pytest.mark.anyio
LIMITS = McpLimits()
# Nobody listens there.
URL = "http://127.0.0.1:9/mcp"


@pytest.fixture
async def owner(database: Database) -> Principal:
    return await register(database)


def service_of(database: Database) -> McpService:
    guard = OutboundGuard(["127.0.0.1:9"])
    return McpService(database, Vault(b"of the tests", PURPOSE), OutboundGuards(guard, guard), LIMITS)


def tools(*names: str, described: str = "") -> list[McpTool]:
    return [McpTool(name, described, {"type": "object", "title": "größer"}) for name in names]


async def connect(
    database: Database, owner: Principal, listed: list[McpTool], limits: McpLimits = LIMITS
) -> McpConnection:
    fields = ConnectionFields(unique("c"), "standard", URL, "none", None, {}, enabled=True)
    async with unit_of_work(database) as work:
        row = await connections.create(work, owner.user_id, fields)
    await relist(database, row, listed, limits)
    return row


async def relist(
    database: Database, row: McpConnection, listed: list[McpTool], limits: McpLimits = LIMITS
) -> tuple[McpTool, ...]:
    async with unit_of_work(database) as work:
        return (await connections.record_tools(work, row, ToolListing(tuple(listed)), limits)).tools


async def names(database: Database, owner: Principal, parsed: ToolListCache | None = None) -> list[list[str]]:
    async with database.reading() as session:
        known = await connections.list_with_tools(session, parsed or ToolListCache(), owner.user_id)
    assert [one.row.tool_count for one in known] == [len(one.tools) for one in known]
    return [[tool.name for tool in one.tools] for one in known]


async def test_lists_come_back_as_they_were_kept(database: Database, owner: Principal):
    said = [
        *tools("a", described="beschreibt"),
        McpTool("b", "", {"type": "object"}, is_read_only=True, is_idempotent=True),
    ]
    await connect(database, owner, said)
    async with database.reading() as session:
        (known,) = await connections.list_with_tools(session, ToolListCache(), owner.user_id)
    assert known.tools == tuple(said)
    assert known.listed_at is not None


async def test_servers_of_one_owner_share_the_room_for_tools(database: Database, owner: Principal):
    few = replace(LIMITS, owner_tools=5)
    first = await connect(database, owner, tools("a", "b", "c"), few)
    await connect(database, owner, tools("d", "e", "f"), few)
    assert await names(database, owner) == [["a", "b", "c"], ["d", "e"]]
    # What a server gives up is free for others; its own list does not stand in its way.
    await relist(database, first, tools("x", "y", "z", "q"), few)
    assert await names(database, owner) == [["x", "y", "z"], ["d", "e"]]
    await connect(database, await register(database), tools("d", "e", "f", "g", "h"), few)
    assert (await names(database, owner))[1] == ["d", "e"]


async def test_long_descriptions_of_one_owner_share_the_room_too(database: Database, owner: Principal):
    short = replace(LIMITS, owner_characters=4000)
    await connect(database, owner, tools("a", described="x" * 2500), short)
    kept = await relist(
        database,
        await connect(database, owner, [], short),
        tools("b", "c", described="x" * 1000),
        short,
    )
    assert [tool.name for tool in kept] == ["b"]
    assert await names(database, owner) == [["a"], ["b"]]


async def test_list_is_read_and_parsed_once_until_there_is_another(database: Database, owner: Principal):
    row, parsed = await connect(database, owner, tools("a")), ToolListCache()
    assert await names(database, owner, parsed) == [["a"]]
    with statements_of(database) as sent:
        assert await names(database, owner, parsed) == [["a"]]
    assert not [statement for statement in sent if "mcp_tool_list.tools" in statement]
    await relist(database, row, tools("b"))
    assert await names(database, owner, parsed) == [["b"]]


@one_database
async def test_run_reads_no_lists_of_connections_that_it_does_not_use(database: Database, owner: Principal):
    used = await connect(database, owner, tools("used"))
    off = await connect(database, owner, tools("off"))
    await connect(database, owner, tools("other"))
    async with unit_of_work(database) as work:
        row = await connections.get(work.session, owner.user_id, off.id)
        row.enabled = False
        work.session.add(row)
    service = service_of(database)
    policies = ServerPolicies(DEFAULT_POLICIES, {})
    limits = LimitsProvider(RunLimits(policies=policies))
    searcher, models = searcher_of(database), models_of(ExtractiveModel())
    builder = RunBuilder(database, searcher, models, limits, RunServices(mcp=service))
    try:
        props = {"mcp_connection_ids": [used.id, off.id]}
        async with database.reading() as session:
            with statements_of(database) as sent:
                request, chosen, _ = await choose_connections(
                    session, owner, make_request(forwardedProps=props), {}, service, policies
                )
        bound, *_ = await builder.bind_tools(owner.user_id, request)
        with statements_of(database) as again:
            same, *_ = await builder.bind_tools(owner.user_id, request, chosen)
    finally:
        await service.close()
    assert [tool.name.rpartition("__")[2] for tool in bound] == ["used"]
    assert ([tool.name for tool in same], again) == ([bound[0].name], [])
    (lists,) = [statement for statement in sent if "mcp_tool_list.tools" in statement]
    # One variable: the list of one connection.
    assert lists.count("?") == 1


async def test_changes_of_different_fields_at_once_all_count(database: Database, owner: Principal):
    row = await connect(database, owner, [])
    which = owner.user_id, row.id
    service = service_of(database)
    try:
        # Nobody looks at the server of one that is switched off.
        await update(database, service, which, ConnectionForm(enabled=False))
        await asyncio.gather(
            update(database, service, which, ConnectionForm(name="other")),
            update(database, service, which, ConnectionForm(url=f"{URL}/else")),
            update(database, service, which, ConnectionForm(config={"max_retries": 7})),
        )
    finally:
        await service.close()
    async with database.reading() as session:
        now = await connections.get(session, *which)
    assert (now.name, now.url, now.config) == ("other", f"{URL}/else", {"max_retries": 7})
    assert (now.enabled, now.version) == (False, 5)


@one_database
async def test_connections_that_nobody_uses_are_forgotten_once_their_pause_is_over(
    database: Database, owner: Principal
):
    limits = replace(LIMITS, idle_seconds=-1, connect_seconds=1)
    guard = OutboundGuard(["127.0.0.1:9"])
    pool = McpPool(OutboundGuards(guard, guard), limits)
    target = McpTarget("c", McpType.STANDARD, URL, "", pause_seconds=60, max_retries=1)
    try:
        with pytest.raises(McpUnavailable):
            await pool.session(target)
        pool.close_idle()
        # It is left alone still.
        assert list(pool._entries) == ["c"]
        pool._entries["c"].open_again = 0
        pool.close_idle()
        assert not pool._entries
    finally:
        await pool.close()


def test_lists_used_longest_ago_make_room():
    lists = ToolListCache(10)
    keys = [(str(number), utc_now()) for number in range(3)]
    lists.parse(keys[0], "[]  ")
    lists.parse(keys[1], "[]  ")
    lists.get(keys[0])
    lists.parse(keys[2], "[]  ")
    assert [lists.get(key) for key in keys] == [(), None, ()]
    # One alone is held however long it is.
    lists.parse(keys[1], "[]" + " " * 20)
    assert [lists.get(key) for key in keys] == [None, (), None]
