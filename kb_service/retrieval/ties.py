"""Passages of equal score get an order of their own, the same in every copy of their documents."""

from collections.abc import Mapping
from dataclasses import replace
from itertools import pairwise

from kb_service.retrieval.fusion import FusedHit, Fusion


def settled(fusion: Fusion, places: Mapping[str, tuple[str, int]]) -> Fusion:
    """The fused list with hits of one score ordered by document name and position.

    The index orders them by chance, and ids differ between a knowledge base and its copy.

    Args:
        fusion: best first.
        places: of each hit, the name of its document and its position there.
    """

    def place(hit: FusedHit) -> tuple[str, int, str]:
        return (*places[hit.id], hit.id)

    # Mostly the last of each leg, or the same text in several places.
    hits = list(fusion.hits)
    scores = [hit.score for hit in hits]
    tied = [number for number, (one, next_) in enumerate(pairwise(scores)) if one == next_]
    for score in {scores[number] for number in tied}:
        first, count = scores.index(score), scores.count(score)
        hits[first : first + count] = sorted(hits[first : first + count], key=place)
    return replace(fusion, hits=tuple(hits)) if tied else fusion
