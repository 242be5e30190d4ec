"""Drives one run: reads its strategy, writes the log, keeps the lease, ends it."""

import asyncio
import time
from collections.abc import Callable
from contextlib import aclosing
from dataclasses import dataclass

from agents import event_log
from agents.agui.outgoing import EventMapper
from agents.agui.transcript import Transcript
from agents.event_log import LogClosed
from agents.events import Failed, Finished, RunEvent
from agents.runs import endings, store
from agents.runs.clock import now_ms
from agents.runs.endings import Ending
from agents.runs.store import BegunRun
from agents.strategies import StrategyRun
from agents.tables import RunStatus
from core.database.engine import Database
from core.database.unit_of_work import unit_of_work
from core.errors import DatabaseUnavailable
from core.logging import get_logger

log = get_logger(__name__)

LEASE_SECONDS = 15
_PULSE_SECONDS = 0.5


@dataclass(frozen=True)
class DriverContext:
    """What all drivers of a process share.

    Args:
        database: where the log is.
        name: this process's name in leases.
        announce: called with a run's key after its log grew.
    """

    database: Database
    name: str
    announce: Callable[[str], None]


class RunDriver:
    """One run from its first event to its last.

    Args:
        context: shared by the process.
        run: the begun run.
        strategy: not started yet.
        model: name of the model, for the messages' metadata.
    """

    def __init__(
        self, context: DriverContext, run: BegunRun, strategy: StrategyRun, *, model: str
    ) -> None:
        self._context = context
        self._run = run
        self._strategy = strategy
        self._model = model
        self._mapper = EventMapper(run.thread_id, run.run_id, now=now_ms)
        self._transcript = Transcript()

    async def drive(self) -> None:
        """Run to the end, which is one terminal event in the log.

        When the log can't be written or is closed by others the run just stops: whoever closed
        it wrote the terminal event, or the end of the lease will have it written.
        """
        ended = asyncio.Event()
        pulse = asyncio.create_task(self._keep_lease(ended))
        try:
            async with aclosing(self._strategy.batches()) as batches:
                async for batch in batches:
                    await self._write(batch)
        except (DatabaseUnavailable, LogClosed) as error:
            log.warning("run.abandoned", run_id=self._run.run_id, why=type(error).__name__)
        finally:
            # Not cancelled: that could tear a connection out of its transaction.
            ended.set()
            await asyncio.wait({pulse})

    async def stop(self) -> None:
        """Stop the strategy; the log then ends in ``RUN_FINISHED`` with outcome ``cancelled``."""
        await self._strategy.stop()

    async def _write(self, batch: list[RunEvent]) -> None:
        wire = [mapped for event in batch for mapped in self._mapper.translate(event)]
        for event in wire:
            self._transcript.observe(event)
        run = self._run
        async with unit_of_work(self._context.database) as work:
            match batch[-1]:
                case Finished() | Failed() as last:
                    ending = self._ending(last)
                    await endings.end(work, run.key, wire, ending, driver=run.driver)
                    log.info("run.ended", run_id=run.run_id, status=ending.status)
                case _:
                    await event_log.append(work.session, run.key, wire, driver=run.driver)
        self._context.announce(run.key)

    def _ending(self, last: Finished | Failed) -> Ending:
        status = RunStatus.FAILED
        if isinstance(last, Finished):
            cancelled = last.outcome == "cancelled"
            status = RunStatus.CANCELLED if cancelled else RunStatus.COMPLETED
        return Ending(status, last.usage, self._transcript, self._model)

    async def _keep_lease(self, ended: asyncio.Event) -> None:
        renewed = time.monotonic()
        while not await _is_set_within(ended, _PULSE_SECONDS):
            try:
                async with self._context.database.reading() as session:
                    must_end = await store.must_end(session, self._run)
                if must_end:
                    await self._strategy.stop()
                    return
                if time.monotonic() - renewed > LEASE_SECONDS / 3:
                    async with unit_of_work(self._context.database) as work:
                        await store.renew(work, self._run, seconds=LEASE_SECONDS)
                    renewed = time.monotonic()
            except DatabaseUnavailable:
                continue
            except Exception:
                # Without the pulse the run would be taken for lost while it goes on.
                log.exception("run.pulse_failed", run_id=self._run.run_id)


async def _is_set_within(event: asyncio.Event, seconds: float) -> bool:
    try:
        async with asyncio.timeout(seconds):
            return await event.wait()
    except TimeoutError:
        return False
