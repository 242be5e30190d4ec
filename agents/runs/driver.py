"""The driver of a run: reads the strategy, writes the log, keeps the lease and ends the run."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Generator, Sequence
from contextlib import aclosing, contextmanager
from dataclasses import dataclass, field, replace

from sqlmodel import col, select
from sqlmodel.ext.asyncio.session import AsyncSession

from agents import event_log
from agents.agui.close_open import DanglingEvents, find_dangling
from agents.agui.encoder import AguiEncoder
from agents.agui.message_reducer import MessageReducer
from agents.agui.transcript import Transcript
from agents.event_log import LogAddition, LogClosed, LogEntry
from agents.events import Failed, Finished, WireEvent
from agents.journal import Effect
from agents.models import AgentRun, RunStatus
from agents.runs import finish, journal_store, store
from agents.runs.finish import RunOutcome
from agents.runs.join import fold_thread
from agents.runs.store import StartedRun
from agents.strategies import StrategyRun
from agents.strategies.shared.event_channel import EventBatch
from core.auth.models import User, UserStatus
from core.db.database import Database
from core.db.types import now_ms
from core.db.unit_of_work import unit_of_work
from core.errors.server import DatabaseUnavailable
from core.logging import get_logger

log = get_logger(__name__)

LEASE_SECONDS = 15
_HEARTBEAT_SECONDS = 0.5
# A larger transaction would keep other writers waiting for too long.
_MOST_BATCHES = 500
_STATUSES = {"success": RunStatus.COMPLETED, "cancelled": RunStatus.CANCELLED, "interrupt": RunStatus.INTERRUPTED}
_Stop = Callable[[], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class LogBatch:
    """New events and effects of a run, written together or not at all.

    ``stored`` counts the task's effects in the database.
    """

    addition: LogAddition
    task_id: str
    effects: Sequence[Effect] = ()
    stored: int = 0


@dataclass(frozen=True, slots=True)
class WriteResult:
    """The committed log entries, and the number of stored effects."""

    entries: list[LogEntry]
    stored: int


_QueuedBatch = tuple[LogBatch, asyncio.Future[WriteResult]]


class EventWriter:
    """Group commit for the logs of all runs that one process drives.

    A commit takes the same time however little it holds, and SQLite runs one at a time, so writes
    that arrive during a commit share the next transaction.

    Attributes:
        lock: Held while rows of several runs are written, so that transactions of this process don't
            wait for each other's rows.
    """

    def __init__(self, database: Database, driver: str) -> None:
        self.lock = asyncio.Lock()
        self._database = database
        self._driver = driver
        self._waiting: list[_QueuedBatch] = []
        self._writing: asyncio.Task[None] | None = None

    async def write(self, batch: LogBatch) -> WriteResult:
        """Write a batch, together with those of other runs that wait.

        Raises:
            LogClosed: The lease does not hold; nothing was written.
            DatabaseUnavailable: It is unknown whether anything was written.
        """
        written: asyncio.Future[WriteResult] = asyncio.get_running_loop().create_future()
        self._waiting.append((batch, written))
        if self._writing is None or self._writing.done():
            self._writing = asyncio.create_task(self._write_waiting())
        return await written

    async def _write_waiting(self) -> None:
        while self._waiting:
            queued = self._waiting[:_MOST_BATCHES]
            del self._waiting[:_MOST_BATCHES]
            async with self.lock:
                outcomes = await self._try(queued)
                is_lost = isinstance(outcomes, DatabaseUnavailable)
                if isinstance(outcomes, Exception) and not is_lost and len(queued) > 1:
                    # One of them may be at fault. Where the database was lost, they may be
                    # written already, and a second write would double them.
                    await self._write_each(queued)
                    continue
            self._resolve(queued, outcomes)

    async def _write_each(self, queued: Sequence[_QueuedBatch]) -> None:
        for number, batch in enumerate(queued):
            outcomes = await self._try([batch])
            if isinstance(outcomes, DatabaseUnavailable):
                # The others would fail the same way, only later.
                self._resolve(queued[number:], outcomes)
                return
            self._resolve([batch], outcomes)

    async def _try(self, queued: Sequence[_QueuedBatch]) -> list[WriteResult | None] | Exception:
        try:
            return await self._write([batch for batch, _ in queued])
        # Each waiting run gets the error.
        except Exception as error:  # noqa: BLE001
            return error

    async def _write(self, batches: Sequence[LogBatch]) -> list[WriteResult | None]:
        """Write in one transaction; None for runs whose lease does not hold."""
        # Readers wait for every event of every run; starts and ends of runs can wait for this.
        async with unit_of_work(self._database, urgent=True) as work:
            appended = await event_log.append_all(
                work.session, [batch.addition for batch in batches], driver=self._driver
            )
            written: list[WriteResult | None] = []
            for batch, entries in zip(batches, appended, strict=True):
                if entries is None:
                    written.append(None)
                    continue
                stored = batch.stored
                if batch.effects:
                    stored = await journal_store.write(work.session, batch.task_id, batch.effects, stored=stored)
                written.append(WriteResult(entries, stored))
        return written

    def _resolve(self, queued: Sequence[_QueuedBatch], outcomes: Sequence[WriteResult | None] | Exception) -> None:
        if isinstance(outcomes, Exception):
            for _, waiting in queued:
                if not waiting.done():
                    waiting.set_exception(outcomes)
            return
        for (_, waiting), written in zip(queued, outcomes, strict=True):
            if waiting.done():
                # The waiter was cancelled.
                continue
            if written is None:
                waiting.set_exception(LogClosed())
            else:
                waiting.set_result(written)


class Heartbeat:
    """Lease renewal and stop signals for all runs driven here, in one query."""

    def __init__(self, database: Database, driver: str, lock: asyncio.Lock) -> None:
        self._database = database
        self._driver = driver
        self._lock = lock
        self._watched: dict[str, _Stop] = {}
        self._beating: asyncio.Task[None] | None = None
        self._stopping: set[asyncio.Future[None]] = set()

    @contextmanager
    def watching(self, run_key: str, stop: _Stop) -> Generator[None]:
        """Keep the lease on a run; call ``stop`` once when the run must end or the lease is lost."""
        self._watched[run_key] = stop
        if self._beating is None or self._beating.done():
            self._beating = asyncio.create_task(self._beat())
        try:
            yield
        finally:
            self._watched.pop(run_key, None)

    async def _beat(self) -> None:
        renewed = time.monotonic()
        while self._watched:
            await asyncio.sleep(_HEARTBEAT_SECONDS)
            try:
                await self._look()
                if time.monotonic() - renewed > LEASE_SECONDS / 3:
                    await self._renew()
                    renewed = time.monotonic()
            except DatabaseUnavailable:
                continue
            except Exception:
                # Without the heartbeat running runs would count as lost.
                log.exception("runs.pulse_failed")

    async def _look(self) -> None:
        if not (watched := set(self._watched)):
            return
        async with self._database.reading() as session:
            active_keys = await _active_keys(session, self._driver)
        for run_key in watched - active_keys:
            # The current callback: preparation may have become driving by now.
            if (stop := self._watched.pop(run_key, None)) is not None:
                # In a task of its own: a run may take its time to stop.
                stopping = asyncio.ensure_future(stop())
                self._stopping.add(stopping)
                stopping.add_done_callback(self._stopping.discard)

    async def _renew(self) -> None:
        if not self._watched:
            return
        async with self._lock, unit_of_work(self._database) as work:
            await store.renew(work, list(self._watched), driver=self._driver, seconds=LEASE_SECONDS)


async def _active_keys(session: AsyncSession, driver: str) -> set[str]:
    """Keys of a driver's runs that may continue: active, not asked to stop, account enabled."""
    query = (
        select(AgentRun.id)
        .join(User, col(User.id) == col(AgentRun.owner_id))
        .where(
            AgentRun.lease_owner == driver,
            AgentRun.status == RunStatus.RUNNING.value,
            col(AgentRun.stop_requested_at).is_(None),
            User.status == UserStatus.ACTIVE.value,
        )
    )
    return set((await session.exec(query)).all())


