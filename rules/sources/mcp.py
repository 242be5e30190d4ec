"""Events of MCP servers: one process listens to each connection that rules name."""

import asyncio
import hashlib
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime

from sqlalchemy import or_
from sqlmodel import col, select

from agents.mcp.models import McpConnection
from agents.mcp.server_events import DeclaredEventType, ServerEvent
from agents.mcp.service import McpService
from core.db.database import Database
from core.db.types import new_id, utc_now
from core.db.unit_of_work import unit_of_work
from core.errors.base import AgentexError
from core.logging import get_logger
from rules import intake, seen_types
from rules.event_drops import DropCounter
from rules.execution import leases
from rules.intake import IncomingEvent
from rules.language.definition import SCHEDULE_EVENT
from rules.models import LONGEST_EVENT_ID, EventDropReason, Rule, SourceKind
from rules.sources.platform import TYPES

log = get_logger(__name__)

_LEASE_SECONDS = 20.0
_FIRST_PAUSE, _LONGEST_PAUSE = 1.0, 60.0
# Events that wait in memory to be accepted together; a server that sends more waits.
_ROOM = 500
_AT_ONCE = 200
_FULL_PAUSE_SECONDS = 0.2
_FLUSH_SECONDS = 5.0
# No server sends these.
_OWN_TYPES = (SCHEDULE_EVENT, *(declared.name for declared in TYPES))


@dataclass(eq=False)
class _Listener:
    """One connection that this process listens to."""

    row: McpConnection
    task: asyncio.Task[None] | None = None
    heard: int = 0
    opened: float | None = None
    renewed: float = 0
    waiting: asyncio.Queue[IncomingEvent] = field(default_factory=lambda: asyncio.Queue(_ROOM))

    @property
    def lease(self) -> str:
        return f"mcp:{self.row.id}"


