"""Keeps one part running: start, wait until ready, restart with growing pauses, end."""

import asyncio
import contextlib
import time
from collections.abc import Coroutine, Iterable
from typing import Any

from cli.server.supervisor.child_process import Child, start_child
from cli.server.supervisor.display import Screen
from cli.server.supervisor.logs import LogFile, Output
from cli.server.supervisor.service import Pace, Part, Readiness, State
from cli.server.supervisor.status_file import Board


class PartFailed(Exception):
    """A one-shot part ended with an error; ``lines`` are the last ones it wrote."""

    def __init__(self, name: str, code: int, lines: Iterable[str]) -> None:
        super().__init__(f"{name} failed ({describe_exit(code)})")
        self.name = name
        self.lines = tuple(lines)


class Watch:
    """Watches one part.

    Args:
        part: what to run.
        board: told about every change.
        screen: told what a person should know.
        pace: pauses and limits.
        log: keeps the part's output.
    """

    def __init__(
        self, part: Part, board: Board, screen: Screen, *, pace: Pace, log: LogFile
    ) -> None:
        self.part = part
        self.ready = asyncio.Event()
        self._board = board
        self._screen = screen
        self._pace = pace
        self._output = Output(log, lambda line: screen.show_log(part.name, line))
        self._stop = asyncio.Event()
        self._hurry = asyncio.Event()
        self._deaths = 0

    async def run(self, before: Iterable["Watch"]) -> None:
        """Run the part until :meth:`stop`; a one-shot part until its end.

        Args:
            before: watches of the parts that must be ready first.

        Raises:
            PartFailed: a one-shot part ended with an error.
        """
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
        self._board.change(self.part.name, State.STOPPED)

    def stop(self) -> None:
        """Let :meth:`run` end the child and return."""
        self._stop.set()

    def hurry(self) -> None:
        """Do not wait for the child to finish its work."""
        self._hurry.set()

    async def _attend(self, child: Child) -> int | None:
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
        self._board.change(self.part.name, State.STOPPING)
        await child.end(self._pace.drain, self._hurry)
        await exited
        return None

    async def _note_ready(self, over: asyncio.Event) -> None:
        """Ask until the child is ready or ``over``: a client library may swallow the cancel."""
        if self.part.one_shot:
            return
        answer = await self._check()
        while not (answer.ready or over.is_set()):
            self._board.change(self.part.name, State.STARTING, answer.detail)
            await asyncio.sleep(self._pace.check_every)
            answer = await self._check()
        if not over.is_set():
            self._board.change(self.part.name, State.READY)
            self.ready.set()

    async def _check(self) -> Readiness:
        if self.part.check is None:
            return Readiness(True)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(self._pace.check_timeout):
                return await self.part.check()
        return Readiness(False, "no answer yet")

    def _finish_one_shot(self, code: int) -> None:
        if code != 0:
            self._board.change(self.part.name, State.FAILING, describe_exit(code))
            raise PartFailed(self.part.name, code, self._output.tail)
        self._board.change(self.part.name, State.DONE)
        self.ready.set()

    async def _pause_after_death(self, code: int, lived: float) -> None:
        if lived >= self._pace.healthy_after:
            self._deaths = 0
        self._deaths += 1
        pause = self._pace.pause(self._deaths)
        alarm = self._deaths >= self._pace.alarm_after_deaths
        reason = describe_exit(code)
        state = State.FAILING if alarm else State.RESTARTING
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
    """Say an exit code in words: ``exit 1`` or ``signal 9``."""
    return f"signal {-code}" if code < 0 else f"exit {code}"
