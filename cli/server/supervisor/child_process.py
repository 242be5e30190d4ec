"""One child process: started tied to the supervisor's life, its output read, ended in time."""

import asyncio
import contextlib
import os
import signal
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import psutil

from cli.server.supervisor.logs import Output

_CHUNK = 64 * 2**10
_LAST_OUTPUT_SECONDS = 1.0
_LAUNCHER = Path(__file__).with_name("launch.py")


class Child:
    """A running child; make one with :func:`start_child`."""

    def __init__(self, process: asyncio.subprocess.Process, reader: asyncio.Task[None]) -> None:
        self.pid = process.pid
        self.started = _created(process.pid)
        self._process = process
        self._reader = reader

    async def wait(self) -> int:
        """Wait for the end, sweep what the child itself had started, and read the last output.

        Returns:
            The exit code; a signal's number as a negative.
        """
        code = await self._process.wait()
        self._kill_group()
        # A grandchild that left the group may hold the pipe open for as long as it likes.
        await asyncio.wait({self._reader}, timeout=_LAST_OUTPUT_SECONDS)
        self._reader.cancel()
        return code

    async def end(self, seconds: float, hurry: asyncio.Event) -> None:
        """Ask the child to finish, and kill it after ``seconds`` or as soon as ``hurry`` is set."""
        with contextlib.suppress(ProcessLookupError):
            self._process.send_signal(signal.SIGTERM)
            # A stopped process does not see SIGTERM before it is woken.
            self._process.send_signal(signal.SIGCONT)
        exited = asyncio.create_task(self._process.wait())
        hurried = asyncio.create_task(hurry.wait())
        await asyncio.wait({exited, hurried}, timeout=seconds, return_when="FIRST_COMPLETED")
        hurried.cancel()
        if not exited.done():
            self._kill_group()
        await exited

    def _kill_group(self) -> None:
        # The child leads its own group, so this reaches a parser or shell that it left behind.
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, signal.SIGKILL)


async def start_child(command: Sequence[str], output: Output) -> Child:
    """Start a command in its own session with its output going to ``output``.

    On Linux the kernel sends it SIGTERM when the supervisor dies, however that dies. Its own
    session keeps the terminal's Ctrl-C away: the supervisor decides the order of the end.
    """
    # A pipe of our own: with asyncio's, waiting for the exit also waits until nobody holds it.
    read_end, write_end = os.pipe()
    try:
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-I", "-S", str(_LAUNCHER), str(os.getpid())),
            *command,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=write_end,
            stderr=write_end,
            start_new_session=True,
        )
    except BaseException:
        os.close(read_end)
        raise
    finally:
        os.close(write_end)
    return Child(process, asyncio.create_task(_read(read_end, output)))


def _created(pid: int) -> float:
    try:
        return psutil.Process(pid).create_time()
    except psutil.NoSuchProcess:
        return time.time()


async def _read(read_end: int, output: Output) -> None:
    stream = asyncio.StreamReader()
    transport, _ = await asyncio.get_running_loop().connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(stream), os.fdopen(read_end, "rb", buffering=0)
    )
    try:
        while data := await stream.read(_CHUNK):
            output.feed(data)
    finally:
        output.feed(b"")
        transport.close()
