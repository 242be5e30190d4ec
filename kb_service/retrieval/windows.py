"""Counts a hit on a chunk's dense window for the chunk: the one place that knows of windows."""

from kb_service.vector_index.protocol import Leg, Legs, ScoredChunk


def collapse(legs: Legs) -> Legs:
    """Both legs with one hit per chunk: its best window's, in the leg's order.

    Ranks counted over the result are ranks of chunks. Hits that are chunks stay as they are.
    """
    return Legs(dense=_best(legs.dense), sparse=_best(legs.sparse))


def _best(leg: Leg) -> Leg:
    if not any(leg.chunk_ids):
        return leg
    best: dict[str, ScoredChunk] = {}
    for hit in leg:
        chunk_id = hit.chunk_id or hit.id
        if chunk_id not in best:
            best[chunk_id] = hit if chunk_id == hit.id else hit._replace(id=chunk_id)
    return Leg.of(best.values())
