"""Who goes first: one thread owns the shards, lanes beside it encode passages."""

import asyncio
import time
from collections import deque
from collections.abc import Generator, Sequence
from concurrent.futures import Executor
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass

from kb_service.embeddings.stepwise import WorkUnit
from kb_service.engine.encode_pool import EncodePool, EngineJob, InteractiveLoad, JobSteps
from kb_service.engine.fair_queue import FairQueue

_PATIENCE_SECONDS = 0.02
_REST_SECONDS = 1.0
# Where many search without end, documents still get on: by a step, of some milliseconds most often,
# ten times a second, and by a tenth of the time where a model's steps are long.
_LONGEST_PASSED_OVER_SECONDS = 0.1
_URGENT_SHARE = 9


class Scheduler:
    """Queues in front of one thread, and of the lanes that take the units of patient jobs.

    An urgent job runs on the thread to its end, its units too, and a brief one on the event loop
    where nothing else is under way; meanwhile no lane starts another unit, for a while, so that it
    need not share the processor. Where there are several lanes, one of them rests until no urgent
    job has come for some time: a unit under way can't be interrupted, so that who asks, and all
    that serves them, finds a processor free only if it was left free. The others take turns, one
    step or one unit each, so that neither a question nor a small document waits for a large one. A
    job whose caller is gone is dropped at its next step. Where urgent jobs queue without end, a step
    of a patient one is done between them now and then.

    Args:
        thread: runs every step; must have exactly one thread.
        lanes: runs units, as many at a time as it has threads.
        width: how many threads those are.
        patience: seconds that a lane waits before each unit while something urgent goes on: longer
            than a question takes, short enough that where there is always one, units still run.
        rest: seconds without an urgent job after which all lanes work again: longer than the pauses
            of people who search at the same time, short enough that a search now and then costs
            documents nothing that anybody would notice.
    """

    def __init__(
        self,
        thread: Executor,
        lanes: Executor,
        width: int,
        *,
        patience: float = _PATIENCE_SECONDS,
        rest: float = _REST_SECONDS,
    ) -> None:
        self._thread = thread
        self._urgency = InteractiveLoad(rest)
        self._lanes = EncodePool(
            lanes, width, self._urgency, patience=patience, finished=self._queue_again
        )
        self._urgent: deque[EngineJob] = deque()
        self._patient = FairQueue[EngineJob]()
        self._open = 0
        self._wake = asyncio.Event()
        self._is_stepping = False
        self._last_work = time.monotonic()

    @property
    def waiting(self) -> int:
        """Jobs in the queues and under way."""
        return self._open

    @property
    def idle_seconds(self) -> float:
        """How long there has been nothing to do; 0 while there is."""
        return 0.0 if self.waiting else time.monotonic() - self._last_work

    async def run(
        self, steps: JobSteps, *, interactive: bool, inline_ok: bool = False, account: str = ""
    ) -> object:
        """Queue a job and wait for its value; cancelling the caller takes it back.

        Args:
            steps: the job.
            interactive: before those that are not, and as a whole.
            inline_ok: an urgent job that takes some milliseconds. Where nothing else is under way it is
                done at once on the event loop: to wake the thread, and to be woken by it, takes a
                tenth of such a job.
            account: on whose account it is done, where it is not interactive: see ``FairQueue``.
        """
        if interactive and inline_ok and not (self._is_stepping or self._lanes.is_busy):
            return self._do_at_once(steps)
        job = EngineJob(steps, asyncio.get_running_loop().create_future(), account)
        if interactive:
            self._urgent.append(job)
        else:
            self._patient.put(job)
        self._wake.set()
        self._open += 1
        try:
            with self._urgency.under_way() if interactive else nullcontext():
                return await job.answer
        finally:
            self._open -= 1
            self._last_work = time.monotonic()

    def _do_at_once(self, steps: JobSteps) -> object:
        # The event loop does nothing else meanwhile, so that the thread stays idle, and the shards
        # have one owner.
        self._urgency.note()
        try:
            return _step(steps, True).value
        finally:
            self._last_work = time.monotonic()

    @contextmanager
    def _step_under_way(self) -> Generator[None]:
        self._is_stepping = True
        try:
            yield
        finally:
            self._is_stepping = False

    async def work(self) -> None:
        """Serve the queues until cancelled."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._serve_thread())
            group.create_task(self._lanes.work())

    async def _serve_thread(self) -> None:
        served, lasted = time.monotonic(), 0.0
        while True:
            if not self._patient:
                served = time.monotonic()
            longest = max(_LONGEST_PASSED_OVER_SECONDS, _URGENT_SHARE * lasted)
            is_starving = time.monotonic() - served > longest
            if self._urgent and not is_starving:
                await self._advance(self._urgent.popleft(), whole=True)
            elif self._patient:
                begun = time.monotonic()
                await self._advance(self._patient.take(), whole=False)
                served = time.monotonic()
                lasted = served - begun
            else:
                self._wake.clear()
                await self._wake.wait()

    async def _advance(self, job: EngineJob, *, whole: bool) -> None:
        if job.answer.done():
            job.steps.close()
            return
        loop = asyncio.get_running_loop()
        started = time.monotonic()
        try:
            with self._step_under_way():
                step = await loop.run_in_executor(self._thread, _step, job.steps, whole)
        # A process edge: whatever a job raises is its caller's answer, never the loop's end.
        except Exception as error:  # noqa: BLE001
            job.fail(error)
            return
        finally:
            if not whole:
                self._patient.charge(job.account, time.monotonic() - started)
        if step.units:
            self._lanes.add(job, step.units)
        elif not step.is_last:
            self._queue_again(job)
        elif not job.answer.done():
            job.answer.set_result(step.value)

    def _queue_again(self, job: EngineJob) -> None:
        self._patient.put(job)
        self._wake.set()


@dataclass(frozen=True)
class _Step:
    """How a step ended: with units to be done, or for good with the job's value."""

    units: Sequence[WorkUnit] = ()
    is_last: bool = False
    value: object = None


def _step(steps: JobSteps, whole: bool) -> _Step:
    """One step, or all of them; a generator's end can't pass through a future as such."""
    try:
        units = next(steps)
        while whole:
            for unit in units or ():
                unit()
            units = next(steps)
    except StopIteration as stop:
        return _Step(is_last=True, value=stop.value)
    return _Step(units or ())
