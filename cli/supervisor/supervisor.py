"""The lifecycle of all services: start in order, drain in reverse."""

import asyncio
import contextlib
import signal
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any

from cli.supervisor.display import StatusDisplay
from cli.supervisor.logs import LogFile
from cli.supervisor.service import RestartPace, Service
from cli.supervisor.status_file import StatusFile
from cli.supervisor.watcher import ServiceFailed, ServiceWatcher

_REDRAW_SECONDS = 0.25
_SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


async def supervise(
    parts: Sequence[Service],
    board: StatusFile,
    screen: StatusDisplay,
    *,
    pace: RestartPace,
    log_dir: Path,
    announce: Callable[[], Awaitable[None]],
) -> int:
    """Run the parts until SIGTERM, SIGINT or SIGHUP.

    Args:
        parts: in their order of start; those without a command run elsewhere.
        announce: called once, when all parts are ready for the first time.

    Returns:
        0 after a signal, 1 when a one-shot part failed.
    """
    watches = [
        ServiceWatcher(part, board, screen, pace=pace, log=LogFile(log_dir / f"{part.name}.log"))
        for part in parts
        if part.command
    ]
    stop = asyncio.Event()
    remove_signals = _listen(stop, watches)
    board.listeners.append(screen.change)
    board.write()
    screen.begin(board.statuses)
    runs = _start(watches)
    side = asyncio.create_task(_until_ready(watches, screen, announce))
    try:
        await _until_stop_or_failure(stop, [*runs, side])
    finally:
        side.cancel()
        screen.end()
        failure = await _drain(watches, runs)
        remove_signals()
        board.clear()
    if failure is None:
        return 0
    if not isinstance(failure, ServiceFailed):
        raise failure
    screen.say(str(failure), "bold red")
    screen.show_tail(failure.name, failure.lines)
    return 1


def _start(watches: Sequence[ServiceWatcher]) -> list[asyncio.Task[None]]:
    by_name = {watch.part.name: watch for watch in watches}
    return [
        asyncio.create_task(watch.run([by_name[name] for name in watch.part.after if name in by_name]))
        for watch in watches
    ]


def _listen(stop: asyncio.Event, watches: Sequence[ServiceWatcher]) -> Callable[[], None]:
    """Stop at the first signal and hurry at the second; returns the function that undoes it."""

    def on_signal() -> None:
        if stop.is_set():
            for watch in watches:
                watch.hurry()
        stop.set()

    loop = asyncio.get_running_loop()
    # A signal that is ignored (nohup) stays ignored.
    heard = [number for number in _SIGNALS if signal.getsignal(number) != signal.SIG_IGN]
    for number in heard:
        loop.add_signal_handler(number, on_signal)

    def remove() -> None:
        for number in heard:
            loop.remove_signal_handler(number)

    return remove


async def _until_ready(
    watches: Sequence[ServiceWatcher], screen: StatusDisplay, announce: Callable[[], Awaitable[None]]
) -> None:
    for watch in watches:
        while not watch.ready.is_set():
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(watch.ready.wait(), _REDRAW_SECONDS)
            screen.refresh()
    screen.end()
    await announce()


async def _until_stop_or_failure(stop: asyncio.Event, tasks: Sequence[asyncio.Task[None]]) -> None:
    stopped = asyncio.create_task(stop.wait())
    pending: set[asyncio.Task[Any]] = {stopped, *tasks}
    while not stopped.done():
        done, pending = await asyncio.wait(pending, return_when="FIRST_COMPLETED")
        if any(task.exception() is not None for task in done):
            break
    stopped.cancel()


async def _drain(watches: Sequence[ServiceWatcher], runs: Sequence[asyncio.Task[None]]) -> BaseException | None:
    """End the parts one after the other, even if some fail; returns the first failure."""
    failure: BaseException | None = None
    for watch, run in reversed(list(zip(watches, runs, strict=True))):
        watch.stop()
        await asyncio.wait({run})
        failure = run.exception() or failure
    return failure
