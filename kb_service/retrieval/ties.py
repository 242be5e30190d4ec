"""Passages of equal score get an order of their own, the same in every copy of their documents."""

from collections.abc import Mapping
from dataclasses import replace
from itertools import groupby

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

    groups = [list(group) for _, group in groupby(fusion.hits, key=lambda hit: hit.score)]
    if len(groups) == len(fusion.hits):
        return fusion
    # Mostly the same text in several places.
    hits = [hit for group in groups for hit in (sorted(group, key=place) if group[1:] else group)]
    return replace(fusion, hits=tuple(hits))
