"""The runs of a process write their logs together: one transaction for all that waits.

A commit takes its time however little it holds, and SQLite takes one at a time. What other runs
want to write meanwhile waits and goes into the next one (group commit); what finds nobody writing
is written at once.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

from agents import event_log
from agents.event_log import LogAddition, LogClosed, LogEntry
from agents.journal import Effect
from agents.runs import journal_store
from core.db.database import Database
from core.db.unit_of_work import unit_of_work
from core.errors.server import DatabaseUnavailable

# More would make the others wait for too long a transaction.
_MOST_TOGETHER = 500


@dataclass(frozen=True, slots=True)
class LogBatch:
    """What a run wants written, all or nothing.

    Args:
        addition: to its log.
        task_id: whose journal.
        effects: what the journal learned.
        stored: how many effects are stored already.
    """

    addition: LogAddition
    task_id: str
    effects: Sequence[Effect] = ()
    stored: int = 0


@dataclass(frozen=True, slots=True)
class WriteResult:
    """What was committed: the entries in their places, and how many effects are stored now."""

    entries: list[LogEntry]
    stored: int


_Waiting = tuple[LogBatch, asyncio.Future[WriteResult]]


class EventWriter:
    """Writes for all runs that one process drives.

    Args:
        database: where the logs are.
        driver: the process's name in leases.

    Attributes:
        turn: Held while rows of several runs are written, so that no two transactions of the
            process wait for each other's rows.
    """

    def __init__(self, database: Database, driver: str) -> None:
        self.turn = asyncio.Lock()
        self._database = database
        self._driver = driver
        self._waiting: list[_Waiting] = []
        self._writing: asyncio.Task[None] | None = None

    async def write(self, batch: LogBatch) -> WriteResult:
        """Write a batch, with those of other runs that wait at the same time.

        Raises:
            LogClosed: the lease on this run does not hold; nothing of it was written.
            DatabaseUnavailable: whether anything was written is not known.
        """
        written: asyncio.Future[WriteResult] = asyncio.get_running_loop().create_future()
        self._waiting.append((batch, written))
        if self._writing is None or self._writing.done():
            self._writing = asyncio.create_task(self._write_waiting())
        return await written

    async def _write_waiting(self) -> None:
        while self._waiting:
            some = self._waiting[:_MOST_TOGETHER]
            del self._waiting[:_MOST_TOGETHER]
            async with self.turn:
                outcomes = await self._try(some)
                is_lost = isinstance(outcomes, DatabaseUnavailable)
                if isinstance(outcomes, Exception) and not is_lost and len(some) > 1:
                    # It may be the fault of one of them. Where the database was lost, they may be
                    # written already: a second time they would be doubled.
                    await self._write_each(some)
                    continue
            self._tell(some, outcomes)

    async def _write_each(self, some: Sequence[_Waiting]) -> None:
        for number, one in enumerate(some):
            outcomes = await self._try([one])
            if isinstance(outcomes, DatabaseUnavailable):
                # It would be so for the others too, only later.
                self._tell(some[number:], outcomes)
                return
            self._tell([one], outcomes)

    async def _try(self, some: Sequence[_Waiting]) -> list[WriteResult | None] | Exception:
        try:
            return await self._write([batch for batch, _ in some])
        # The edge of the runs: each of them hears of it where it waits.
        except Exception as error:  # noqa: BLE001
            return error

    async def _write(self, batches: Sequence[LogBatch]) -> list[WriteResult | None]:
        """In one transaction; None for those whose lease does not hold."""
        # Readers wait for every event of every run; beginnings and endings can wait for this.
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
                    stored = await journal_store.write(
                        work.session, batch.task_id, batch.effects, stored=stored
                    )
                written.append(WriteResult(entries, stored))
        return written

    def _tell(
        self, some: Sequence[_Waiting], outcomes: Sequence[WriteResult | None] | Exception
    ) -> None:
        if isinstance(outcomes, Exception):
            for _, waiting in some:
                if not waiting.done():
                    waiting.set_exception(outcomes)
            return
        for (_, waiting), written in zip(some, outcomes, strict=True):
            if waiting.done():
                # Nobody waits for it any more.
                continue
            if written is None:
                waiting.set_exception(LogClosed())
            else:
                waiting.set_result(written)