class McpEvents:
    """Listens to the connections that enabled rules name, as long as this process has their leases."""

    def __init__(
        self, database: Database, mcp: McpService, driver: str, wake: Callable[[], None], drops: DropCounter
    ) -> None:
        self._database = database
        self._drops = drops
        self._mcp = mcp
        self._driver = driver
        self._wake = wake
        self._listeners: dict[str, _Listener] = {}

    @property
    def is_listening(self) -> bool:
        """Whether this process listens to a connection."""
        return bool(self._listeners)

    async def follow(self) -> None:
        """Listen to what rules name now, and no longer to what they don't; called again and again."""
        expected = {row.id: row for row in await self._connections()}
        for connection_id, listener in list(self._listeners.items()):
            row = expected.get(connection_id)
            if row is None or row.version != listener.row.version or (listener.task and listener.task.done()):
                await self._end(listener)
        for connection_id, row in expected.items():
            listener = self._listeners.get(connection_id) or _Listener(row)
            if not await self._hold(listener):
                await self._end(listener)
            elif listener.task is None:
                self._listeners[connection_id] = listener
                listener.task = asyncio.create_task(self._listen(listener))

    async def _hold(self, listener: _Listener) -> bool:
        """Whether this process has the connection's lease, which it renews in time."""
        now = time.monotonic()
        if listener.task is not None and now - listener.renewed < _LEASE_SECONDS / 3:
            return True
        listener.renewed = now
        async with unit_of_work(self._database) as work:
            return await leases.acquire(work, listener.lease, self._driver, seconds=_LEASE_SECONDS)

    async def close(self) -> None:
        """Stop listening."""
        for listener in list(self._listeners.values()):
            await self._end(listener)

    async def _end(self, listener: _Listener) -> None:
        self._listeners.pop(listener.row.id, None)
        if listener.task is not None:
            listener.task.cancel()
            await asyncio.wait({listener.task})

    async def _connections(self) -> list[McpConnection]:
        async with self._database.reading() as session:
            is_on = col(Rule.enabled).is_(True)
            sources = select(Rule.source_id).where(is_on, col(Rule.source_id).is_not(None))
            # Rules for an event of any source hear all connections of their owner.
            of_any = select(Rule.owner_id).where(
                is_on, col(Rule.source_id).is_(None), col(Rule.event_type).not_in(_OWN_TYPES)
            )
            is_heard = or_(col(McpConnection.id).in_(sources), col(McpConnection.owner_id).in_(of_any))
            query = select(McpConnection).where(is_heard, col(McpConnection.enabled).is_(True))
            return list((await session.exec(query)).all())

    async def _listen(self, listener: _Listener) -> None:
        """Keep a session open, with longer and longer pauses while the server can't be reached."""
        accepting = asyncio.create_task(self._accept(listener))
        pause = _FIRST_PAUSE
        try:
            while True:
                heard, listener.opened = listener.heard, None
                try:
                    await self._hear(listener)
                except AgentexError as error:
                    log.info("rules.not_listening", connection_id=listener.row.id, code=error.code)
                except Exception:
                    # Whatever a server makes the product stumble over: it may do better next time.
                    log.exception("rules.listening_crashed", connection_id=listener.row.id)
                # A session that held for a while, or in which something happened, is worth a quick return: what
                # happens meanwhile is not heard.
                has_held = listener.opened is not None and time.monotonic() - listener.opened > pause
                is_worth = has_held or listener.heard > heard
                pause = _FIRST_PAUSE if is_worth else min(2 * pause, _LONGEST_PAUSE)
                await asyncio.sleep(pause)
        finally:
            with suppress(TimeoutError):
                async with asyncio.timeout(_FLUSH_SECONDS):
                    await listener.waiting.join()
            accepting.cancel()
            await asyncio.wait({accepting})

    async def _hear(self, listener: _Listener) -> None:
        async def take(event: ServerEvent) -> None:
            listener.heard += 1
            await listener.waiting.put(_incoming(listener.row, event))

        session = await self._mcp.listen(listener.row, take)
        listener.opened = time.monotonic()
        try:
            await self._declare(listener.row, session.event_types)
            await session.wait_closed()
        finally:
            await session.close()

    async def _declare(self, row: McpConnection, declared: Iterable[DeclaredEventType]) -> None:
        async with unit_of_work(self._database) as work:
            await seen_types.declare(work, row.owner_id, row.id, declared)

    async def _accept(self, listener: _Listener) -> None:
        """Accept what was heard, many in one transaction; nothing that was taken is dropped while the database rests."""
        while True:
            events = [await listener.waiting.get()]
            while len(events) < _AT_ONCE and not listener.waiting.empty():
                events.append(listener.waiting.get_nowait())
            try:
                await self._accept_patiently(listener, events)
            except Exception:
                # Among many events it can't be told which one is at fault.
                log.exception("rules.events_not_accepted", connection_id=listener.row.id)
                for event in events:
                    await self._accept_or_leave_out(listener, event)
            for _ in events:
                listener.waiting.task_done()
            self._wake()

    async def _accept_or_leave_out(self, listener: _Listener, event: IncomingEvent) -> None:
        """Accept an event that may be at fault: all others would wait behind it."""
        try:
            await self._accept_patiently(listener, [event])
        except Exception:
            log.exception("rules.event_left_out", connection_id=listener.row.id, type=event.type)
            self._drops.note(listener.row.owner_id, listener.row.id, EventDropReason.UNUSABLE)

    async def _accept_patiently(self, listener: _Listener, events: list[IncomingEvent]) -> None:
        """Accept events, however long the database rests or earlier ones wait for a decision."""
        fitting = [event for event in events if self._fits(listener.row, event)]
        while True:
            try:
                if await self._try_accept(listener, fitting):
                    return
            except AgentexError as error:
                log.warning("rules.events_wait", connection_id=listener.row.id, code=error.code)
                await asyncio.sleep(_FIRST_PAUSE)

    async def _try_accept(self, listener: _Listener, events: list[IncomingEvent]) -> bool:
        """Accept events; False while too many of the same source wait for a decision."""
        row = listener.row
        async with self._database.reading() as session:
            is_full = await intake.count_open(session, row.id, row.owner_id) >= intake.MOST_OPEN
        if is_full:
            # The server waits, as its connection is read no further.
            await asyncio.sleep(_FULL_PAUSE_SECONDS)
            return False
        async with unit_of_work(self._database) as work:
            await intake.accept(work, events)
        return True

    def _fits(self, row: McpConnection, event: IncomingEvent) -> bool:
        fault = intake.find_fault(event)
        if fault is None:
            return True
        self._drops.note(row.owner_id, row.id, fault.reason)
        log.warning("rules.event_refused", connection_id=row.id, reason=fault.reason.value, error=fault.error)
        return False


def _incoming(row: McpConnection, event: ServerEvent) -> IncomingEvent:
    return IncomingEvent(
        owner_id=row.owner_id,
        source_kind=SourceKind.MCP,
        source_id=row.id,
        type=event.type,
        data=event.data,
        id=_id_of(event),
        occurred_at=_time_of(event),
    )


def _id_of(event: ServerEvent) -> str:
    if len(event.id) <= LONGEST_EVENT_ID:
        return event.id or new_id()
    # Ids that differ at their end only are those of different events.
    return hashlib.sha256(event.id.encode("utf-8", "surrogatepass")).hexdigest()


def _time_of(event: ServerEvent) -> datetime:
    """When the server says that it happened; now, where it says nothing that is a time."""
    with suppress(ValueError, OverflowError):
        server_time = datetime.fromisoformat(event.time)
        aware = server_time if server_time.tzinfo else server_time.replace(tzinfo=UTC)
        return aware.astimezone(UTC)
    return utc_now()
