"""The sessions of a process: one for each connection, and servers that fail left alone for a while."""

import asyncio
from dataclasses import dataclass, field
from importlib import import_module
from typing import TYPE_CHECKING

from agents.mcp.errors import McpFault, mcp_error
from agents.mcp.limits import McpLimits
from agents.mcp.target import McpTarget
from agents.mcp.tools import McpTool
from core.errors.base import AgentexError
from core.outbound.guard import OutboundGuard

if TYPE_CHECKING:
    from agents.mcp.session import McpSession

_SWEEP_SECONDS = 30


@dataclass(slots=True)
class _PoolEntry:
    """What is known of one connection.

    Attributes:
        turn: whoever opens a session has it, so that many who wait share one attempt.
        open_again: when a server that failed too often is tried again (loop time).
        used: when it was last asked for (loop time).
    """

    turn: asyncio.Lock = field(default_factory=asyncio.Lock)
    session: "McpSession | None" = None
    tools: tuple[McpTool, ...] = ()
    failures: int = 0
    open_again: float = 0
    used: float = 0


@dataclass(frozen=True, slots=True)
class PooledSession:
    """A usable session.

    Attributes:
        tools: those that the server listed when it was opened.
        is_new: whether it was opened just now.
    """

    session: "McpSession"
    tools: tuple[McpTool, ...]
    is_new: bool


class McpPool:
    """Opens sessions, keeps them while they are used, and closes them."""

    def __init__(self, guard: OutboundGuard, limits: McpLimits) -> None:
        self._guard = guard
        self._limits = limits
        self._places: dict[str, _PoolEntry] = {}
        self._is_closed = False

    async def session(self, target: McpTarget, *, insists: bool = False) -> PooledSession:
        """The session of a connection, opened and with its tools listed if there is none.

        Args:
            target: where; another one than before closes the session that is there.
            insists: a person asks: the server is tried even if it failed just now.

        Raises:
            McpUnavailable, McpResultTooLarge: there is none to be had.
        """
        if self._is_closed:
            raise mcp_error(McpFault.CLOSED)
        place = self._places.setdefault(target.connection_id, _PoolEntry())
        place.used = _now()
        async with place.turn:
            present = place.session
            if present is not None and present.is_usable and present.target == target:
                return PooledSession(present, place.tools, is_new=False)
            if present is not None:
                place.session = None
                present.retire()
            if place.open_again > _now() and not insists:
                raise mcp_error(McpFault.PAUSED)
            try:
                return await self._open(place, target)
            except AgentexError:
                self.record_failure(target)
                raise

    async def list_tools_once(self, target: McpTarget) -> tuple[McpTool, ...]:
        """The tools of a server, asked in a session of their own, beside the one that is in use.

        Raises:
            McpUnavailable, McpResultTooLarge: it gave no usable list.
        """
        if self._is_closed:
            raise mcp_error(McpFault.CLOSED)
        session, tools = await self._begin(target)
        session.retire()
        self.record_success(target)
        return tools

    async def _open(self, place: _PoolEntry, target: McpTarget) -> PooledSession:
        place.session, place.tools = await self._begin(target)
        self.record_success(target)
        return PooledSession(place.session, place.tools, is_new=True)

    async def _begin(self, target: McpTarget) -> "tuple[McpSession, tuple[McpTool, ...]]":
        # The protocol takes half a second to load: with the first session, and not on the event loop.
        sessions = await asyncio.to_thread(import_module, "agents.mcp.session")
        session: McpSession = sessions.McpSession(target, self._guard, self._limits)
        try:
            await session.wait_opened()
            return session, tuple(await session.list_tools())
        except BaseException:
            session.retire()
            raise

    def record_success(self, target: McpTarget) -> None:
        """Forget the failures of a server that has answered."""
        place = self._places.get(target.connection_id)
        if place is not None:
            place.failures, place.open_again = 0, 0

    def record_failure(self, target: McpTarget) -> None:
        """Count a failure; after some in a row the server is left alone, ever longer."""
        place = self._places.get(target.connection_id)
        if place is None:
            return
        place.failures += 1
        beyond = place.failures - max(1, target.max_retries)
        if beyond >= 0:
            pause = target.pause_seconds * 2 ** min(beyond, 20)
            place.open_again = _now() + min(pause, self._limits.most_pause_seconds)

    async def discard(self, connection_id: str) -> None:
        """Close the session of a connection that was changed or deleted."""
        place = self._places.pop(connection_id, None)
        if place is not None and place.session is not None:
            await place.session.close()

    async def sweep(self) -> None:
        """Close sessions that nobody uses, round after round, until cancelled."""
        while True:
            await asyncio.sleep(_SWEEP_SECONDS)
            self.close_idle()

    def close_idle(self) -> None:
        """Close sessions that nobody uses, and forget connections but for those left alone."""
        now = _now()
        for connection_id, place in list(self._places.items()):
            if place.used >= now - self._limits.idle_seconds or place.turn.locked():
                continue
            if place.session is not None:
                place.session.retire()
                place.session = None
            if place.open_again <= now:
                del self._places[connection_id]

    async def close(self) -> None:
        """Close all sessions; no other is opened after this."""
        self._is_closed = True
        sessions = [place.session for place in self._places.values() if place.session]
        self._places.clear()
        await asyncio.gather(*(session.close() for session in sessions))


def _now() -> float:
    return asyncio.get_running_loop().time()
