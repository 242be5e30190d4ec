"""What a thousand subscribers cost whose runs are silent: memory, and processor time."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import aclosing
from uuid import uuid4

import psutil

from benchmarks.runs.client import Address, read_pieces
from benchmarks.runs.model import Script
from benchmarks.runs.setting import Setting, chat_body, processor_seconds, run_body
from benchmarks.table import Row

_SUBSCRIBERS = 1000
_RUNS = 10
_AT_ONCE = 10
_SETTLE_SECONDS = 3
_SECONDS = 30
_SILENT = Script(1, wait_ms=270_000)
_KB = 1000
_LIMIT_KB = 40.0


class _Subscribers:
    """Streams that are held open."""

    def __init__(self) -> None:
        self._tasks: set[asyncio.Task[None]] = set()
        self._gate = asyncio.Semaphore(_AT_ONCE)

    async def open(self, address: Address, body: dict | None, *, speaks: bool = True) -> None:
        """Open one, and wait for its first piece if it speaks.

        Raises:
            AssertionError: it was turned away.
        """
        begun = asyncio.Event()
        async with self._gate:
            task = asyncio.create_task(self._hold(address, body, begun))
            self._tasks.add(task)
            if speaks:
                hearing = asyncio.create_task(begun.wait())
                await asyncio.wait({hearing, task}, return_when=asyncio.FIRST_COMPLETED)
                hearing.cancel()
            if task.done():
                raise AssertionError(f"{address.url} turned a subscriber away: {task.exception()}")

    async def _hold(self, address: Address, body: dict | None, begun: asyncio.Event) -> None:
        async with aclosing(read_pieces(address, body)) as pieces:
            async for _ in pieces:
                begun.set()

    async def close(self) -> None:
        """Hang up.

        Raises:
            AssertionError: one of them was cut off before.
        """
        gone = sum(task.done() for task in self._tasks)
        for task in self._tasks:
            task.cancel()
        await asyncio.wait(self._tasks)
        if gone:
            raise AssertionError(f"{gone} of {len(self._tasks)} subscribers were cut off")


async def _measure(process: psutil.Process, open_all: Callable[[_Subscribers], Awaitable[None]]) -> tuple[float, float]:
    """Proportional kilobytes of each subscriber, and processor seconds a minute of all."""
    subscribers = _Subscribers()
    before = _proportional(process)
    await open_all(subscribers)
    await asyncio.sleep(_SETTLE_SECONDS)
    used = processor_seconds(process)
    await asyncio.sleep(_SECONDS)
    used = processor_seconds(process) - used
    held = _proportional(process) - before
    await subscribers.close()
    return held / _SUBSCRIBERS / _KB, 60 * used / _SECONDS


def _proportional(process: psutil.Process) -> int:
    full = process.memory_full_info()
    return getattr(full, "pss", full.uss)


async def measure(setting: Setting) -> list[Row]:
    """Each subscriber on a silent stream: through the baseline, of few runs, of one run each."""
    run_ids = [str(uuid4()) for _ in range(_SUBSCRIBERS)]

    async def through_baseline(subscribers: _Subscribers) -> None:
        await asyncio.gather(*(subscribers.open(setting.theirs, chat_body(_SILENT), speaks=False) for _ in run_ids))

    async def of_few_runs(subscribers: _Subscribers) -> None:
        for run_id in run_ids[:_RUNS]:
            await subscribers.open(setting.followed(run_id), None)
        await asyncio.gather(
            *(
                subscribers.open(setting.followed(run_ids[number % _RUNS]), None)
                for number in range(_RUNS, _SUBSCRIBERS)
            )
        )

    async def of_own_runs(subscribers: _Subscribers) -> None:
        await asyncio.gather(*(subscribers.open(setting.ours, run_body(_SILENT, run_id)) for run_id in run_ids[_RUNS:]))

    first = _Subscribers()
    for run_id in run_ids[:_RUNS]:
        await first.open(setting.ours, run_body(_SILENT, run_id))
    passed = await _measure(setting.baseline, through_baseline)
    few = await _measure(setting.api, of_few_runs)
    # Before their models have been silent for longer than an endpoint may be.
    await first.close()
    own = await _measure(setting.api, of_own_runs)
    rows: list[Row] = []
    for name, (size, used) in ((f"of {_RUNS} runs", few), ("of a run each", own)):
        what = f"{_SUBSCRIBERS:,} idle subscribers {name}, memory of each"
        rows.append(Row(what, f"{size:.1f} KB", f"limit {_LIMIT_KB:.0f} KB", _LIMIT_KB / size))
        theirs = f"pass-through {passed[0]:.1f} KB, {passed[1]:.2f} s"
        what = f"{_SUBSCRIBERS:,} idle subscribers {name}, processor time a minute"
        rows.append(Row(what, f"{used:.2f} s", theirs, passed[1] / used))
    return rows
