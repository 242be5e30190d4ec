"""The writers of one SQLite file take turns, in this process and between processes.

SQLite lets one write at a time, and lets the others sleep for up to a tenth of a second before
they look again, in no order. Here those of a process queue, and processes take turns at two file
locks: who waits for the second one holds the first, so that a process with much to write can't
pass one that waits. The kernel frees both when a process dies.

Turns are a courtesy: SQLite itself sees to it that there is one writer. Where a process holds a
lock and does not move, because somebody has stopped it, the others go on without turns.
"""

import asyncio
import fcntl
import os
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

from core.db.priority_lock import PriorityLock

_FLAGS = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC
# To look costs 50 µs: who has waited for long looks less often.
_LOOK_SECONDS, _MOST_LOOK_SECONDS = 0.001, 0.004
# Longer than any write takes that is not of very many rows.
_PATIENCE_SECONDS = 0.5
# How long turns are not waited for after they have stood still once.
_WITHOUT_SECONDS = 2.0


class WriteLock:
    """Turns of this process at a database file.

    Args:
        path: the file; its locks lie beside it. None for one that no other process has.
    """

    def __init__(self, path: Path | None) -> None:
        self._mine = PriorityLock()
        self._files = () if path is None else tuple(map(path.with_name, _names(path)))
        self._open: list[int] = []
        self._holds_files = False
        self._without_until = 0.0

    @asynccontextmanager
    async def taken(self, seconds: float, *, urgent: bool = False) -> AsyncGenerator[None]:
        """Hold the turn.

        Args:
            seconds: how long to wait for others of this process.
            urgent: whether every second turn of this process is for those like this one.

        Raises:
            TimeoutError: it did not come in this time.
            OSError: the locks can't be opened.
        """
        async with asyncio.timeout(seconds):
            await self._enter(urgent)
        try:
            yield
        finally:
            self._leave()

    def close(self) -> None:
        """Give up the lock files."""
        for descriptor in self._open:
            os.close(descriptor)
        self._open.clear()

    async def _enter(self, urgent: bool) -> None:
        await self._mine.acquire(urgent=urgent)
        try:
            await self._enter_files()
        except BaseException:
            self._mine.release()
            raise

    async def _enter_files(self) -> None:
        if not self._files or time.monotonic() < self._without_until:
            return
        if not self._open:
            self._open = self._opened()
        try:
            async with asyncio.timeout(_PATIENCE_SECONDS):
                await self._enter_door(*self._open)
        except TimeoutError:
            self._without_until = time.monotonic() + _WITHOUT_SECONDS

    def _opened(self) -> list[int]:
        queue, door = (partial(os.open, file, _FLAGS, 0o600) for file in self._files)
        opened = queue()
        try:
            return [opened, door()]
        except OSError:
            os.close(opened)
            raise

    async def _enter_door(self, queue: int, door: int) -> None:
        await _lock(queue)
        try:
            await _lock(door)
        finally:
            fcntl.flock(queue, fcntl.LOCK_UN)
        self._holds_files = True

    def _leave(self) -> None:
        if self._holds_files:
            self._holds_files = False
            fcntl.flock(self._open[1], fcntl.LOCK_UN)
        self._mine.release()


def _names(path: Path) -> tuple[str, str]:
    return f"{path.name}-queue", f"{path.name}-turn"


async def _lock(descriptor: int) -> None:
    pause = _LOOK_SECONDS
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            await asyncio.sleep(pause)
            pause = min(1.3 * pause, _MOST_LOOK_SECONDS)
        else:
            return
