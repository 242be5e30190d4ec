"""Fair lock for the writers of one SQLite file, within and between processes.

SQLite allows one writer; the others sleep for up to a tenth of a second before they retry, in no
order. Here the writers of a process queue, and processes queue at two file locks: a process waits
for the second one while holding the first, so one with much to write can't overtake a waiting one.
The kernel releases both when a process dies.

The lock is a courtesy: SQLite itself ensures that there is one writer. If a stopped process holds
it, the others go on without it for a while.
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
# A look costs 50 µs, so the pause grows.
_PAUSE_SECONDS, _MAX_PAUSE_SECONDS = 0.001, 0.004
# Longer than any write, except of very many rows.
_PATIENCE_SECONDS = 0.5
# How long the file locks are skipped after a timeout.
_SKIP_SECONDS = 2.0


class WriteLock:
    """This process's part of the lock files beside the database at ``path``; None for one in memory."""

    def __init__(self, path: Path | None) -> None:
        self._local = PriorityLock()
        self._paths = () if path is None else tuple(map(path.with_name, _names(path)))
        self._descriptors: list[int] = []
        self._holds_files = False
        self._skip_files_until = 0.0

    @asynccontextmanager
    async def acquire(self, seconds: float, *, urgent: bool = False) -> AsyncGenerator[None]:
        """Hold the lock inside; waits ``seconds`` for other writers of this process, then raises ``TimeoutError``.

        ``OSError`` means that the lock files can't be opened.
        """
        async with asyncio.timeout(seconds):
            await self._lock_all(urgent)
        try:
            yield
        finally:
            self._unlock_all()

    def close(self) -> None:
        for descriptor in self._descriptors:
            os.close(descriptor)
        self._descriptors.clear()

    async def _lock_all(self, urgent: bool) -> None:
        await self._local.acquire(urgent=urgent)
        try:
            await self._lock_between_processes()
        except BaseException:
            self._local.release()
            raise

    async def _lock_between_processes(self) -> None:
        if not self._paths or time.monotonic() < self._skip_files_until:
            return
        if not self._descriptors:
            self._descriptors = self._open_files()
        try:
            async with asyncio.timeout(_PATIENCE_SECONDS):
                await self._lock_files(*self._descriptors)
        except TimeoutError:
            self._skip_files_until = time.monotonic() + _SKIP_SECONDS

    def _open_files(self) -> list[int]:
        queue, door = (partial(os.open, file, _FLAGS, 0o600) for file in self._paths)
        opened = queue()
        try:
            return [opened, door()]
        except OSError:
            os.close(opened)
            raise

    async def _lock_files(self, queue: int, door: int) -> None:
        await _lock(queue)
        try:
            await _lock(door)
        finally:
            fcntl.flock(queue, fcntl.LOCK_UN)
        self._holds_files = True

    def _unlock_all(self) -> None:
        if self._holds_files:
            self._holds_files = False
            fcntl.flock(self._descriptors[1], fcntl.LOCK_UN)
        self._local.release()


def _names(path: Path) -> tuple[str, str]:
    return f"{path.name}-queue", f"{path.name}-turn"


async def _lock(descriptor: int) -> None:
    pause = _PAUSE_SECONDS
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            await asyncio.sleep(pause)
            pause = min(1.3 * pause, _MAX_PAUSE_SECONDS)
        else:
            return