class DriverContext:
    """State that all drivers of a process share; ``publish`` gets a run's key and committed entries."""

    def __init__(self, database: Database, name: str, publish: Callable[[str, Sequence[LogEntry]], None]) -> None:
        self.database = database
        self.name = name
        self.publish = publish
        self.log = EventWriter(database, name)
        self.heartbeat = Heartbeat(database, name, self.log.lock)


@dataclass(frozen=True)
class PreparedRun:
    """A run with its strategy, ready to be driven.

    Args:
        stored: Number of the task's effects in the database.
        logged: Earlier events of the run, if another process wrote them.
        before: Work of the task's earlier runs that is in none of their messages.
    """

    run: StartedRun
    strategy: StrategyRun
    stored: int = 0
    logged: tuple[WireEvent, ...] = ()
    before: Transcript = field(default_factory=Transcript)


class RunDriver:
    """Drives one run, new or recovered, to its end."""

    def __init__(self, context: DriverContext, prepared: PreparedRun) -> None:
        run = prepared.run
        self._context = context
        self._run = run
        self._strategy = prepared.strategy
        self._stored = prepared.stored
        self._left_over = prepared.logged
        self._mapper = AguiEncoder(run.thread_id, run.run_id, now=now_ms)
        self._transcript = Transcript()
        self._transcript.carry_over(prepared.before, is_told=False)
        self._is_handed_over = False
        self._dangling_ids: frozenset[str] = frozenset()
        for event in prepared.logged:
            self._transcript.observe(event)

    async def drive(self) -> None:
        """Run to the end, which is one terminal event in the log.

        If the log can't be written or was closed by others, the run just stops: whoever closed it wrote
        the terminal event, or recovery will after the lease has expired.
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
        """Stop driving without ending the run, for another process to recover it."""
        self._is_handed_over = True
        await self._strategy.stop()

    async def _release(self) -> None:
        try:
            # After a renewal in progress.
            async with self._context.log.lock, unit_of_work(self._context.database) as work:
                await store.release(work, self._run)
        except DatabaseUnavailable:
            # It is then recovered when its lease expires.
            log.warning("run.not_released", run_id=self._run.run_id)

    async def _write(self, batch: EventBatch) -> None:
        run = self._run
        last = batch.events[-1] if batch.is_last else None
        wire = [mapped for event in batch.events for mapped in self._mapper.translate(event)]
        if self._left_over:
            dangling = find_dangling(self._left_over, self._strategy.known_ids, now=now_ms)
            wire = [*await self._close_dangling(dangling), *wire]
            self._dangling_ids = dangling.ids
        if isinstance(last, Finished) and last.outcome == "interrupt":
            wire = [*wire[:-1], *await self._snapshots(wire), wire[-1]]
        for event in wire:
            self._transcript.observe(event)
        self._transcript.forget(self._dangling_ids)
        entries = await self._store(wire, batch)
        self._left_over, self._dangling_ids = (), frozenset()
        self._context.publish(run.key, entries)

    async def _store(self, wire: Sequence[WireEvent], batch: EventBatch) -> list[LogEntry]:
        run, last = self._run, batch.events[-1] if batch.is_last else None
        if not isinstance(last, Finished | Failed):
            addition = LogAddition(run.key, wire, batch.own_events)
            log_batch = LogBatch(addition, run.task_id, batch.effects, self._stored)
            written = await self._context.log.write(log_batch)
            self._stored = written.stored
            return written.entries
        ending = replace(self._ending(last), own_events=batch.own_events)
        async with unit_of_work(self._context.database) as work:
            entries = await finish.finish(work, run.key, wire, ending, driver=run.driver)
            # After the lease check: without the lease, the journal position may be taken.
            await journal_store.write(work.session, run.task_id, batch.effects, stored=self._stored)
        log.info("run.ended", run_id=run.run_id, status=ending.status)
        return entries

    async def _close_dangling(self, dangling: DanglingEvents) -> list[WireEvent]:
        """Events that end what the last driver left open, which subscribers must not keep."""
        if not dangling.ids:
            return dangling.closing
        fold = await self._fold([*self._left_over, *dangling.closing])
        fold.forget(dangling.ids)
        return [*dangling.closing, self._mapper.messages(fold.messages)]

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
