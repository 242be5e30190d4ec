"""Two hundred runs at once: how late their tokens come, by the moment that each of them tells."""

import asyncio
import os
from collections.abc import Callable

from benchmarks.runs.client import Address, Heard, hear
from benchmarks.runs.model import Script
from benchmarks.runs.setting import Setting, chat_body, processor_seconds, run_body
from benchmarks.table import Row, percentile

_RUNS = 200
_SCRIPT = Script(400, 20, tells_time=True)
_BEGIN_SECONDS = 10


async def _late(address: Address, make_body: Callable[[Script], dict]) -> list[float]:
    """Milliseconds by which each token of each stream was late."""

    async def one(number: int) -> Heard:
        # As people come: within seconds, not in one instant.
        await asyncio.sleep(_BEGIN_SECONDS * number / _RUNS)
        return await hear(address, make_body(_SCRIPT))

    heard = await asyncio.gather(*map(one, range(_RUNS)))
    late = [float(moment) for stream in heard for moment in stream.late_ms]
    if len(late) != _RUNS * _SCRIPT.tokens:
        raise AssertionError(f"{len(late)} of {_RUNS * _SCRIPT.tokens} tokens came")
    return late


async def measure(setting: Setting) -> list[Row]:
    """The latest token and the 99th of a hundred; wanted is that none is late by a second."""
    used = processor_seconds(setting.api)
    ours = await _late(setting.ours, run_body)
    used = processor_seconds(setting.api) - used
    theirs = await _late(setting.theirs, chat_body)
    tokens = _RUNS * _SCRIPT.tokens
    load = f"{_RUNS} runs at once, {_SCRIPT.per_second} tokens/s each, {os.cpu_count()} cores"
    rows: list[Row] = []
    for name, share in (("latest", 1.0), ("p99", 0.99), ("p50", 0.5)):
        our, their = (percentile(each, share) for each in (ours, theirs))
        said = f"{our:.0f} ms"
        rows.append(Row(f"{load}, {name} token", said, f"pass-through {their:.0f} ms", their / our))
    cost = 1e6 * used / tokens
    rows.append(Row(f"{load}, processor time per 1,000 tokens", f"{cost:.0f} ms", "", 0.0))
    return rows
