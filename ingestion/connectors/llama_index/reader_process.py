"""The worker's side of a reader: a child process that is killed when it takes too long or too much memory."""

import asyncio
import json
import os
import signal
import sys
import tempfile
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import psutil

from ingestion.connectors.base import SourceUnavailable
from ingestion.connectors.llama_index import child, failures
from ingestion.connectors.llama_index.child import LENGTH, MOST_HEADER_BYTES
from ingestion.connectors.llama_index.wire import Header, ReaderRequest

_PROGRAM = Path(child.__file__)
_WATCH_SECONDS = 0.1
_PIPE_BYTES = 2**20


class ReaderProcess:
    """A child that runs one reader.

    Args:
        process: just started.
        memory_bytes: that it and its own children may hold.
    """

    def __init__(self, process: Process, memory_bytes: int) -> None:
        self._process = process
        self._memory_bytes = memory_bytes
        self.is_too_large = False

    async def headers(self, request: ReaderRequest) -> AsyncGenerator[tuple[Header, bytes]]:
        """What the child says, with the texts of documents; raises ``SourceUnavailable`` if it ends before its time."""
        stdin, stdout = self._process.stdin, self._process.stdout
        if stdin is None or stdout is None:
            raise AssertionError("unreachable")
        watch = asyncio.create_task(self._watch())
        try:
            stdin.write(json.dumps(request).encode())
            await stdin.drain()
            stdin.close()
            while True:
                (length,) = LENGTH.unpack(await stdout.readexactly(LENGTH.size))
                if length > MOST_HEADER_BYTES:
                    raise SourceUnavailable(failures.CRASHED)
                header: Header = json.loads(await stdout.readexactly(length))
                if header["kind"] == "end":
                    return
                if header["kind"] == "failure":
                    raise SourceUnavailable(failures.reader_failure(header))
                size = min(header["size"], request["most_bytes"]) if header["kind"] == "document" else 0
                yield header, await stdout.readexactly(size)
        except (asyncio.IncompleteReadError, ConnectionError, ValueError):
            failure = failures.MEMORY if self.is_too_large else failures.CRASHED
            raise SourceUnavailable(failure) from None
        finally:
            watch.cancel()

    async def _watch(self) -> None:
        """Kill the child when it holds too much memory."""
        while self._process.returncode is None:
            if await asyncio.to_thread(_resident, self._process.pid) > self._memory_bytes:
                self.is_too_large = True
                kill(self._process)
            await asyncio.sleep(_WATCH_SECONDS)


@asynccontextmanager
async def reader_process(memory_bytes: int) -> AsyncGenerator[ReaderProcess]:
    """A child for one reader, in a folder of its own; at the end of the block it is gone, and so is what it left."""
    with tempfile.TemporaryDirectory(prefix="agentex-reader-", ignore_cleanup_errors=True) as folder:
        process = await _start(folder)
        try:
            yield ReaderProcess(process, memory_bytes)
        finally:
            kill(process)
            # Shielded: a child that nobody waits for stays in the system's table.
            await asyncio.shield(_reap(process))


def kill(process: Process) -> None:
    """Kill the child, and what it has started."""
    if process.returncode is None:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)


async def _start(folder: str) -> Process:
    """A new child in its own process group, without this process's environment and home."""
    root = str(Path(__file__).parents[3])
    environment = {
        "PYTHONPATH": os.pathsep.join(filter(None, [*sys.path, root])),
        "PATH": os.defpath,
        "LC_ALL": "C.UTF-8",
        "HOME": folder,
        "TMPDIR": folder,
    }
    return await asyncio.create_subprocess_exec(
        sys.executable,
        *("-B", "-P", str(_PROGRAM)),
        stdin=PIPE,
        stdout=PIPE,
        env=environment,
        cwd=folder,
        start_new_session=True,
        limit=_PIPE_BYTES,
    )


async def _reap(process: Process) -> None:
    if process.stdin is not None:
        process.stdin.close()
    while process.stdout is not None and await process.stdout.read(_PIPE_BYTES):
        pass
    await process.wait()


def _resident(pid: int) -> int:
    """Resident bytes of a process and its children; 0 if it has ended."""
    try:
        process: Any = psutil.Process(pid)
        return sum(int(each.memory_info().rss) for each in (process, *process.children(recursive=True)))
    except psutil.Error:
        return 0
