"""Work for the one thread that owns encoder and shard: questions first, ingestion in slices."""

import asyncio
import time
from collections import deque
from collections.abc import Generator
from concurrent.futures import Executor
from contextlib import suppress
from dataclasses import dataclass

# Work that pauses wherever something more urgent may go first; its return value is the answer.
Steps = Generator[None, None, object]

# A search asks twice: its question's vector, then the passages near it. Long enough for the way
# between, short against the step of about 25 ms that it would wait for otherwise.
_FOLLOW_UP_SECONDS = 0.005


@dataclass(frozen=True, eq=False)
class _Job:
    steps: Steps
    answer: asyncio.Future[object]


class Schedule:
    """Two queues in front of one thread.

    An urgent job runs to its end, and so does the one that follows it at once, as the second half
    of a search does. The others take turns, one step each, so that neither a question nor a small
    document waits for a large one. A job whose caller is gone is dropped at its next step.

    Args:
        thread: Runs every step; must have exactly one thread.
    """

    def __init__(self, thread: Executor) -> None:
        self._thread = thread
        self._urgent: deque[_Job] = deque()
        self._patient: deque[_Job] = deque()
        self._under_way = 0
        self._wake = asyncio.Event()
        self._urgent_came = asyncio.Event()
        self._last_work = time.monotonic()

    @property
    def waiting(self) -> int:
        """Jobs in the queues and under way."""
        return len(self._urgent) + len(self._patient) + self._under_way

    @property
    def idle_seconds(self) -> float:
        """How long there has been nothing to do; 0 while there is."""
        return 0.0 if self.waiting else time.monotonic() - self._last_work

    async def run(self, steps: Steps, *, urgent: bool) -> object:
        """Queue a job and wait for its value; cancelling the caller takes it back."""
        job = _Job(steps, asyncio.get_running_loop().create_future())
        (self._urgent if urgent else self._patient).append(job)
        if urgent:
            self._urgent_came.set()
        self._wake.set()
        return await job.answer

    async def work(self) -> None:
        """Serve the queues until cancelled."""
        while True:
            if self._urgent:
                await self._advance(self._urgent.popleft(), whole=True)
                if self._patient and await self._is_followed():
                    await self._advance(self._urgent.popleft(), whole=True)
            elif self._patient:
                await self._advance(self._patient.popleft(), whole=False)
            else:
                self._wake.clear()
                await self._wake.wait()

    async def _is_followed(self) -> bool:
        """Whether an urgent job waits, or comes in a moment."""
        if not self._urgent:
            self._urgent_came.clear()
            with suppress(TimeoutError):
                async with asyncio.timeout(_FOLLOW_UP_SECONDS):
                    await self._urgent_came.wait()
        return bool(self._urgent)

    async def _advance(self, job: _Job, *, whole: bool) -> None:
        if job.answer.cancelled():
            job.steps.close()
            return
        loop = asyncio.get_running_loop()
        self._under_way = 1
        try:
            done, value = await loop.run_in_executor(self._thread, _step, job.steps, whole)
        # A process edge: whatever a job raises is its caller's answer, never the loop's end.
        except Exception as error:  # noqa: BLE001
            with suppress(asyncio.InvalidStateError):
                job.answer.set_exception(error)
            return
        finally:
            self._under_way = 0
            self._last_work = time.monotonic()
        if not done:
            self._patient.append(job)
        elif not job.answer.cancelled():
            job.answer.set_result(value)


def _step(steps: Steps, whole: bool) -> tuple[bool, object]:
    """One step, or all of them; a generator's end can't pass through a future as such."""
    try:
        next(steps)
        while whole:
            next(steps)
    except StopIteration as stop:
        return True, stop.value
    return False, None
