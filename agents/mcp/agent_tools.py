"""The tools of MCP servers as a run offers them."""

from collections.abc import Awaitable, Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace

from pydantic import JsonValue
from sqlmodel.ext.asyncio.session import AsyncSession

from agents.mcp import connections
from agents.mcp.connections import ConnectionWithTools
from agents.mcp.errors import McpRefusal
from agents.mcp.service import McpService
from agents.mcp.tools import PREFIX, McpTool, callable_name
from core.auth.authentication import principal_for_user
from core.auth.permissions import Permission
from core.db.database import Database
from core.settings.tool_policies import ServerPolicies, ToolPolicy

FAMILY = "mcp"
"""The name under which an operator bounds all tools of MCP servers."""
MOST_TOOLS = 100


@dataclass(frozen=True, slots=True)
class RemoteTool:
    """A tool of an MCP server.

    Attributes:
        name: under which models call it.
        parameters: JSON Schema of the arguments, as the server gave it.
        invoke: calls it with checked arguments and gives its result as text.
    """

    name: str
    description: str
    parameters: dict[str, JsonValue]
    policy: ToolPolicy
    is_idempotent: bool
    timeout_seconds: float
    invoke: Callable[[dict[str, JsonValue]], Awaitable[str]]


def default_policy(tool: McpTool) -> ToolPolicy:
    """What applies where nobody says otherwise: a person is asked.

    Not for what its server declares to change nothing: that is the word of a server which the
    owner of the connection chose. Operator and owner may be stricter.
    """
    return "auto" if tool.is_read_only else "ask"


def tools_by_name(
    present: Iterable[ConnectionWithTools],
) -> dict[str, tuple[ConnectionWithTools, McpTool]]:
    """All tools of connections by the name under which models call them."""
    found: dict[str, tuple[ConnectionWithTools, McpTool]] = {}
    for one in present:
        for tool in one.tools:
            found.setdefault(callable_name(one.row.name, tool.name), (one, tool))
    return found


def add_tool_policies(
    server: ServerPolicies, present: Iterable[ConnectionWithTools]
) -> ServerPolicies:
    """The server's policies with those of the tools of a person's connections."""
    defaults = {name: default_policy(tool) for name, (_, tool) in tools_by_name(present).items()}
    family = server.bounds.get(FAMILY)
    bounds = {} if family is None else dict.fromkeys(defaults, family)
    return replace(
        server,
        defaults={**server.defaults, **defaults},
        bounds={**bounds, **server.bounds},
    )


async def load_tool_policies(
    session: AsyncSession, service: McpService, owner_id: str, server: ServerPolicies
) -> ServerPolicies:
    """The server's policies with those of the tools of all of a person's connections."""
    return add_tool_policies(
        server, await connections.list_with_tools(session, service.tool_lists, owner_id)
    )


def may_use_connections(lacking: Collection[str]) -> bool:
    """Whether a run that lacks these permissions may use connections at all."""
    return Permission.MCP_VIEW not in lacking


def is_policy_name(name: str) -> bool:
    """Whether an operator may bound this name though no tool of the server has it."""
    return name == FAMILY or name.startswith(PREFIX)


def tools_for_run(
    service: McpService, database: Database, present: Sequence[ConnectionWithTools]
) -> tuple[RemoteTool, ...]:
    """The tools of enabled connections, as many as models take, those of older ones first."""
    enabled = [one for one in present if one.row.enabled]
    reach = _Reach(service, database)
    return tuple(
        RemoteTool(
            name,
            tool.description,
            tool.input_schema,
            default_policy(tool),
            tool.is_idempotent,
            service.call_seconds,
            reach.to(one, tool),
        )
        for name, (one, tool) in list(tools_by_name(enabled).items())[:MOST_TOOLS]
    )


@dataclass(frozen=True, slots=True)
class _Reach:
    service: McpService
    database: Database

    def to(
        self, one: ConnectionWithTools, tool: McpTool
    ) -> Callable[[dict[str, JsonValue]], Awaitable[str]]:
        owner_id, connection_id = one.row.owner_id, one.row.id

        async def invoke(arguments: dict[str, JsonValue]) -> str:
            # Read again at each call: what its owner may do may be less than when the run began.
            async with self.database.reading() as session:
                owner = await principal_for_user(session, owner_id)
                connections.require_use(owner, connection_id)
                row = await connections.get(session, owner_id, connection_id)
            try:
                result = await self.service.call(row, tool.name, arguments)
            except McpRefusal as refusal:
                return f"The server refused the call: {refusal.text}"
            return result.text

        return invoke
