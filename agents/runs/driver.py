"""Drives one run: reads its strategy, writes the log, keeps the lease, ends it."""

from collections.abc import Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field, replace

from agents import event_log
from agents.agui.close_open import DanglingEvents, find_dangling
from agents.agui.encoder import AguiEncoder
from agents.agui.message_reducer import MessageReducer
from agents.agui.transcript import Transcript
from agents.event_log import LogAddition, LogClosed, LogEntry
from agents.events import Failed, Finished, WireEvent
from agents.models import RunStatus
from agents.runs import finish, journal_store, store
from agents.runs.event_writer import EventWriter, LogBatch
from agents.runs.finish import RunOutcome
from agents.runs.heartbeat import Heartbeat
from agents.runs.store import StartedRun
from agents.runs.thread_snapshot import fold_thread
from agents.strategies import StrategyRun
from agents.strategies.event_channel import EventBatch
from core.db.database import Database
from core.db.types import now_ms
from core.db.unit_of_work import unit_of_work
from core.errors.server import DatabaseUnavailable
from core.logging import get_logger

log = get_logger(__name__)

_STATUSES = {
    "success": RunStatus.COMPLETED,
    "cancelled": RunStatus.CANCELLED,
    "interrupt": RunStatus.INTERRUPTED,
}


class DriverContext:
    """What all drivers of a process share.

    Args:
        database: where the logs are.
        name: this process's name in leases.
        publish: called with a run's key and what was committed to its log.
    """

    def __init__(
        self, database: Database, name: str, publish: Callable[[str, Sequence[LogEntry]], None]
    ) -> None:
        self.database = database
        self.name = name
        self.publish = publish
        self.log = EventWriter(database, name)
        self.heartbeat = Heartbeat(database, name, self.log.turn)


@dataclass(frozen=True)
class Course:
    """What a driver has to go through.

    Args:
        run: begun, or taken up.
        strategy: not started yet.
        stored: effects of the task that are stored already.
        logged: the run's events so far, when another process wrote them.
        before: what earlier runs of the task did and no message of theirs tells.
    """

    run: StartedRun
    strategy: StrategyRun
    stored: int = 0
    logged: tuple[WireEvent, ...] = ()
    before: Transcript = field(default_factory=Transcript)


class RunDriver:
    """One run from its first event to its last, or from where its last driver left it.

    Args:
        context: shared by the process.
        course: what to drive.
    """

    def __init__(self, context: DriverContext, course: Course) -> None:
        run = course.run
        self._context = context
        self._run = run
        self._strategy = course.strategy
        self._stored = course.stored
        self._left_over = course.logged
        self._mapper = AguiEncoder(run.thread_id, run.run_id, now=now_ms)
        self._transcript = Transcript()
        self._transcript.carry_over(course.before, is_told=False)
        self._is_handed_over = False
        self._torn: frozenset[str] = frozenset()
        for event in course.logged:
            self._transcript.observe(event)

    async def drive(self) -> None:
        """Run to the end, which is one terminal event in the log.

        When the log can't be written or is closed by others the run just stops: whoever closed
        it wrote the terminal event, or the end of the lease will have it written.
        """
        try:
            with self._context.heartbeat.watching(self._run.key, self._strategy.stop):
                async with aclosing(self._strategy.batches()) as batches:
                    async for batch in batches:
                        if self._is_handed_over:
                            break
                        await self._write(batch)
        except (DatabaseUnavailable, LogClosed) as error:
            log.warning("run.abandoned", run_id=self._run.run_id, why=type(error).__name__)
        if self._is_handed_over:
            await self._release()

    async def stop(self) -> None:
        """Stop the strategy; the log then ends in ``RUN_FINISHED`` with outcome ``cancelled``."""
        await self._strategy.stop()

    async def hand_over(self) -> None:
        """Stop driving without ending the run: another process takes it up where it stands."""
        self._is_handed_over = True
        await self._strategy.stop()

    async def _release(self) -> None:
        try:
            # Behind a renewal that is under way.
            async with self._context.log.turn, unit_of_work(self._context.database) as work:
                await store.release(work, self._run)
        except DatabaseUnavailable:
            # Then it is taken up when its lease ends.
            log.warning("run.not_released", run_id=self._run.run_id)

    async def _write(self, batch: EventBatch) -> None:
        run = self._run
        last = batch.events[-1] if batch.is_last else None
        wire = [mapped for event in batch.events for mapped in self._mapper.translate(event)]
        if self._left_over:
            torn = find_dangling(self._left_over, self._strategy.known, now=now_ms)
            wire = [*await self._ended(torn), *wire]
            self._torn = torn.ids
        if isinstance(last, Finished) and last.outcome == "interrupt":
            wire = [*wire[:-1], *await self._snapshots(wire), wire[-1]]
        for event in wire:
            self._transcript.observe(event)
        self._transcript.forget(self._torn)
        entries = await self._store(wire, batch)
        self._left_over, self._torn = (), frozenset()
        self._context.publish(run.key, entries)

    async def _store(self, wire: Sequence[WireEvent], batch: EventBatch) -> list[LogEntry]:
        run, last = self._run, batch.events[-1] if batch.is_last else None
        if not isinstance(last, Finished | Failed):
            addition = LogAddition(run.key, wire, batch.own_events)
            asked = LogBatch(addition, run.task_id, batch.effects, self._stored)
            written = await self._context.log.write(asked)
            self._stored = written.stored
            return written.entries
        ending = replace(self._ending(last), own_events=batch.own_events)
        async with unit_of_work(self._context.database) as work:
            entries = await finish.finish(work, run.key, wire, ending, driver=run.driver)
            # Behind the look at the lease: who lost it finds its place in the journal taken.
            await journal_store.write(work.session, run.task_id, batch.effects, stored=self._stored)
        log.info("run.ended", run_id=run.run_id, status=ending.status)
        return entries

    async def _ended(self, torn: DanglingEvents) -> list[WireEvent]:
        """The end of what the last driver had begun, which its subscribers must not keep."""
        if not torn.ids:
            return torn.closing
        fold = await self._fold([*self._left_over, *torn.closing])
        fold.forget(torn.ids)
        return [*torn.closing, self._mapper.messages(fold.messages)]

    async def _snapshots(self, wire: list[WireEvent]) -> list[WireEvent]:
        async with self._context.database.reading() as session:
            logged = await event_log.read_all(session, self._run.key)
        fold = await self._fold([*logged, *wire])
        return [self._mapper.state(fold.state), self._mapper.messages(fold.messages)]

    async def _fold(self, events: Sequence[WireEvent]) -> MessageReducer:
        async with self._context.database.reading() as session:
            fold = await fold_thread(session, self._run.session_key, until=self._run.key)
        for event in events:
            fold.observe(event)
        return fold

    def _ending(self, last: Finished | Failed) -> RunOutcome:
        status, waits = RunStatus.FAILED, False
        if isinstance(last, Finished):
            status = _STATUSES[last.outcome]
            waits = bool(last.interrupts or last.pending_call_ids)
        interrupts = last.interrupts if isinstance(last, Finished) else ()
        return RunOutcome(status, last.usage, self._transcript, waits=waits, interrupts=interrupts)
