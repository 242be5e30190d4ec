"""MCP connections of a process: contact with their servers, and what is kept of it."""

import asyncio
import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING

from pydantic import JsonValue

from agents.mcp import connections
from agents.mcp.connections import ConnectionRow
from agents.mcp.errors import McpFault, McpRefusal
from agents.mcp.limits import McpLimits
from agents.mcp.models import McpConnection, McpStatus
from agents.mcp.pool import McpPool
from agents.mcp.target import McpTarget, McpType
from agents.mcp.tool_cache import ToolListCache
from agents.mcp.tools import McpTool
from core.db.database import Database
from core.db.types import utc_now
from core.db.unit_of_work import unit_of_work
from core.errors.base import AgentexError
from core.errors.conflicts import McpSwitchedOff
from core.logging import get_logger
from core.outbound.guard import OutboundGuard
from core.security.vault import Vault

if TYPE_CHECKING:
    import mcp_types

_ERROR = "The tool reported an error: "


@dataclass(frozen=True, slots=True)
class McpResult:
    """The result of a call.

    Attributes:
        value: the result as the protocol has it: ``content``, ``structuredContent``, ``isError``.
        text: the same for a model; pictures and sounds are named, not shown.
    """

    value: dict[str, JsonValue]
    text: str


def read_result(result: "mcp_types.CallToolResult") -> McpResult:
    """Make a result of the protocol ours."""
    value: dict[str, JsonValue] = result.model_dump(
        mode="json", by_alias=True, exclude_none=True, include=_FIELDS
    )
    parts = [part for part in map(_text_of, result.content) if part]
    if not parts and result.structured_content is not None:
        parts = [json.dumps(result.structured_content, ensure_ascii=False)]
    text = "\n".join(parts)
    return McpResult(
        value, f"{_ERROR}{text or 'it did not say which'}" if result.is_error else text
    )


_FIELDS = {"content", "structured_content", "is_error"}


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


log = get_logger(__name__)

PURPOSE = "MCP tokens"
_MILLISECONDS = 1000
FIRST_LOOK_SECONDS = 2
"""How long a run waits for a server that was never seen."""


@dataclass(frozen=True)
class ProbeResult:
    """How a contact with a server went; ``failure`` is None where it went well."""

    tools: tuple[McpTool, ...]
    failure: AgentexError | None = None


class McpService:
    """Talks to the servers of people's connections."""

    def __init__(
        self, database: Database, vault: Vault, guard: OutboundGuard, limits: McpLimits
    ) -> None:
        self._database = database
        self._limits = limits
        self._pool = McpPool(guard, limits)
        self._looking: dict[tuple[str, int], asyncio.Task[ProbeResult]] = {}
        self._sweeping = asyncio.create_task(self._pool.sweep())
        self.tool_lists = ToolListCache()
        """The tool lists that this process has parsed."""
        self.vault = vault
        self.guard = guard

    @property
    def call_seconds(self) -> float:
        """How long one call may take, connecting included."""
        limits = self._limits
        return limits.connect_seconds + limits.list_seconds + limits.call_seconds

    async def refresh(self, row: McpConnection, *, insists: bool = True) -> ProbeResult:
        """Connect if need be, ask for the tools, and keep what comes of it.

        Args:
            insists: a person asks: a server that failed just now is tried again.
        """
        return await self._noted(row, await self._look(row, insists=insists))

    async def probe(self, row: McpConnection) -> ProbeResult:
        """Connect anew and ask for the tools, and keep what comes of it.

        Calls that are under way go on: the session that they use stays as it is.
        """
        try:
            contact = ProbeResult(await self._pool.list_tools_once(self._target(row)))
        except AgentexError as failure:
            contact = ProbeResult((), failure)
        return await self._noted(row, contact)

    async def _look(self, row: McpConnection, *, insists: bool) -> ProbeResult:
        target = self._target(row)
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
        """Begin to look, beside whoever asks; one look at a time for each connection."""
        key = (row.id, row.version)
        if key not in self._looking:
            task = asyncio.create_task(self.refresh(row, insists=False))
            self._looking[key] = task
            task.add_done_callback(lambda done: self._looked(key, done))
        return self._looking[key]

    def _looked(self, key: tuple[str, int], task: asyncio.Task[ProbeResult]) -> None:
        del self._looking[key]
        # Nobody need be waiting for it; the next look finds the same and says it.
        if not task.cancelled() and (error := task.exception()) is not None:
            log.warning("mcp.not_looked", error=type(error).__name__)

    def refresh_stale(self, present: Sequence[ConnectionRow]) -> set[asyncio.Task[ProbeResult]]:
        """Before a run: begin to look at servers that nobody has looked at for a while.

        A server that is down holds nothing up: it was seen to be, and its last list is used.

        Args:
            present: the connections that the run may use.

        Returns:
            The looks at servers that were never seen, which are worth waiting for.
        """
        enabled = [one for one in present if one.row.enabled]
        before = utc_now() - timedelta(seconds=self._limits.fresh_seconds)
        stale = [one for one in enabled if one.listed_at is None or one.listed_at < before]
        looks = {one.row.id: self.refresh_soon(one.row) for one in stale}
        return {looks[one.row.id] for one in stale if one.row.status == McpStatus.UNKNOWN.value}

    async def call(
        self, row: McpConnection, tool: str, arguments: dict[str, JsonValue]
    ) -> McpResult:
        """Call a tool, once: a call that failed may have taken effect and is not repeated.

        Args:
            tool: the server's name of it.

        Raises:
            McpSwitchedOff: the connection is not enabled.
            McpRefusal: the server answered with an error of the protocol's.
            McpUnavailable, McpResultTooLarge: it gave no usable answer.
        """
        if not row.enabled:
            raise McpSwitchedOff
        target = self._target(row)
        try:
            opened = await self._pool.session(target)
        except AgentexError as failure:
            await self._noted(row, ProbeResult((), failure))
            raise
        if opened.is_new:
            await self._noted(row, ProbeResult(opened.tools))
        try:
            result = await opened.session.call(tool, arguments)
        except McpRefusal:
            self._pool.record_success(target)
            raise
        except AgentexError as failure:
            self._pool.record_failure(target)
            await self._noted(row, ProbeResult((), failure))
            raise
        self._pool.record_success(target)
        return await asyncio.to_thread(read_result, result)

    async def discard(self, connection_id: str) -> None:
        """Close what is open to a connection that was changed or deleted."""
        await self._pool.discard(connection_id)

    async def close(self) -> None:
        """Close everything."""
        beside = {self._sweeping, *self._looking.values()}
        for task in beside:
            task.cancel()
        await asyncio.wait(beside)
        await self._pool.close()

    async def _noted(self, row: McpConnection, contact: ProbeResult) -> ProbeResult:
        """The contact with those of the tools that were kept."""
        if contact.failure is None:
            async with unit_of_work(self._database) as work:
                kept = await connections.record_tools(work, row, contact.tools, self._limits)
            return ProbeResult(kept)
        fault = McpFault[str(contact.failure.details.get("fault", "too_large")).upper()]
        if fault not in (McpFault.PAUSED, McpFault.CLOSED):
            async with unit_of_work(self._database) as work:
                await connections.record_fault(work, row, fault)
        return contact

    def _target(self, row: McpConnection) -> McpTarget:
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
        )


def _number(config: dict[str, JsonValue], name: str, default: float) -> float:
    value = config.get(name)
    return float(value) if isinstance(value, int | float) else default
