"""Threads beside the engine's own that do the units of patient jobs, as long as nothing urgent is
under way."""

import asyncio
import time
from collections import deque
from collections.abc import Callable, Generator, Iterable, Sequence
from concurrent.futures import Executor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from threading import Lock

from kb_service.embeddings.stepwise import WorkUnit
from kb_service.engine.fair_queue import FairQueue

JobSteps = Generator[Sequence[WorkUnit] | None, None, object]
"""Work that pauses wherever something more urgent may go first; its return value is the answer.

It yields None for a mere pause, or units that must be done before it goes on.
"""


@dataclass(eq=False)
class EngineJob:
    """Work that somebody waits for.

    Args:
        steps: the work.
        answer: what is waited for; it is done when nobody waits any more.
        account: whose share of the time it takes.
    """

    steps: JobSteps
    answer: asyncio.Future[object]
    account: str = ""
    units: deque[WorkUnit] = field(default_factory=deque[WorkUnit])
    busy_lanes: int = 0

    def fail(self, error: Exception) -> None:
        """Answer with an error, on the event loop."""
        if not self.answer.done():
            self.answer.set_exception(error)


class InteractiveLoad:
    """Whether something urgent is under way, and how long ago that was; any thread may ask.

    Args:
        rest: seconds after it until the lane that rests works again.
    """

    def __init__(self, rest: float) -> None:
        self._rest = rest
        self._open = 0
        self._last = -rest
        self._calm = asyncio.Event()
        self._calm.set()

    @property
    def is_calm(self) -> bool:
        """Whether nothing urgent is under way."""
        return not self._open

    @property
    def rest_left(self) -> float:
        """Seconds until the lane that rests may work; 0 or less when it may."""
        return self._last + self._rest - time.monotonic()

    def note(self) -> None:
        """Something urgent is done at this moment."""
        self._last = time.monotonic()

    @contextmanager
    def under_way(self) -> Generator[None]:
        """Something urgent is under way in this block."""
        self._open += 1
        self.note()
        self._calm.clear()
        try:
            yield
        finally:
            self._open -= 1
            if not self._open:
                self._calm.set()

    async def wait_out_rest(self) -> None:
        """Wait until the lane that rests may work."""
        while True:
            left = self.rest_left
            if left <= 0:
                return
            await asyncio.sleep(left)

    async def wait_until_calm(self, seconds: float) -> None:
        """Wait until nothing urgent is under way, but no longer than this."""
        if self.is_calm:
            return
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._calm.wait()


class EncodePool:
    """Do units, one of each job in turn, those of the account first that has had the least.

    A lane's thread goes from unit to unit by itself until there is none, or something urgent comes:
    to go through the event loop for each costs a tenth of what a unit of one passage takes.

    Args:
        threads: of the lanes, at least as many as ``width``.
        width: how many lanes there are.
        urgency: what they make room for. One lane of several rests for a while after it.
        patience: seconds that a lane waits before each unit while something urgent goes on.
        finished: called on the event loop with a job whose units are done.
    """

    def __init__(
        self,
        threads: Executor,
        width: int,
        urgency: InteractiveLoad,
        *,
        patience: float,
        finished: Callable[[EngineJob], None],
    ) -> None:
        self._threads = threads
        self._width = width
        self._urgency = urgency
        self._patience = patience
        self._finished = finished
        self._guard = Lock()
        self._waiting = FairQueue[EngineJob]()
        self._wake = asyncio.Event()
        self._busy = 0
        self._is_stopped = False

    @property
    def is_busy(self) -> bool:
        """Whether a lane is at work."""
        return self._busy > 0

    def add(self, job: EngineJob, units: Iterable[WorkUnit]) -> None:
        """Have units done for a job; called on the event loop."""
        with self._guard:
            job.units.extend(units)
            self._waiting.put(job)
        self._wake.set()

    async def work(self) -> None:
        """Serve the lanes until cancelled; a unit under way is done to its end."""
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(self._serve(rests=self._width > 1))
                for _ in range(self._width - 1):
                    group.create_task(self._serve(rests=False))
        finally:
            self._is_stopped = True

    async def _serve(self, *, rests: bool) -> None:
        loop = asyncio.get_running_loop()
        while True:
            if self._has_none():
                self._wake.clear()
                await self._wake.wait()
            if rests:
                await self._urgency.wait_out_rest()
            await self._urgency.wait_until_calm(self._patience)
            self._busy += 1
            try:
                await loop.run_in_executor(self._threads, self._do_units, loop, rests)
            finally:
                self._busy -= 1

    def _has_none(self) -> bool:
        with self._guard:
            return not self._waiting

    def _do_units(self, loop: asyncio.AbstractEventLoop, rests: bool) -> None:
        """Do one unit, and then others as long as this lane may; on its thread."""
        while taken := self._take():
            job, unit = taken
            started = time.monotonic()
            try:
                # Where nobody waits any more, the units are only dropped.
                if not job.answer.done():
                    unit()
            except Exception as error:  # noqa: BLE001 - a job's error is its caller's answer
                loop.call_soon_threadsafe(job.fail, error)
                self._put_down(job, loop, started, is_broken=True)
            else:
                self._put_down(job, loop, started)
            if self._is_stopped or not self._urgency.is_calm:
                return
            if rests and self._urgency.rest_left > 0:
                return

    def _take(self) -> tuple[EngineJob, WorkUnit] | None:
        with self._guard:
            if not self._waiting:
                return None
            job = self._waiting.take()
            unit = job.units.popleft()
            if job.units:
                self._waiting.put(job)
            job.busy_lanes += 1
        return job, unit

    def _put_down(
        self,
        job: EngineJob,
        loop: asyncio.AbstractEventLoop,
        started: float,
        *,
        is_broken: bool = False,
    ) -> None:
        with self._guard:
            self._waiting.charge(job.account, time.monotonic() - started)
            job.busy_lanes -= 1
            # Nobody waits for the others.
            if job.units and (is_broken or job.answer.done()):
                job.units.clear()
                self._waiting.remove(job)
            is_last = not job.units and not job.busy_lanes
        if is_last:
            loop.call_soon_threadsafe(self._finished, job)
