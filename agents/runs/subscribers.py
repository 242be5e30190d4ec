"""Readers that follow runs in this process, and their sources of events."""

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, Mapping, Sequence
from itertools import islice
from weakref import WeakValueDictionary

from sqlmodel import col, select

from agents import event_log
from agents.event_log import LogEntry
from agents.models import AgentRun, RunStatus
from agents.runs import store
from agents.runs.broadcaster import EventBroadcaster
from core.db.database import Database
from core.errors.server import DatabaseUnavailable
from core.logging import get_logger

log = get_logger(__name__)

_BUFFERED_EVENTS = 512
# SQL polling of runs that other processes drive; a fallback if there are live events.
_LOOK_SECONDS = 0.5
_LOOK_BESIDE_SECONDS = 2.0
_SILENT_SECONDS = 5.0
_RETRY_SECONDS = 0.5
_RUNS_PER_LOOK = 500


class EventBuffer:
    """The newest events of one run that this process has seen.

    Attributes:
        last_seq: Number of the newest known event, 0 for none.
        is_live: Whether the run is driven here, so that every event is published at once.
        invalidations: Number of requests to read the log itself.
    """

    def __init__(self) -> None:
        self.last_seq = 0
        self.is_live = False
        self.invalidations = 0
        self._entries: deque[LogEntry] = deque(maxlen=_BUFFERED_EVENTS)
        self._waiting: set[asyncio.Future[bool]] = set()

    def open(self, last_seq: int) -> None:
        """Expect every event after a number to be published."""
        self.is_live = True
        self.last_seq = max(self.last_seq, last_seq)

    def close(self) -> None:
        """Expect no more events: the run is no longer driven here."""
        self.is_live = False
        self.invalidate()

    def add(self, entries: Sequence[LogEntry]) -> None:
        """Add committed events; known ones are skipped."""
        new = [entry for entry in entries if entry.seq > self.last_seq]
        if not new:
            return
        if new[0].seq > self.last_seq + 1:
            # A gap: readers get the missing events from the log.
            self._entries.clear()
        self._entries.extend(new)
        self.last_seq = new[-1].seq
        self._wake()

    def invalidate(self) -> None:
        self.invalidations += 1
        self._wake()

    def entries_after(self, after: int) -> list[LogEntry] | None:
        """The events after a number; None if the log must be read."""
        if after >= self.last_seq:
            return []
        if not self._entries or self._entries[0].seq > after + 1:
            return None
        return list(islice(self._entries, after + 1 - self._entries[0].seq, None))

    async def wait_for_change(self, seconds: float) -> bool:
        """Wait for the next event or invalidation; False on timeout."""
        # Thousands wait here: an event plus a timeout would take more memory than this future.
        clock = asyncio.get_running_loop()
        waiting: asyncio.Future[bool] = clock.create_future()
        self._waiting.add(waiting)
        late = clock.call_later(seconds, _answer, waiting, False)
        try:
            return await waiting
        finally:
            late.cancel()
            self._waiting.discard(waiting)

    def _wake(self) -> None:
        for waiting in self._waiting:
            _answer(waiting, True)


def _answer(waiting: asyncio.Future[bool], outcome: bool) -> None:
    if not waiting.done():
        waiting.set_result(outcome)


class LogCursor:
    """A reader's position in a run's log: new events come from memory, old ones from SQL."""

    def __init__(self, database: Database, run_key: str, buffer: EventBuffer, after: int) -> None:
        self._database = database
        self._run_key = run_key
        self._buffer = buffer
        self._after = after
        # A run driven here publishes everything; SQL has nothing more.
        self._looked = buffer.invalidations if buffer.is_live else None
        self.is_over = False

    @property
    def is_behind(self) -> bool:
        return self._buffer.last_seq > self._after or self._looked != self._buffer.invalidations

    async def read(self) -> list[LogEntry]:
        """The next events, empty if there are none now; sets ``is_over`` after the last."""
        entries = self._buffer.entries_after(self._after)
        if entries is None or (not entries and self._looked != self._buffer.invalidations):
            entries = await self._look()
        if entries:
            self._after = entries[-1].seq
            self.is_over = entries[-1].is_terminal
        return entries

    async def _look(self) -> list[LogEntry]:
        self._looked = self._buffer.invalidations
        try:
            async with self._database.reading() as session:
                entries = await event_log.read(session, self._run_key, after=self._after)
                if not entries:
                    self.is_over = await store.is_read(session, self._run_key, up_to=self._after)
        except DatabaseUnavailable:
            log.warning("run.log_unreadable", run_key=self._run_key)
            self._looked = None
            await asyncio.sleep(_RETRY_SECONDS)
            return []
        self._buffer.add(entries)
        return entries


