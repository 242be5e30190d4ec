"""Retrieval metrics from ranks, shared by the product and its benchmarks."""

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

CUT_OFF = 10
"""Ranks beyond this one count as not found."""


@dataclass(frozen=True)
class Quality:
    """Metrics from 0 to 1: recall at 1, 5 and 10, MRR and nDCG at 10 (retrieval literature)."""

    recall_1: float
    recall_5: float
    recall_10: float
    mrr_10: float
    ndcg_10: float


ZERO_QUALITY = Quality(0.0, 0.0, 0.0, 0.0, 0.0)


def quality(places: Sequence[int | None]) -> Quality:
    """The quality of one ranking.

    Args:
        places: the rank, from 1, of each expected thing, at least one; None if missing. Two things in one passage share
            its rank.
    """
    ranks = [place for place in places if place is not None and place <= CUT_OFF]
    recall_1, recall_5, recall_10 = (sum(place <= cut for place in ranks) / len(places) for cut in (1, 5, CUT_OFF))
    gain = sum(map(_discount, ranks))
    ideal = sum(map(_discount, range(1, min(len(places), CUT_OFF) + 1)))
    reciprocal = 1 / min(ranks) if ranks else 0.0
    # Things that share a rank can gain more than the ideal, which has one thing per rank.
    return Quality(recall_1, recall_5, recall_10, reciprocal, min(1.0, gain / ideal))


def _discount(place: int) -> float:
    return 1 / math.log2(place + 1)


def mean(rows: Sequence[Quality]) -> Quality:
    """The mean of each metric; all 0 without rows."""
    if not rows:
        return ZERO_QUALITY
    columns = zip(*(vars(row).values() for row in rows), strict=True)
    return Quality(*(statistics.fmean(column) for column in columns))


def percentile(values: Sequence[float], share: float) -> float:
    """The value below which a share of the values lies; 0 without values."""
    if not values:
        return 0.0
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]
