"""Contact with MCP servers: probing, tool lists and calls."""

import asyncio
import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING

from pydantic import JsonValue

from agents.mcp import connections
from agents.mcp.config import McpLimits, McpTarget, McpType
from agents.mcp.connections import ConnectionRow, ToolListCache
from agents.mcp.errors import McpFault, McpRefusal
from agents.mcp.models import McpConnection, McpStatus
from agents.mcp.pool import McpPool
from agents.mcp.tools import McpTool
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

log = get_logger(__name__)

_ERROR = "The tool reported an error: "

_FIELDS = {"content", "structured_content", "is_error"}
PURPOSE = "MCP tokens"
_MILLISECONDS = 1000
FIRST_LOOK_SECONDS = 2
"""How long a run waits for a server that was never seen."""


@dataclass(frozen=True, slots=True)
class McpResult:
    """Result of a call as in the protocol, and as text for a model, which only names images and sounds."""

    value: dict[str, JsonValue]
    text: str


def read_result(result: "mcp_types.CallToolResult") -> McpResult:
    """Convert a result of the protocol."""
    value: dict[str, JsonValue] = result.model_dump(mode="json", by_alias=True, exclude_none=True, include=_FIELDS)
    parts = [part for part in map(_text_of, result.content) if part]
    if not parts and result.structured_content is not None:
        parts = [json.dumps(result.structured_content, ensure_ascii=False)]
    text = "\n".join(parts)
    return McpResult(value, f"{_ERROR}{text or 'it did not say which'}" if result.is_error else text)


def _text_of(block: "mcp_types.ContentBlock") -> str:
    if block.type == "text":
        return block.text
    if block.type == "resource":
        inner = block.resource
        text: str | None = getattr(inner, "text", None)
        return text or f"(a file of type {inner.mime_type or 'unknown'}, not shown)"
    if block.type == "resource_link":
        return f"({block.name}: {block.uri})"
    return f"({block.type} of type {block.mime_type}, not shown)"


@dataclass(frozen=True)
class ProbeResult:
    """Outcome of a contact; ``failure`` is None on success."""

    tools: tuple[McpTool, ...]
    failure: AgentexError | None = None


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
        limits = self._limits
        return limits.connect_seconds + limits.list_seconds + limits.call_seconds

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
            outcome = ProbeResult((), failure)
        return await self._record(row, outcome)

    async def _look(self, row: McpConnection, *, insists: bool) -> ProbeResult:
        target = await self._target(row)
        try:
            opened = await self._pool.session(target, insists=insists)
            if opened.is_new:
                return ProbeResult(opened.tools)
            tools = tuple(await opened.session.list_tools())
        except AgentexError as failure:
            return ProbeResult((), failure)
        self._pool.record_success(target)
        return ProbeResult(tools)

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
        """Call a tool, without retries: a failed call may have taken effect, except after ``McpRefusal``."""
        if not row.enabled:
            raise McpSwitchedOff
        target = await self._target(row)
        try:
            opened = await self._pool.session(target)
        except AgentexError as failure:
            await self._record(row, ProbeResult((), failure))
            raise
        if opened.is_new:
            await self._record(row, ProbeResult(opened.tools))
        try:
            result = await opened.session.call(tool, arguments)
        except McpRefusal:
            self._pool.record_success(target)
            raise
        except AgentexError as failure:
            self._pool.record_failure(target)
            await self._record(row, ProbeResult((), failure))
            raise
        self._pool.record_success(target)
        return await asyncio.to_thread(read_result, result)

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
                tools = await connections.record_tools(work, row, outcome.tools, self._limits)
            return ProbeResult(tools)
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
