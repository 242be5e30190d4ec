"""The memory of child processes, and its bound."""

import asyncio
import os
import signal
from asyncio.subprocess import Process
from contextlib import suppress

import psutil

_WATCH_SECONDS = 0.05


class ProcessMemory:
    """The memory of one process, whose look-up is cached: it costs more than a reading."""

    def __init__(self, pid: int | None) -> None:
        self._process: psutil.Process | None = None
        with suppress(psutil.Error):
            self._process = psutil.Process(pid) if pid is not None else None

    def resident(self) -> int:
        """Resident bytes, 0 if the process has ended."""
        try:
            return int(self._process.memory_info().rss) if self._process is not None else 0
        except psutil.Error:
            return 0


class ChildMemoryWatch:
    """Kills a child whose resident memory grows by more than a bound."""

    def __init__(self, process: Process, memory: ProcessMemory, bound: int) -> None:
        self._process = process
        self._memory = memory
        self._bound = bound
        self._base = memory.resident()
        self.highest = 0.0
        """The highest share of the bound so far."""

    async def run(self) -> None:
        """Check every twentieth of a second until the child has ended."""
        while self._process.returncode is None:
            share = (self._memory.resident() - self._base) / self._bound
            self.highest = max(self.highest, share)
            if share > 1:
                with suppress(ProcessLookupError):
                    os.killpg(self._process.pid, signal.SIGKILL)
            await asyncio.sleep(_WATCH_SECONDS)
