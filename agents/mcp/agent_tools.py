"""Tools of MCP servers for runs."""

from collections.abc import Awaitable, Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace

from pydantic import JsonValue
from sqlmodel.ext.asyncio.session import AsyncSession

from agents.mcp import connections
from agents.mcp.connections import ConnectionWithTools
from agents.mcp.errors import McpRefusal
from agents.mcp.exchange import CallFeed
from agents.mcp.service import McpService
from agents.mcp.texts import TEXT_TOOLS
from agents.mcp.tools import PREFIX, McpTool, callable_name
from core.auth.authentication import principal_for_user
from core.auth.permissions import Permission
from core.db.database import Database
from core.errors.server import McpRefused
from core.settings.tool_policies import ServerPolicies, ToolPolicy

FAMILY = "mcp"
"""The name under which an operator bounds all tools of MCP servers."""
MOST_TOOLS = 100


RemoteCall = Callable[[dict[str, JsonValue], CallFeed], Awaitable[str]]


@dataclass(frozen=True, slots=True)
class RemoteTool:
    """A tool of an MCP server, bound to its connection.

    ``invoke`` takes validated arguments; it raises ``InputNeeded`` where the server asks a person, and
    ``AnswerTooLate`` where an answer reaches it no more.
    """

    name: str
    description: str
    parameters: dict[str, JsonValue]
    policy: ToolPolicy
    is_idempotent: bool
    timeout_seconds: float
    invoke: RemoteCall
    server: str = ""


def default_policy(tool: McpTool) -> ToolPolicy:
    """Ask, except for tools that their server declares read-only.

    The owner chose to trust the server; operator and owner may set stricter policies.
    """
    return "auto" if tool.is_read_only else "ask"


def tools_by_name(
    connections_with_tools: Iterable[ConnectionWithTools],
) -> dict[str, tuple[ConnectionWithTools, McpTool]]:
    """All tools of these connections by the name under which models call them."""
    tools: dict[str, tuple[ConnectionWithTools, McpTool]] = {}
    for connection in connections_with_tools:
        for tool in connection.tools:
            tools.setdefault(callable_name(connection.row.name, tool.name), (connection, tool))
    return tools


def add_tool_policies(server: ServerPolicies, connections_with_tools: Iterable[ConnectionWithTools]) -> ServerPolicies:
    """The server's policies extended by default policies of a person's MCP tools."""
    defaults = {name: default_policy(tool) for name, (_, tool) in tools_by_name(connections_with_tools).items()}
    family = server.bounds.get(FAMILY)
    bounds = {} if family is None else dict.fromkeys((*defaults, *TEXT_TOOLS), family)
    return replace(server, defaults={**server.defaults, **defaults}, bounds={**bounds, **server.bounds})


async def load_tool_policies(
    session: AsyncSession, service: McpService, owner_id: str, server: ServerPolicies
) -> ServerPolicies:
    """The server's policies extended for all connections of a person."""
    return add_tool_policies(server, await connections.list_with_tools(session, service.tool_lists, owner_id))


def may_use_connections(lacking: Collection[str]) -> bool:
    """Whether a run that lacks these permissions may use connections."""
    return Permission.MCP_VIEW not in lacking


def is_policy_name(name: str) -> bool:
    """Whether an operator may set a policy for this name without knowing the tool."""
    return name == FAMILY or name.startswith(PREFIX)


def tools_for_run(
    service: McpService, database: Database, connections_with_tools: Sequence[ConnectionWithTools]
) -> tuple[RemoteTool, ...]:
    """The tools of enabled connections, oldest connection first, up to ``MOST_TOOLS``."""
    enabled = [connection for connection in connections_with_tools if connection.row.enabled]
    reach = _Reach(service, database)
    return tuple(
        RemoteTool(
            name,
            tool.description,
            tool.input_schema,
            default_policy(tool),
            tool.is_idempotent,
            service.call_seconds,
            reach.to(connection, tool),
            connection.row.name,
        )
        for name, (connection, tool) in list(tools_by_name(enabled).items())[:MOST_TOOLS]
    )


@dataclass(frozen=True, slots=True)
class _Reach:
    service: McpService
    database: Database

    def to(self, connection: ConnectionWithTools, tool: McpTool) -> RemoteCall:
        owner_id, connection_id = connection.row.owner_id, connection.row.id

        async def invoke(arguments: dict[str, JsonValue], feed: CallFeed) -> str:
            # Read again at each call: what its owner may do may be less than when the run began.
            async with self.database.reading() as session:
                owner = await principal_for_user(session, owner_id)
                connections.require_use(owner, connection_id)
                row = await connections.get(session, owner_id, connection_id)
            try:
                result = await self.service.call_in_run(row, tool.name, arguments, feed)
            except McpRefusal as refusal:
                raise McpRefused(reason=refusal.text) from refusal
            return result.text

        return invoke
