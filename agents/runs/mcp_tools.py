"""The MCP connections of a run: chosen when it begins, its tools bound when it is driven."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from sqlmodel.ext.asyncio.session import AsyncSession

from agents.mcp import connections
from agents.mcp.agent_tools import RemoteTool, add_tool_policies, may_use_connections, tools_for_run
from agents.mcp.connections import ConnectionWithTools
from agents.mcp.service import McpService, ProbeResult
from agents.models import ChatSession
from agents.run_request import RunRequest
from agents.tool_policies import service as tool_policies
from agents.tools import withheld_tools
from agents.tools.base import ToolRules
from core.auth.principal import Principal
from core.db.database import Database
from core.settings.tool_policies import ServerPolicies, ToolPolicy


@dataclass(frozen=True)
class McpTools:
    """What a run can call on MCP servers, and how freely it may call its tools."""

    tools: tuple[RemoteTool, ...]
    rules: ToolRules


@dataclass(frozen=True)
class McpSelection:
    """A request with what it reaches.

    Args:
        request: with its connections and policies.
        looks: at servers that were never seen: with what they find, more can be chosen.
        connections: those that the request names now; None where they were not read.
    """

    request: RunRequest
    looks: set[asyncio.Task[ProbeResult]] = field(default_factory=set[asyncio.Task[ProbeResult]])
    connections: Sequence[ConnectionWithTools] | None = None


class McpBinding:
    """Gives runs the tools of their owners' connections.

    Args:
        database: where the connections are.
        mcp: None for none.
        policies: the server's.
    """

    def __init__(
        self, database: Database, mcp: McpService | None, policies: ServerPolicies
    ) -> None:
        self._database = database
        self._mcp = mcp
        self._policies = policies

    async def choose(
        self,
        session: AsyncSession,
        principal: Principal,
        request: RunRequest,
        thread: ChatSession | None,
    ) -> McpSelection:
        """The connections that the run uses, and the policies in force now.

        Raises:
            McpConnectionNotFound: one that the request or its session names is not the caller's.
            PermissionDenied: the caller may use none, or the account is limited to others.
        """
        wanted = _wanted(request, thread)
        present = await connections.list_rows(session, principal.user_id, wanted)
        if wanted is not None:
            for one in present:
                connections.require_use(principal, one.row.id)
        limit = principal.mcp_access
        usable = [one for one in present if limit is None or one.row.id in limit]
        usable = usable if may_use_connections(principal.lacking) else []
        enabled = list[ConnectionWithTools]()
        if self._mcp is not None:
            # Only of what the run uses: the lists of all connections can be long.
            on = [one for one in usable if one.row.enabled]
            enabled = await connections.load_tools(session, self._mcp.tool_lists, on)
        server = add_tool_policies(self._policies, enabled)
        policies = await tool_policies.effective_policies(session, principal.user_id, server)
        withheld: dict[str, ToolPolicy] = dict.fromkeys(withheld_tools(principal.lacking), "never")
        ids = tuple(one.row.id for one in enabled)
        options = replace(request.options, mcp_connection_ids=ids)
        request = replace(request, options=options, tool_policies={**policies, **withheld})
        looks = self._mcp.refresh_stale(enabled) if self._mcp else set[asyncio.Task[ProbeResult]]()
        return McpSelection(request, looks, enabled)

    async def reach(
        self, owner_id: str, request: RunRequest, known: Sequence[ConnectionWithTools] | None = None
    ) -> McpTools:
        """What a run may call; connections that are gone since it began are left out.

        Args:
            owner_id: the run's.
            request: as ``choose`` gave it when the run began.
            known: the connections where ``choose`` has just read them.
        """
        ids = request.options.mcp_connection_ids or ()
        if self._mcp is None or not ids:
            forbidden = self._policies.forbidden | withheld_tools(request.lacking)
            return McpTools((), ToolRules(request.tool_policies, forbidden))
        if known is None:
            async with self._database.reading() as session:
                present = await connections.list_rows(session, owner_id)
                enabled = [one for one in present if one.row.id in ids and one.row.enabled]
                known = await connections.load_tools(session, self._mcp.tool_lists, enabled)
        server = add_tool_policies(self._policies, known)
        tools = tools_for_run(self._mcp, self._database, known)
        # A tool that the server lists only since then begins with what the server's policies say.
        new: dict[str, ToolPolicy] = {one.name: server.in_force(one.name, None) for one in tools}
        # Still offered to a run that began with them: it would be another one without.
        withheld = () if may_use_connections(request.lacking) else new
        forbidden = server.forbidden | withheld_tools(request.lacking) | frozenset(withheld)
        return McpTools(tools, ToolRules({**new, **request.tool_policies}, forbidden))


def _wanted(request: RunRequest, thread: ChatSession | None) -> list[str] | None:
    """Those of the request, else of the session, else (None) all that the caller has."""
    if request.options.mcp_connection_ids:
        return list(request.options.mcp_connection_ids)
    configured = None if thread is None else thread.config.get("mcp_connection_ids")
    if isinstance(configured, list) and configured:
        return [str(value) for value in configured]
    return None
