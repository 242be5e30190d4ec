"""Contact with MCP servers: probing, tool lists and calls."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import TYPE_CHECKING

from pydantic import JsonValue

from agents.mcp import connections
from agents.mcp.config import McpLimits, McpTarget, McpType
from agents.mcp.connections import ConnectionRow, ToolListCache
from agents.mcp.errors import McpFault, McpRefusal, McpSessionLost
from agents.mcp.models import McpConnection, McpStatus
from agents.mcp.pool import McpPool
from agents.mcp.results import McpResult, read_call_result
from agents.mcp.tools import McpTool, ToolListing
from core.auth.authentication import principal_for_user
from core.auth.permissions import Permission
from core.db.database import Database
from core.db.types import utc_now
from core.db.unit_of_work import unit_of_work
from core.errors.auth import AccountDisabled, InvalidToken
from core.errors.base import AgentexError
from core.errors.conflicts import McpSwitchedOff
from core.logging import get_logger
from core.outbound.guard import OutboundGuard, OutboundGuards
from core.security.vault import Vault

if TYPE_CHECKING:
    import mcp_types

    from agents.mcp.session import McpSession

log = get_logger(__name__)

PURPOSE = "MCP tokens"
_MILLISECONDS = 1000
FIRST_LOOK_SECONDS = 2
"""How long a run waits for a server that was never seen."""


@dataclass(frozen=True)
class ProbeResult:
    """Outcome of a contact; ``failure`` is None on success."""

    listing: ToolListing = field(default_factory=ToolListing)
    failure: AgentexError | None = None

    @property
    def tools(self) -> tuple[McpTool, ...]:
        return self.listing.tools


class McpService:
    """Talks to the servers of people's connections.

    Where a connection may lead is decided at each contact by what its owner is then.
    """

    def __init__(self, database: Database, vault: Vault, guards: OutboundGuards, limits: McpLimits) -> None:
        self._database = database
        self._limits = limits
        self._pool = McpPool(guards, limits)
        self._refreshing: dict[tuple[str, int], asyncio.Task[ProbeResult]] = {}
        self._sweeping = asyncio.create_task(self._pool.sweep())
        self.tool_lists = ToolListCache()
        """The tool lists that this process has parsed."""
        self.vault = vault
        self._guards = guards

    @property
    def call_seconds(self) -> float:
        """How long a call may take, with what opens a session for it and for its repetition."""
        limits = self._limits
        return 2 * (limits.connect_seconds + limits.list_seconds + limits.call_seconds)

    async def guard_of(self, owner_id: str) -> OutboundGuard:
        """The guard of a person's connections."""
        return self._guards.of(is_administrator=await self._is_administrator(owner_id))

    async def _is_administrator(self, owner_id: str) -> bool:
        try:
            async with self._database.reading() as session:
                owner = await principal_for_user(session, owner_id)
        except (AccountDisabled, InvalidToken):
            return False
        return Permission.SYSTEM_MANAGE in owner.permissions

    async def refresh(self, row: McpConnection, *, insists: bool = True) -> ProbeResult:
        return await self._record(row, await self._look(row, insists=insists))

    async def probe(self, row: McpConnection) -> ProbeResult:
        """Connect in a new session, list the tools, and store the outcome; calls in progress continue."""
        try:
            outcome = ProbeResult(await self._pool.list_tools_once(await self._target(row)))
        except AgentexError as failure:
            outcome = ProbeResult(failure=failure)
        return await self._record(row, outcome)

    async def _look(self, row: McpConnection, *, insists: bool) -> ProbeResult:
        target = await self._target(row)
        try:
            opened = await self._pool.session(target, insists=insists)
            listing = opened.listing if opened.is_new else await self._list_again(opened.session, target, insists)
        except AgentexError as failure:
            return ProbeResult(failure=failure)
        self._pool.record_success(target)
        return ProbeResult(listing)

    async def _list_again(self, session: "McpSession", target: McpTarget, insists: bool) -> ToolListing:
        try:
            return await session.list_tools()
        except McpSessionLost:
            # A new session lists the tools as it opens.
            return (await self._pool.session(target, insists=insists)).listing

    def refresh_soon(self, row: McpConnection) -> asyncio.Task[ProbeResult]:
        """Refresh in the background; one task at a time for each connection."""
        key = (row.id, row.version)
        if key not in self._refreshing:
            task = asyncio.create_task(self.refresh(row, insists=False))
            self._refreshing[key] = task
            task.add_done_callback(lambda done: self._refreshed(key, done))
        return self._refreshing[key]

    def _refreshed(self, key: tuple[str, int], task: asyncio.Task[ProbeResult]) -> None:
        del self._refreshing[key]
        # Nobody need be waiting for it; the next look finds the same and says it.
        if not task.cancelled() and (error := task.exception()) is not None:
            log.warning("mcp.not_looked", error=type(error).__name__)

    def refresh_stale(self, connection_rows: Sequence[ConnectionRow]) -> set[asyncio.Task[ProbeResult]]:
        """Refresh outdated tool lists in the background; returns tasks of never-reached servers, worth waiting for."""
        enabled = [connection for connection in connection_rows if connection.row.enabled]
        before = utc_now() - timedelta(seconds=self._limits.fresh_seconds)
        stale = [connection for connection in enabled if connection.listed_at is None or connection.listed_at < before]
        refreshes = {connection.row.id: self.refresh_soon(connection.row) for connection in stale}
        return {
            refreshes[connection.row.id] for connection in stale if connection.row.status == McpStatus.UNKNOWN.value
        }

    async def call(self, row: McpConnection, tool: str, arguments: dict[str, JsonValue]) -> McpResult:
        """Call a tool once; a failed call may have taken effect, except after ``McpRefusal``.

        One that a server refuses because it does not know the session any more has not: it is made in a new one.
        """
        if not row.enabled:
            raise McpSwitchedOff
        target = await self._target(row)
        try:
            try:
                result = await self._try_call(row, target, tool, arguments)
            except McpSessionLost:
                result = await self._repeat_call(row, target, tool, arguments)
        except McpRefusal:
            self._pool.record_success(target)
            raise
        self._pool.record_success(target)
        return await asyncio.to_thread(read_call_result, result)

    async def _try_call(
        self, row: McpConnection, target: McpTarget, tool: str, arguments: dict[str, JsonValue]
    ) -> "mcp_types.CallToolResult":
        try:
            opened = await self._pool.session(target)
        except AgentexError as failure:
            await self._record(row, ProbeResult(failure=failure))
            raise
        if opened.is_new:
            await self._record(row, ProbeResult(opened.listing))
        try:
            return await opened.session.call(tool, arguments)
        except AgentexError as failure:
            await self._record_failed_call(row, target, failure)
            raise

    async def _repeat_call(
        self, row: McpConnection, target: McpTarget, tool: str, arguments: dict[str, JsonValue]
    ) -> "mcp_types.CallToolResult":
        try:
            return await self._try_call(row, target, tool, arguments)
        except McpSessionLost as lost:
            if isinstance(lost.failure, AgentexError):
                await self._record_failed_call(row, target, lost.failure)
            raise lost.failure from lost

    async def _record_failed_call(self, row: McpConnection, target: McpTarget, failure: AgentexError) -> None:
        self._pool.record_failure(target)
        await self._record(row, ProbeResult(failure=failure))

    async def discard(self, connection_id: str) -> None:
        await self._pool.discard(connection_id)

    async def close(self) -> None:
        beside = {self._sweeping, *self._refreshing.values()}
        for task in beside:
            task.cancel()
        await asyncio.wait(beside)
        await self._pool.close()

    async def _record(self, row: McpConnection, outcome: ProbeResult) -> ProbeResult:
        """Store the outcome of a contact; its tools are cut to the owner's quota."""
        if outcome.failure is None:
            async with unit_of_work(self._database) as work:
                listing = await connections.record_tools(work, row, outcome.listing, self._limits)
            return ProbeResult(listing)
        fault = McpFault[str(outcome.failure.details.get("fault", "too_large")).upper()]
        if fault not in (McpFault.PAUSED, McpFault.CLOSED):
            async with unit_of_work(self._database) as work:
                await connections.record_fault(work, row, fault)
        return outcome

    async def _target(self, row: McpConnection) -> McpTarget:
        kind = McpType(row.type)
        heartbeat = _number(row.config, "heartbeat_interval", 30_000) / _MILLISECONDS
        return McpTarget(
            row.id,
            kind,
            row.url,
            self.vault.decrypt(row.sealed_token) if row.sealed_token else "",
            heartbeat_seconds=heartbeat if kind is McpType.WEBSOCKET else None,
            pause_seconds=_number(row.config, "reconnect_delay", 5000) / _MILLISECONDS,
            max_retries=int(_number(row.config, "max_retries", 3)),
            is_administrators=await self._is_administrator(row.owner_id),
        )


def _number(config: dict[str, JsonValue], name: str, default: float) -> float:
    value = config.get(name)
    return float(value) if isinstance(value, int | float) else default
