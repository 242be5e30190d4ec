"""Those of this process who follow runs, and where they have the events from."""

import asyncio
from collections.abc import AsyncGenerator, Mapping, Sequence
from weakref import WeakValueDictionary

from sqlmodel import col, select

from agents.event_log import LogEntry
from agents.models import AgentRun, RunStatus
from agents.runs.live.broadcaster import FanOut
from agents.runs.live.buffer import Tail
from agents.runs.live.log_cursor import LogReader
from core.db.database import Database
from core.errors.server import DatabaseUnavailable
from core.logging import get_logger

log = get_logger(__name__)

# How often runs that others drive are looked at in SQL: with live events, it is the net below.
_LOOK_SECONDS = 0.5
_LOOK_BESIDE_SECONDS = 2.0
_SILENT_SECONDS = 5.0
_RUNS_PER_LOOK = 500


class Followers:
    """Gives the events of runs to any number of readers.

    A run that is driven here tells its events itself. Those of runs that other processes drive
    come through Redis, where there is one between them, or from one look for all into SQL.

    Args:
        database: where the logs are.
        fan_out: between the processes; None where there is only one.
    """

    def __init__(self, database: Database, fan_out: FanOut | None = None) -> None:
        self._database = database
        self._fan_out = fan_out
        # Kept alive by those who read them, and by the drivers of this process.
        self._tails: WeakValueDictionary[str, Tail] = WeakValueDictionary()
        self._fed: dict[str, Tail] = {}
        self._looking: asyncio.Task[None] | None = None
        self._receiving: asyncio.Task[None] | None = None
        self._asked_for: set[str] = set()
        self._is_closed = False

    def feed(self, run_key: str, *, last_seq: int = 0) -> None:
        """Say that a run is driven here, and that its events behind a number will be told."""
        tail = self._fed[run_key] = self._tails.setdefault(run_key, Tail())
        tail.begin(last_seq)

    def is_fed(self, run_key: str) -> bool:
        """Whether a run is driven here, or about to be."""
        return run_key in self._fed

    def release(self, run_key: str) -> None:
        """Say that a run is not driven here any more."""
        if (tail := self._fed.pop(run_key, None)) is not None:
            tail.end()

    def tell(self, run_key: str, entries: Sequence[LogEntry]) -> None:
        """Tell what was committed to a run's log, to readers here and elsewhere."""
        if not entries:
            return
        if (tail := self._tails.get(run_key)) is not None:
            tail.add(entries)
        if self._fan_out is not None:
            self._fan_out.send(run_key, entries)

    async def follow(self, run_key: str, *, after: int = 0) -> AsyncGenerator[list[LogEntry]]:
        """The log of a run from behind a sequence number to its terminal event.

        An empty list comes when nothing happened for a while, so that the reader can see to
        its connection. Ends early when the run is deleted, or handed over to another process.
        """
        tail = self._tails.setdefault(run_key, Tail())
        reader = LogReader(self._database, run_key, tail, after)
        while not reader.is_over:
            if entries := await reader.read():
                yield entries
                continue
            if self._is_closed:
                # Others write the rest of it: who follows asks them.
                return
            if not tail.is_fed:
                await self._watch(run_key)
            if reader.is_behind or not await tail.changed(_SILENT_SECONDS):
                yield []

    async def close(self) -> None:
        """End the readers once they have what there is, and all that works beside them."""
        self._is_closed = True
        for tail in list(self._tails.values()):
            tail.doubt()
        beside = {task for task in (self._looking, self._receiving) if task is not None}
        for task in beside:
            task.cancel()
        if beside:
            await asyncio.wait(beside)
        if self._fan_out is not None:
            await self._fan_out.close()

    async def _watch(self, run_key: str) -> None:
        """See to it that somebody tells of a run that is driven elsewhere."""
        if self._looking is None or self._looking.done():
            self._looking = asyncio.create_task(self._look())
        if self._fan_out is None:
            return
        if self._receiving is None or self._receiving.done():
            receiving = self._fan_out.receive(self._wanted, self._arrived)
            self._receiving = asyncio.create_task(receiving)
        elif run_key not in self._asked_for:
            self._asked_for.add(run_key)
            await self._fan_out.look_again()

    def _elsewhere(self) -> dict[str, Tail]:
        return {key: tail for key, tail in self._tails.items() if not tail.is_fed}

    def _wanted(self) -> dict[str, int]:
        wanted = {key: tail.last_seq for key, tail in self._elsewhere().items()}
        self._asked_for = set(wanted)
        return wanted

    def _arrived(self, run_key: str, entries: Sequence[LogEntry]) -> None:
        if (tail := self._tails.get(run_key)) is not None:
            tail.add(entries)

    async def _look(self) -> None:
        """Look at all runs that are driven elsewhere, as long as any of them is followed."""
        while self._elsewhere():
            is_helped = self._fan_out is not None and self._fan_out.is_receiving
            await asyncio.sleep(_LOOK_BESIDE_SECONDS if is_helped else _LOOK_SECONDS)
            try:
                await self._look_once(self._elsewhere())
            except DatabaseUnavailable:
                continue
            except Exception:
                # Whatever it is, the next look must come: readers wait for it.
                log.exception("run_events.look_crashed")

    async def _look_once(self, tails: Mapping[str, Tail]) -> None:
        keys = list(tails)
        for start in range(0, len(keys), _RUNS_PER_LOOK):
            some = keys[start : start + _RUNS_PER_LOOK]
            query = select(AgentRun.id, AgentRun.last_seq).where(
                col(AgentRun.id).in_(some), AgentRun.status == RunStatus.RUNNING.value
            )
            async with self._database.reading() as session:
                running = dict((await session.exec(query)).all())
            for key in some:
                # One that is not running any more is read to its end, or is gone.
                if running.get(key, tails[key].last_seq + 1) > tails[key].last_seq:
                    tails[key].doubt()
