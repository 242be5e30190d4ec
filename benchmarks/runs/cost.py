"""Processor time of the API process per 1,000 streamed tokens, each a chunk of its own."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from importlib.metadata import distributions

import psutil

from benchmarks.runs.client import Address, Heard, hear
from benchmarks.runs.model import Script
from benchmarks.runs.setting import Setting, chat_body, processor_seconds, run_body
from benchmarks.table import Row

_ROUNDS = 1
# Not of this project: what a stock agent on its stock adapter costs.
_STOCK = "llama-index-llms-openai-like"


@dataclass(frozen=True)
class Load:
    """Streams at one time.

    Args:
        streams: how many.
        script: of each.
    """

    streams: int
    script: Script

    @property
    def tokens(self) -> int:
        """All tokens of all streams."""
        return self.streams * self.script.tokens

    @property
    def name(self) -> str:
        """In words."""
        pace = f"{self.script.per_second}/s" if self.script.per_second else "full speed"
        return f"{self.streams} streams of {self.script.tokens:,} tokens, {pace}"


_LOADS = (
    Load(1, Script(4000, 100)),
    Load(10, Script(3000, 100)),
    Load(10, Script(4000)),
)
# One that takes a second to hear: caches are filled and connections opened by it.
_WARM_UP = Load(4, Script(500, 500))


async def _hear_all(load: Load, address: Address, make_body: Callable[[Script], dict]) -> Sequence[Heard]:
    heard = await asyncio.gather(*(hear(address, make_body(load.script)) for _ in range(load.streams)))
    wanted = load.script.characters
    for one in heard:
        if one.characters != wanted:
            raise AssertionError(f"{address.url}: {one.characters} of {wanted} characters came")
    return heard


async def _cost(
    process: psutil.Process, tokens: int, act: Callable[[], Awaitable[Sequence[Heard]]]
) -> tuple[float, float]:
    """Milliseconds of processor time and events, per 1,000 tokens."""
    before = processor_seconds(process)
    heard = await act()
    used = processor_seconds(process) - before
    return 1e6 * used / tokens, 1000 * sum(one.text_events for one in heard) / tokens


async def _measure(setting: Setting, load: Load, *, rounds: int) -> list[Row]:
    ours = list[tuple[float, float]]()
    theirs = list[tuple[float, float]]()
    agents = list[tuple[float, float]]()
    has_stock = any(found.name == _STOCK for found in distributions())
    for _ in range(rounds):
        tokens = load.tokens
        ours.append(await _cost(setting.api, tokens, lambda: _hear_all(load, setting.ours, run_body)))
        theirs.append(await _cost(setting.baseline, tokens, lambda: _hear_all(load, setting.theirs, chat_body)))
        if has_stock:
            act = lambda: _hear_all(load, setting.function_agent, chat_body)  # noqa: E731
            agents.append(await _cost(setting.baseline, tokens, act))
    (our, events), (their, _) = min(ours), min(theirs)
    what = f"processor time per 1,000 tokens, {load.name}"
    said = f"{our:.0f} ms ({events:.0f} events)"
    rows = [Row(what, said, f"pass-through {their:.0f} ms", their / our)]
    if agents:
        stock = min(agents)[0]
        rows.append(Row(what, said, f"LlamaIndex FunctionAgent {stock:.0f} ms", stock / our))
    return rows


async def measure(setting: Setting) -> list[Row]:
    """A ratio of 0.08 is 12 times the pass-through's processor time."""
    await _measure(setting, _WARM_UP, rounds=1)
    return [row for load in _LOADS for row in await _measure(setting, load, rounds=_ROUNDS)]
