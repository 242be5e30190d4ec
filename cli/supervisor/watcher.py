"""The lifecycle of one service: start, ready, restart with growing pauses, end."""

import asyncio
import contextlib
import os
import signal
import sys
import time
from collections.abc import Coroutine, Iterable, Sequence
from pathlib import Path
from typing import Any

import psutil

from cli.supervisor.display import StatusDisplay
from cli.supervisor.logs import LogFile, LogOutput
from cli.supervisor.service import ReadinessCheck, RestartPace, Service, ServiceState
from cli.supervisor.status_file import StatusFile

_CHUNK = 64 * 2**10
_LAST_OUTPUT_SECONDS = 1.0
_LAUNCHER = Path(__file__).with_name("launch.py")


class ChildProcess:
    """A running child, created by :func:`start_child`."""

    def __init__(self, process: asyncio.subprocess.Process, reader: asyncio.Task[None]) -> None:
        self.pid = process.pid
        self.started = _created(process.pid)
        self._process = process
        self._reader = reader

    async def wait(self) -> int:
        """Wait for the end, kill the child's own children and read the last output.

        Returns the exit code, negative for a signal.
        """
        code = await self._process.wait()
        self._kill_group()
        # A grandchild that left the group may hold the pipe open for as long as it likes.
        await asyncio.wait({self._reader}, timeout=_LAST_OUTPUT_SECONDS)
        self._reader.cancel()
        return code

    async def end(self, seconds: float, hurry: asyncio.Event) -> None:
        """Send SIGTERM, and SIGKILL after ``seconds`` or as soon as ``hurry`` is set."""
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


async def start_child(command: Sequence[str], output: LogOutput) -> ChildProcess:
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
    return ChildProcess(process, asyncio.create_task(_read(read_end, output)))


def _created(pid: int) -> float:
    try:
        return psutil.Process(pid).create_time()
    except psutil.NoSuchProcess:
        return time.time()


async def _read(read_end: int, output: LogOutput) -> None:
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


class ServiceFailed(Exception):
    """A one-shot part failed; ``lines`` are its last log lines."""

    def __init__(self, name: str, code: int, lines: Iterable[str]) -> None:
        super().__init__(f"{name} failed ({describe_exit(code)})")
        self.name = name
        self.lines = tuple(lines)


class ServiceWatcher:
    """Watches one part."""

    def __init__(
        self, part: Service, board: StatusFile, screen: StatusDisplay, *, pace: RestartPace, log: LogFile
    ) -> None:
        self.part = part
        self.ready = asyncio.Event()
        self._board = board
        self._screen = screen
        self._pace = pace
        self._output = LogOutput(log, lambda line: screen.show_log(part.name, line))
        self._stop = asyncio.Event()
        self._hurry = asyncio.Event()
        self._deaths = 0

    async def run(self, before: Iterable["ServiceWatcher"]) -> None:
        """Run the part, after those of ``before`` are ready, until :meth:`stop`; a one-shot part until its end."""
        for watch in before:
            await self._unless_stopped(watch.ready.wait())
        while not self._stop.is_set():
            began = time.monotonic()
            child = await start_child(self.part.command, self._output)
            self._board.note_start(self.part.name, child.pid, child.started)
            code = await self._attend(child)
            self._board.note_end(self.part.name)
            if self._stop.is_set() or code is None:
                break
            if self.part.one_shot:
                self._finish_one_shot(code)
                return
            await self._pause_after_death(code, time.monotonic() - began)
        self._board.change(self.part.name, ServiceState.STOPPED)

    def stop(self) -> None:
        """Let :meth:`run` end the child and return."""
        self._stop.set()

    def hurry(self) -> None:
        """Do not wait for the child to finish its work."""
        self._hurry.set()

    async def _attend(self, child: ChildProcess) -> int | None:
        over = asyncio.Event()
        checking = asyncio.create_task(self._note_ready(over))
        exited = asyncio.create_task(child.wait())
        stopped = asyncio.create_task(self._stop.wait())
        pending: set[asyncio.Task[Any]] = {checking, exited, stopped}
        while not (exited.done() or stopped.done()):
            done, pending = await asyncio.wait(pending, return_when="FIRST_COMPLETED")
            if checking in done:
                checking.result()
        over.set()
        checking.cancel()
        stopped.cancel()
        if exited.done():
            return exited.result()
        self._board.change(self.part.name, ServiceState.STOPPING)
        await child.end(self._pace.drain, self._hurry)
        await exited
        return None

    async def _note_ready(self, over: asyncio.Event) -> None:
        """Poll until the child is ready or ``over`` is set: a client library may swallow a cancellation."""
        if self.part.one_shot:
            return
        answer = await self._check()
        while not (answer.ready or over.is_set()):
            self._board.change(self.part.name, ServiceState.STARTING, answer.detail)
            await asyncio.sleep(self._pace.check_every)
            answer = await self._check()
        if not over.is_set():
            self._board.change(self.part.name, ServiceState.READY)
            self.ready.set()

    async def _check(self) -> ReadinessCheck:
        if self.part.check is None:
            return ReadinessCheck(True)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(self._pace.check_timeout):
                return await self.part.check()
        return ReadinessCheck(False, "no answer yet")

    def _finish_one_shot(self, code: int) -> None:
        if code != 0:
            self._board.change(self.part.name, ServiceState.FAILING, describe_exit(code))
            raise ServiceFailed(self.part.name, code, self._output.tail)
        self._board.change(self.part.name, ServiceState.DONE)
        self.ready.set()

    async def _pause_after_death(self, code: int, lived: float) -> None:
        if lived >= self._pace.healthy_after:
            self._deaths = 0
        self._deaths += 1
        pause = self._pace.pause(self._deaths)
        alarm = self._deaths >= self._pace.alarm_after_deaths
        reason = describe_exit(code)
        state = ServiceState.FAILING if alarm else ServiceState.RESTARTING
        self._board.change(self.part.name, state, f"{reason}, next start in {pause:g} s")
        if self._deaths == self._pace.alarm_after_deaths:
            self._screen.alarm(self.part, self._deaths, list(self._output.tail))
        elif not alarm:
            self._screen.note_death(self.part.name, reason, pause)
        await self._unless_stopped(asyncio.sleep(pause))

    async def _unless_stopped(self, waiting: Coroutine[Any, Any, object]) -> None:
        task = asyncio.create_task(waiting)
        stopped = asyncio.create_task(self._stop.wait())
        await asyncio.wait({task, stopped}, return_when="FIRST_COMPLETED")
        task.cancel()
        stopped.cancel()


def describe_exit(code: int) -> str:
    """An exit code as text: ``exit 1`` or ``signal 9``."""
    return f"signal {-code}" if code < 0 else f"exit {code}"