class Subscribers:
    """The events of runs for any number of readers.

    Runs driven here publish their events directly. Events of other processes' runs come through Redis,
    if configured, or from one SQL query for all of them.

    Args:
        broadcaster: Connects the processes; None if there is only one.
    """

    def __init__(self, database: Database, broadcaster: EventBroadcaster | None = None) -> None:
        self._database = database
        self._broadcaster = broadcaster
        # Weak: kept alive by readers and by drivers of this process.
        self._buffers: WeakValueDictionary[str, EventBuffer] = WeakValueDictionary()
        self._live: dict[str, EventBuffer] = {}
        self._looking: asyncio.Task[None] | None = None
        self._receiving: asyncio.Task[None] | None = None
        self._requested: set[str] = set()
        self._is_closed = False

    def open(self, run_key: str, *, last_seq: int = 0) -> None:
        """Start publishing: a run is driven here, with events after ``last_seq``."""
        buffer = self._live[run_key] = self._buffers.setdefault(run_key, EventBuffer())
        buffer.open(last_seq)

    def is_open(self, run_key: str) -> bool:
        return run_key in self._live

    def release(self, run_key: str) -> None:
        """Stop publishing: a run is no longer driven here."""
        if (buffer := self._live.pop(run_key, None)) is not None:
            buffer.close()

    def publish(self, run_key: str, entries: Sequence[LogEntry]) -> None:
        """Pass committed events to readers here and in other processes."""
        if not entries:
            return
        if (buffer := self._buffers.get(run_key)) is not None:
            buffer.add(entries)
        if self._broadcaster is not None:
            self._broadcaster.send(run_key, entries)

    async def follow(self, run_key: str, *, after: int = 0) -> AsyncGenerator[list[LogEntry]]:
        """The log of a run after a sequence number, to its terminal event.

        Yields an empty list if nothing happens for a while, so that the reader can check its connection.
        Ends early if the run is deleted or handed over to another process.
        """
        buffer = self._buffers.setdefault(run_key, EventBuffer())
        cursor = LogCursor(self._database, run_key, buffer, after)
        while not cursor.is_over:
            if entries := await cursor.read():
                yield entries
                continue
            if self._is_closed:
                # Another process writes the rest: the reader must reconnect.
                return
            if not buffer.is_live:
                await self._watch(run_key)
            if cursor.is_behind or not await buffer.wait_for_change(_SILENT_SECONDS):
                yield []

    async def close(self) -> None:
        """End the readers once they are up to date, and the background tasks."""
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
        """Make events of a run that is driven elsewhere arrive."""
        if self._looking is None or self._looking.done():
            self._looking = asyncio.create_task(self._look())
        if self._broadcaster is None:
            return
        if self._receiving is None or self._receiving.done():
            receiving = self._broadcaster.receive(self._followed_elsewhere, self._arrived)
            self._receiving = asyncio.create_task(receiving)
        elif run_key not in self._requested:
            self._requested.add(run_key)
            await self._broadcaster.refresh()

    def _elsewhere(self) -> dict[str, EventBuffer]:
        return {key: buffer for key, buffer in self._buffers.items() if not buffer.is_live}

    def _followed_elsewhere(self) -> dict[str, int]:
        last_seqs = {key: buffer.last_seq for key, buffer in self._elsewhere().items()}
        self._requested = set(last_seqs)
        return last_seqs

    def _arrived(self, run_key: str, entries: Sequence[LogEntry]) -> None:
        if (buffer := self._buffers.get(run_key)) is not None:
            buffer.add(entries)

    async def _look(self) -> None:
        """Poll all followed runs that are driven elsewhere, until there are none."""
        while self._elsewhere():
            is_helped = self._broadcaster is not None and self._broadcaster.is_receiving
            await asyncio.sleep(_LOOK_BESIDE_SECONDS if is_helped else _LOOK_SECONDS)
            try:
                await self._look_once(self._elsewhere())
            except DatabaseUnavailable:
                continue
            except Exception:
                # Polling must go on: readers depend on it.
                log.exception("run_events.look_crashed")

    async def _look_once(self, buffers: Mapping[str, EventBuffer]) -> None:
        keys = list(buffers)
        for start in range(0, len(keys), _RUNS_PER_LOOK):
            batch = keys[start : start + _RUNS_PER_LOOK]
            query = select(AgentRun.id, AgentRun.last_seq).where(
                col(AgentRun.id).in_(batch), AgentRun.status == RunStatus.RUNNING.value
            )
            async with self._database.reading() as session:
                running = dict((await session.exec(query)).all())
            for key in batch:
                # A run that is over or deleted is read to its end.
                if running.get(key, buffers[key].last_seq + 1) > buffers[key].last_seq:
                    buffers[key].invalidate()
