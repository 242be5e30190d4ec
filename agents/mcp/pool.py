"""Pool of MCP sessions with a circuit breaker for each connection."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

from agents.mcp.change_queue import ListKind
from agents.mcp.config import SCHEMES, McpLimits, McpTarget
from agents.mcp.errors import McpFault, McpSessionLost, address_refused, is_of_server, mcp_error
from agents.mcp.tools import McpTool, ToolListing
from core.errors.base import AgentexError
from core.errors.requests import UrlNotAllowed
from core.outbound.guard import OutboundGuard, OutboundGuards
from core.threads import import_in_thread

if TYPE_CHECKING:
    from agents.mcp.oauth.tokens import AccessTokens
    from agents.mcp.server_events import EventHandler
    from agents.mcp.session import McpSession

    OpenTokens = Callable[[], Awaitable[AccessTokens]]
_SWEEP_SECONDS = 30


@dataclass(slots=True)
class _PoolEntry:
    """State of one connection, locked while it opens; ``open_again`` ends a pause (loop time)."""

    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    session: "McpSession | None" = None
    listing: ToolListing = field(default_factory=ToolListing)
    failures: int = 0
    open_again: float = 0
    used: float = 0


@dataclass(frozen=True, slots=True)
class PooledSession:
    """A usable session with the tools listed when it was opened."""

    session: "McpSession"
    listing: ToolListing
    is_new: bool

    @property
    def tools(self) -> tuple[McpTool, ...]:
        return self.listing.tools


class McpPool:
    """Opens, keeps and closes sessions; ``on_change`` hears whose server says that its tools have changed."""

    def __init__(
        self,
        guards: OutboundGuards,
        limits: McpLimits,
        open_tokens: "OpenTokens | None" = None,
        on_change: Callable[[McpTarget], None] = lambda _: None,
    ) -> None:
        self._guards = guards
        self._open_tokens = open_tokens
        self._on_change = on_change
        self._limits = limits
        self._entries: dict[str, _PoolEntry] = {}
        self._is_closed = False

    async def session(self, target: McpTarget, *, insists: bool = False) -> PooledSession:
        """The session of a connection, opened if needed; one with another target is retired."""
        if self._is_closed:
            raise mcp_error(McpFault.CLOSED)
        entry = self._entries.setdefault(target.connection_id, _PoolEntry())
        entry.used = _now()
        async with entry.lock:
            present = entry.session
            if present is not None and present.is_usable and present.target == target and await self._may_stay(present):
                return PooledSession(present, entry.listing, is_new=False)
            if present is not None:
                entry.session = None
                present.retire()
            if entry.open_again > _now() and not insists:
                raise mcp_error(McpFault.PAUSED)
            try:
                return await self._open(entry, target)
            except AgentexError as error:
                # Once an address is listed or a server authorised, nothing has to be waited for.
                if is_of_server(error):
                    self.record_failure(target)
                raise

    async def list_tools_once(self, target: McpTarget) -> ToolListing:
        """The tools as a new session lists them; the pooled one is retired, so that the next call has a new one too."""
        if self._is_closed:
            raise mcp_error(McpFault.CLOSED)
        session, listing = await self._begin(target)
        session.retire()
        entry = self._entries.get(target.connection_id)
        if entry is not None and entry.session is not None:
            entry.session.retire()
        self.record_success(target)
        return listing

    async def _open(self, entry: _PoolEntry, target: McpTarget) -> PooledSession:
        entry.session, entry.listing = await self._begin(target)
        self.record_success(target)
        return PooledSession(entry.session, entry.listing, is_new=True)

    def _guard_of(self, target: McpTarget) -> OutboundGuard:
        return self._guards.of(is_administrator=target.is_administrators)

    async def _may_stay(self, session: "McpSession") -> bool:
        """Whether a private address that a session leads to is still allowed."""
        try:
            await self._guard_of(session.target).check_again(session.target.address)
        except UrlNotAllowed:
            return False
        return True

    async def _require_allowed(self, target: McpTarget) -> None:
        """Refuse with a reason what the connection would be refused for without one."""
        try:
            async with asyncio.timeout(self._limits.connect_seconds):
                await self._guard_of(target).check(target.url, schemes=SCHEMES[target.type])
        except UrlNotAllowed as refusal:
            raise address_refused(refusal) from refusal
        except TimeoutError as error:
            raise mcp_error(McpFault.NO_ANSWER) from error

    async def open_listener(self, target: McpTarget, on_event: "EventHandler") -> "McpSession":
        """A session besides the pooled one, for the events of a server; the caller closes it."""
        session = await self._create(target, on_event)
        try:
            await session.wait_opened()
        except McpSessionLost as lost:
            raise mcp_error(McpFault.SESSION_LOST) from lost
        except BaseException:
            session.retire()
            raise
        return session

    async def _create(self, target: McpTarget, on_event: "EventHandler | None" = None) -> "McpSession":
        await self._require_allowed(target)
        # The protocol takes half a second to load: with the first session, and not on the event loop.
        sessions = await import_in_thread("agents.mcp.session")
        tokens = None if self._open_tokens is None else await self._open_tokens()
        on_change = partial(self._changed, target)
        return sessions.McpSession(target, self._guard_of(target), self._limits, tokens, on_change, on_event)

    async def _begin(self, target: McpTarget) -> "tuple[McpSession, ToolListing]":
        session = await self._create(target)
        try:
            await session.wait_opened()
            return session, await session.list_tools()
        except McpSessionLost as lost:
            raise mcp_error(McpFault.SESSION_LOST) from lost
        except BaseException:
            session.retire()
            raise

    def _changed(self, target: McpTarget, kind: ListKind) -> None:
        if kind == "tools":
            self._on_change(target)

    def present(self, connection_id: str) -> "McpSession | None":
        """The open session of a connection, if any; looking does not keep it open."""
        entry = self._entries.get(connection_id)
        session = None if entry is None else entry.session
        return session if session is not None and session.is_usable else None

    def record_success(self, target: McpTarget) -> None:
        entry = self._entries.get(target.connection_id)
        if entry is not None:
            entry.failures, entry.open_again = 0, 0

    def record_failure(self, target: McpTarget) -> None:
        entry = self._entries.get(target.connection_id)
        if entry is None:
            return
        entry.failures += 1
        beyond = entry.failures - max(1, target.max_retries)
        if beyond >= 0:
            pause = target.pause_seconds * 2 ** min(beyond, 20)
            entry.open_again = _now() + min(pause, self._limits.most_pause_seconds)

    async def discard(self, connection_id: str) -> None:
        entry = self._entries.pop(connection_id, None)
        if entry is not None and entry.session is not None:
            await entry.session.close()

    async def sweep(self) -> None:
        while True:
            await asyncio.sleep(_SWEEP_SECONDS)
            self.close_idle()

    def close_idle(self) -> None:
        now = _now()
        for connection_id, entry in list(self._entries.items()):
            if entry.used >= now - self._limits.idle_seconds or entry.lock.locked():
                continue
            if entry.session is not None:
                entry.session.retire()
                entry.session = None
            if entry.open_again <= now:
                del self._entries[connection_id]

    async def close(self) -> None:
        self._is_closed = True
        sessions = [entry.session for entry in self._entries.values() if entry.session]
        self._entries.clear()
        await asyncio.gather(*(session.close() for session in sessions))


def _now() -> float:
    return asyncio.get_running_loop().time()
