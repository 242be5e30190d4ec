"""Rows of a benchmark's result: ours, the named baseline, and their ratio."""

import os
import statistics
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

# Named here for the benchmarks, which take all their figures from this module.
from kb_service.evaluation.metrics import percentile as percentile


@dataclass(frozen=True)
class Row:
    """One comparison; ``ratio`` above 1 means that ours is better."""

    what: str
    ours: str
    baseline: str
    ratio: float


def show(rows: Iterable[Row]) -> None:
    """Print rows as a Markdown table, and how busy the machine was."""
    print("| what | Agentex | baseline | ratio |\n|---|---|---|---|")
    for row in rows:
        print(f"| {row.what} | {row.ours} | {row.baseline} | {row.ratio:.2f} × |")
    loads = "/".join(f"{load:.1f}" for load in os.getloadavg())
    print(f"\n{os.cpu_count()} cores; load average over 1/5/15 minutes {loads}")


def seconds(act: Callable[[], object]) -> float:
    """How long an act takes."""
    started = time.perf_counter()
    act()
    return time.perf_counter() - started


def taking_turns(ours: Callable[[], float], theirs: Callable[[], float], *, rounds: int) -> tuple[float, float]:
    """The least measure of each over rounds in which they take turns.

    Other load on the machine only ever adds time, and not to both alike: the least disturbed
    round of each says most.
    """
    pairs = [(ours(), theirs()) for _ in range(rounds)]
    return min(pair[0] for pair in pairs), min(pair[1] for pair in pairs)


def median_ms(act: Callable[[str], object], texts: Sequence[str]) -> float:
    """Median milliseconds of an act over texts, one by one."""
    return 1000 * statistics.median(seconds(lambda text=text: act(text)) for text in texts)
