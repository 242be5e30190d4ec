"""Scheduling of engine jobs: one thread owns the shards, lanes beside it encode passages."""

import asyncio
import time
from collections import deque
from collections.abc import Callable, Generator, Iterable, Sequence
from concurrent.futures import Executor
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass, field
from threading import Lock
from typing import Generic, Protocol, TypeVar

from kb_service.embeddings.stepwise import WorkUnit

JobSteps = Generator[Sequence[WorkUnit] | None, None, object]
"""Work that pauses wherever something more urgent may go first; its return value is the answer.

It yields None for a mere pause, or units that must be done before it goes on.
"""


@dataclass(eq=False)
class EngineJob:
    """A job with a waiting caller; ``answer`` is done early when its caller has gone."""

    steps: JobSteps
    answer: asyncio.Future[object]
    account: str = ""
    units: deque[WorkUnit] = field(default_factory=deque[WorkUnit])
    busy_lanes: int = 0

    def fail(self, error: Exception) -> None:
        if not self.answer.done():
            self.answer.set_exception(error)


class InteractiveLoad:
    """Tracks urgent work, from any thread; the resting lane works again ``rest`` seconds after it."""

    def __init__(self, rest: float) -> None:
        self._rest = rest
        self._open = 0
        self._last = -rest
        self._calm = asyncio.Event()
        self._calm.set()

    @property
    def is_calm(self) -> bool:
        return not self._open

    @property
    def rest_left(self) -> float:
        """Seconds until the resting lane may work; 0 or less when it may."""
        return self._last + self._rest - time.monotonic()

    def touch(self) -> None:
        self._last = time.monotonic()

    @contextmanager
    def under_way(self) -> Generator[None]:
        """Mark urgent work in progress in this block."""
        self._open += 1
        self.touch()
        self._calm.clear()
        try:
            yield
        finally:
            self._open -= 1
            if not self._open:
                self._calm.set()

    async def wait_out_rest(self) -> None:
        while True:
            left = self.rest_left
            if left <= 0:
                return
            await asyncio.sleep(left)

    async def wait_until_calm(self, seconds: float) -> None:
        """Wait until no urgent work is in progress, at most so many seconds."""
        if self.is_calm:
            return
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._calm.wait()


class EncodePool:
    """Runs units of jobs, one job after the other, the account with the least time first.

    A lane's thread goes from unit to unit by itself until there is none or something urgent comes: the event loop
    would add a tenth of the time that a unit of one passage takes.

    Args:
        threads: of the lanes, at least as many as ``width``.
        urgency: work that the lanes yield to; one lane of several rests for a while after it.
        patience: seconds that a lane waits before each unit during urgent work.
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
        self._interactive_load = urgency
        self._patience = patience
        self._finished = finished
        self._guard = Lock()
        self._waiting = FairQueue[EngineJob]()
        self._wake = asyncio.Event()
        self._busy = 0
        self._is_stopped = False

    @property
    def is_busy(self) -> bool:
        return self._busy > 0

    def add(self, job: EngineJob, units: Iterable[WorkUnit]) -> None:
        """Add a job's units; called on the event loop."""
        with self._guard:
            job.units.extend(units)
            self._waiting.put(job)
        self._wake.set()

    async def work(self) -> None:
        """Serve the lanes until cancelled; a unit in progress is completed."""
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
                await self._interactive_load.wait_out_rest()
            await self._interactive_load.wait_until_calm(self._patience)
            self._busy += 1
            try:
                await loop.run_in_executor(self._threads, self._do_units, loop, rests)
            finally:
                self._busy -= 1

    def _has_none(self) -> bool:
        with self._guard:
            return not self._waiting

    def _do_units(self, loop: asyncio.AbstractEventLoop, rests: bool) -> None:
        while next_unit := self._next_unit():
            job, unit = next_unit
            started = time.monotonic()
            try:
                # Without a waiting caller, the units are only dropped.
                if not job.answer.done():
                    unit()
            except Exception as error:  # noqa: BLE001 - a job's error is its caller's answer
                loop.call_soon_threadsafe(job.fail, error)
                self._finish_unit(job, loop, started, is_broken=True)
            else:
                self._finish_unit(job, loop, started)
            if self._is_stopped or not self._interactive_load.is_calm:
                return
            if rests and self._interactive_load.rest_left > 0:
                return

    def _next_unit(self) -> tuple[EngineJob, WorkUnit] | None:
        with self._guard:
            if not self._waiting:
                return None
            job = self._waiting.take()
            unit = job.units.popleft()
            if job.units:
                self._waiting.put(job)
            job.busy_lanes += 1
        return job, unit

    def _finish_unit(
        self, job: EngineJob, loop: asyncio.AbstractEventLoop, started: float, *, is_broken: bool = False
    ) -> None:
        with self._guard:
            self._waiting.charge(job.account, time.monotonic() - started)
            job.busy_lanes -= 1
            # The other units have no caller any more.
            if job.units and (is_broken or job.answer.done()):
                job.units.clear()
                self._waiting.remove(job)
            is_last = not job.units and not job.busy_lanes
        if is_last:
            loop.call_soon_threadsafe(self._finished, job)


_CREDIT_SECONDS = 1.0
_MOST_REMEMBERED = 1_000


class Accounted(Protocol):
    """Work that counts for an account."""

    @property
    def account(self) -> str:
        """The account; work without a name shares the empty account."""
        ...


_Work = TypeVar("_Work", bound=Accounted)


