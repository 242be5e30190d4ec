"""What fetches a repository: a thread that blocks, and can be told to stop."""

import asyncio
from abc import abstractmethod
from collections.abc import Callable
from typing import Self, TypeVar

from anyio import to_thread

from ingestion.connectors.git.failures import FetchStopped, too_big, too_slow

_WHOLE_SECONDS = 3600.0
_ANSWERS_BYTES = 32 * 2**20
_Result = TypeVar("_Result")


class GitTransport:
    """Base of the ways to a server: a thread, which ends soon after the caller of ``run`` is cancelled, and its bounds."""

    def __init__(self) -> None:
        self.is_stopped = False
        self._limit = self._allowance = _ANSWERS_BYTES

    async def __aenter__(self) -> Self:
        await self.connect()
        return self

    async def __aexit__(self, *_: object) -> None:
        self._stop()
        await self.close()

    async def connect(self) -> None:
        """Make ready; raises ``SourceUnavailable``."""

    @abstractmethod
    async def close(self) -> None:
        """Give back what is open."""

    @abstractmethod
    def interrupt(self) -> None:
        """End what the thread waits for; called after ``is_stopped`` is set."""

    async def run(self, work: Callable[[], _Result]) -> _Result:
        """Run ``work`` on a thread and wait for its end, also when the caller is cancelled; that hastens it."""
        task = asyncio.ensure_future(to_thread.run_sync(work))
        try:
            async with asyncio.timeout(_WHOLE_SECONDS):
                return await asyncio.shield(task)
        except TimeoutError:
            raise too_slow(_WHOLE_SECONDS) from None
        finally:
            if not task.done():
                self._stop()
                await asyncio.wait({task})
                # Nobody else asks for it.
                task.exception()

    def allow(self, size: int) -> None:
        """Take up to so many bytes more, in a thread that knows now that it fetches."""
        self._limit = self._allowance = size

    def count(self, size: int) -> None:
        """In a thread: count what has come; raises ``SourceUnavailable`` beyond what is allowed."""
        self._allowance -= size
        if self._allowance < 0:
            raise too_big(self._limit)

    def check(self) -> None:
        """In a thread: raise ``FetchStopped`` once its caller is gone."""
        if self.is_stopped:
            raise FetchStopped

    def _stop(self) -> None:
        self.is_stopped = True
        self.interrupt()
