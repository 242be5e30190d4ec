"""Those of this process who follow runs, and where they have the events from."""

import asyncio
from collections.abc import AsyncGenerator, Mapping, Sequence
from weakref import WeakValueDictionary

from sqlmodel import col, select

from agents.event_log import LogEntry
from agents.models import AgentRun, RunStatus
from agents.runs.live.broadcaster import EventBroadcaster
from agents.runs.live.buffer import EventBuffer
from agents.runs.live.log_cursor import LogCursor
from core.db.database import Database
from core.errors.server import DatabaseUnavailable
from core.logging import get_logger

log = get_logger(__name__)

# How often runs that others drive are looked at in SQL: with live events, it is the net below.
_LOOK_SECONDS = 0.5
_LOOK_BESIDE_SECONDS = 2.0
_SILENT_SECONDS = 5.0
_RUNS_PER_LOOK = 500


class Subscribers:
    """Gives the events of runs to any number of readers.

    A run that is driven here tells its events itself. Those of runs that other processes drive
    come through Redis, where there is one between them, or from one look for all into SQL.

    Args:
        database: where the logs are.
        broadcaster: between the processes; None where there is only one.
    """

    def __init__(self, database: Database, broadcaster: EventBroadcaster | None = None) -> None:
        self._database = database
        self._broadcaster = broadcaster
        # Kept alive by those who read them, and by the drivers of this process.
        self._buffers: WeakValueDictionary[str, EventBuffer] = WeakValueDictionary()
        self._live: dict[str, EventBuffer] = {}
        self._looking: asyncio.Task[None] | None = None
        self._receiving: asyncio.Task[None] | None = None
        self._asked_for: set[str] = set()
        self._is_closed = False

    def open(self, run_key: str, *, last_seq: int = 0) -> None:
        """Say that a run is driven here, and that its events behind a number will be told."""
        buffer = self._live[run_key] = self._buffers.setdefault(run_key, EventBuffer())
        buffer.open(last_seq)

    def is_open(self, run_key: str) -> bool:
        """Whether a run is driven here, or about to be."""
        return run_key in self._live

    def release(self, run_key: str) -> None:
        """Say that a run is not driven here any more."""
        if (buffer := self._live.pop(run_key, None)) is not None:
            buffer.close()

    def publish(self, run_key: str, entries: Sequence[LogEntry]) -> None:
        """Tell what was committed to a run's log, to readers here and elsewhere."""
        if not entries:
            return
        if (buffer := self._buffers.get(run_key)) is not None:
            buffer.add(entries)
        if self._broadcaster is not None:
            self._broadcaster.send(run_key, entries)

    async def follow(self, run_key: str, *, after: int = 0) -> AsyncGenerator[list[LogEntry]]:
        """The log of a run from behind a sequence number to its terminal event.

        An empty list comes when nothing happened for a while, so that the cursor can see to
        its connection. Ends early when the run is deleted, or handed over to another process.
        """
        buffer = self._buffers.setdefault(run_key, EventBuffer())
        cursor = LogCursor(self._database, run_key, buffer, after)
        while not cursor.is_over:
            if entries := await cursor.read():
                yield entries
                continue
            if self._is_closed:
                # Others write the rest of it: who follows asks them.
                return
            if not buffer.is_live:
                await self._watch(run_key)
            if cursor.is_behind or not await buffer.wait_for_change(_SILENT_SECONDS):
                yield []

    async def close(self) -> None:
        """End the readers once they have what there is, and all that works beside them."""
        self._is_closed = True
        for buffer in list(self._buffers.values()):
            buffer.invalidate()
        beside = {task for task in (self._looking, self._receiving) if task is not None}
        for task in beside:
            task.cancel()
        if beside:
            await asyncio.wait(beside)
        if self._broadcaster is not None:
            await self._broadcaster.close()

    async def _watch(self, run_key: str) -> None:
        """See to it that somebody tells of a run that is driven elsewhere."""
        if self._looking is None or self._looking.done():
            self._looking = asyncio.create_task(self._look())
        if self._broadcaster is None:
            return
        if self._receiving is None or self._receiving.done():
            receiving = self._broadcaster.receive(self._wanted, self._arrived)
            self._receiving = asyncio.create_task(receiving)
        elif run_key not in self._asked_for:
            self._asked_for.add(run_key)
            await self._broadcaster.refresh()

    def _elsewhere(self) -> dict[str, EventBuffer]:
        return {key: buffer for key, buffer in self._buffers.items() if not buffer.is_live}

    def _wanted(self) -> dict[str, int]:
        wanted = {key: buffer.last_seq for key, buffer in self._elsewhere().items()}
        self._asked_for = set(wanted)
        return wanted

    def _arrived(self, run_key: str, entries: Sequence[LogEntry]) -> None:
        if (buffer := self._buffers.get(run_key)) is not None:
            buffer.add(entries)

    async def _look(self) -> None:
        """Look at all runs that are driven elsewhere, as long as any of them is followed."""
        while self._elsewhere():
            is_helped = self._broadcaster is not None and self._broadcaster.is_receiving
            await asyncio.sleep(_LOOK_BESIDE_SECONDS if is_helped else _LOOK_SECONDS)
            try:
                await self._look_once(self._elsewhere())
            except DatabaseUnavailable:
                continue
            except Exception:
                # Whatever it is, the next look must come: readers wait for it.
                log.exception("run_events.look_crashed")

    async def _look_once(self, buffers: Mapping[str, EventBuffer]) -> None:
        keys = list(buffers)
        for start in range(0, len(keys), _RUNS_PER_LOOK):
            some = keys[start : start + _RUNS_PER_LOOK]
            query = select(AgentRun.id, AgentRun.last_seq).where(
                col(AgentRun.id).in_(some), AgentRun.status == RunStatus.RUNNING.value
            )
            async with self._database.reading() as session:
                running = dict((await session.exec(query)).all())
            for key in some:
                # One that is not running any more is read to its end, or is gone.
                if running.get(key, buffers[key].last_seq + 1) > buffers[key].last_seq:
                    buffers[key].invalidate()