class FairQueue(Generic[_Work]):
    """A queue by account; accounts that always have work get equal shares of the time.

    An account that was idle starts with a small credit and is served first until it is used up: a single document need
    not share with hundreds of another owner's. (Start-time fair queueing, P. Goyal et al., 1996, with a credit.) First
    in, first out within an account. Not thread-safe.

    Args:
        credit: seconds that a new account is ahead.
    """

    def __init__(self, credit: float = _CREDIT_SECONDS) -> None:
        self._credit = credit
        self._waiting: dict[str, deque[_Work]] = {}
        self._used: dict[str, float] = {}
        # Time used by the account now served; only grows.
        self._level = 0.0

    def __bool__(self) -> bool:
        return bool(self._waiting)

    def put(self, work: _Work) -> None:
        account = work.account
        if account not in self._waiting:
            used = self._used.get(account, 0.0)
            self._used[account] = max(used, self._level - self._credit)
            self._waiting[account] = deque()
            self._forget()
        self._waiting[account].append(work)

    def take(self) -> _Work:
        """Remove and return the next work; ValueError when empty."""
        account = min(self._waiting, key=self._used.__getitem__)
        self._level = max(self._level, self._used[account])
        work = self._waiting[account].popleft()
        self._leave(account)
        return work

    def remove(self, work: _Work) -> None:
        self._waiting[work.account].remove(work)
        self._leave(work.account)

    def charge(self, account: str, seconds: float) -> None:
        """Add to the time that an account has used."""
        self._used[account] = self._used.get(account, 0.0) + seconds

    def _leave(self, account: str) -> None:
        if not self._waiting[account]:
            del self._waiting[account]

    def _forget(self) -> None:
        """Drop the accounts with the least time used: on return they are nearly like new ones."""
        if len(self._used) <= _MOST_REMEMBERED:
            return
        recent = sorted(self._used, key=self._used.__getitem__)[-_MOST_REMEMBERED // 2 :]
        self._used = {account: self._used[account] for account in {*recent, *self._waiting}}


_PATIENCE_SECONDS = 0.02
_REST_SECONDS = 1.0
# Under constant searches documents still progress: ten steps a second, or a tenth of the time where steps are long.
_LONGEST_PASSED_OVER_SECONDS = 0.1
_INTERACTIVE_SHARE = 9


class Scheduler:
    """Queues in front of one thread, and of the lanes that run the units of patient jobs.

    An urgent job, its units included, runs on the thread to its end; a brief one runs on the event loop where nothing
    else is in progress. Meanwhile, and for a while after, no lane starts a unit. One of several lanes rests until no
    urgent job has come for some time: a unit can't be interrupted, so a question finds a free processor only if one
    was left free. Patient jobs alternate by step or unit, so that neither a question nor a small document waits for a
    large one. A job whose caller is gone is dropped at its next step. Under an endless queue of urgent jobs, patient
    ones still get a step now and then.

    Args:
        thread: runs every step; must have exactly one thread.
        lanes: runs as many units at a time as it has threads.
        patience: seconds that a lane waits before each unit during urgent work: longer than a question takes, short
            enough that units still run under constant load.
        rest: seconds without an urgent job after which all lanes work again: longer than the pauses of concurrent
            searchers, short enough that occasional searches don't slow indexing noticeably.
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
        self._interactive_load = InteractiveLoad(rest)
        self._lanes = EncodePool(lanes, width, self._interactive_load, patience=patience, finished=self._queue_again)
        self._interactive: deque[EngineJob] = deque()
        self._patient = FairQueue[EngineJob]()
        self._open = 0
        self._wake = asyncio.Event()
        self._is_stepping = False
        self._last_work = time.monotonic()

    @property
    def waiting(self) -> int:
        return self._open

    @property
    def idle_seconds(self) -> float:
        """Seconds without work; 0 while there is any."""
        return 0.0 if self.waiting else time.monotonic() - self._last_work

    async def run(self, steps: JobSteps, *, interactive: bool, inline_ok: bool = False, account: str = "") -> object:
        """Queue a job and wait for its value; cancelling the caller withdraws it.

        Args:
            interactive: run before patient jobs, and in one go.
            inline_ok: an urgent job of some milliseconds, run on the event loop when idle: waking the thread and being
                woken by it takes a tenth of such a job.
            account: see ``FairQueue``; of patient jobs only.
        """
        if interactive and inline_ok and not (self._is_stepping or self._lanes.is_busy):
            return self._do_at_once(steps)
        job = EngineJob(steps, asyncio.get_running_loop().create_future(), account)
        if interactive:
            self._interactive.append(job)
        else:
            self._patient.put(job)
        self._wake.set()
        self._open += 1
        try:
            with self._interactive_load.under_way() if interactive else nullcontext():
                return await job.answer
        finally:
            self._open -= 1
            self._last_work = time.monotonic()

    def _do_at_once(self, steps: JobSteps) -> object:
        # This blocks the event loop, so the thread stays idle and the shards have one owner.
        self._interactive_load.touch()
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
        async with asyncio.TaskGroup() as group:
            group.create_task(self._serve_thread())
            group.create_task(self._lanes.work())

    async def _serve_thread(self) -> None:
        served, lasted = time.monotonic(), 0.0
        while True:
            if not self._patient:
                served = time.monotonic()
            longest = max(_LONGEST_PASSED_OVER_SECONDS, _INTERACTIVE_SHARE * lasted)
            is_starving = time.monotonic() - served > longest
            if self._interactive and not is_starving:
                await self._advance(self._interactive.popleft(), whole=True)
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
    """The end of a step: units to run, or the job's value."""

    units: Sequence[WorkUnit] = ()
    is_last: bool = False
    value: object = None


def _step(steps: JobSteps, whole: bool) -> _Step:
    """Run one step, or all of them; StopIteration can't pass through a future."""
    try:
        units = next(steps)
        while whole:
            for unit in units or ():
                unit()
            units = next(steps)
    except StopIteration as stop:
        return _Step(is_last=True, value=stop.value)
    return _Step(units or ())
