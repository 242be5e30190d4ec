"""All measurements of the run engine, in one setting."""

import asyncio
from collections.abc import Mapping, Sequence

import uvloop

from benchmarks.runs import cost, first_event, lateness, subscribers
from benchmarks.runs.setting import running_setting
from benchmarks.table import Row

PARTS = {
    "cost": cost.measure,
    "first": first_event.measure,
    "lateness": lateness.measure,
    # Last: its runs outlive their subscribers.
    "subscribers": subscribers.measure,
}


def run(parts: Sequence[str] = tuple(PARTS), settings: Mapping[str, str] | None = None) -> list[Row]:
    """Measure some parts, or all.

    Args:
        parts: which, in the order of ``PARTS``.
        settings: of the product, as environment variables.
    """
    with (
        running_setting(settings) as setting,
        asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner,
    ):
        return [row for name, measure in PARTS.items() if name in parts for row in runner.run(measure(setting))]
