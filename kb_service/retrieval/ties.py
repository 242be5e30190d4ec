"""Passages of equal score get an order of their own, the same in every copy of their documents."""

from collections.abc import Mapping
from itertools import pairwise

from kb_service.retrieval.fusion import Fusion


def settled(fusion: Fusion, places: Mapping[str, tuple[str, int]]) -> Fusion:
    """The fused list with hits of one score ordered by document name and position.

    The index orders them by chance, and ids differ between a knowledge base and its copy.

    Args:
        fusion: best first.
        places: of each hit, the name of its document and its position there.
    """

    def place(entry: tuple[str, float]) -> tuple[str, int, str]:
        id_ = entry[0]
        return (*places[id_], id_)

    # Mostly the last of each leg, or the same text in several places.
    order = list(fusion.order)
    scores = [score for _, score in order]
    tied = {one for one, next_ in pairwise(scores) if one == next_}
    for score in tied:
        first, count = scores.index(score), scores.count(score)
        order[first : first + count] = sorted(order[first : first + count], key=place)
    return fusion.reordered(order) if tied else fusion
