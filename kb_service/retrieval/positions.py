"""Where one passage stands in each leg, however deep."""

from collections.abc import Sequence
from dataclasses import dataclass

from kb_service.models import Chunk
from kb_service.retrieval.candidates import SpaceQuery
from kb_service.retrieval.fusion import LegRank
from kb_service.retrieval.rerankers.lexical import RankedHit
from kb_service.vector_index.protocol import IndexHit

# Ten thousand hits take the index a tenth of a second: for a person who asks why, not for all.
_DEPTHS = (1_000, 10_000)


@dataclass(frozen=True)
class PassagePosition:
    """A passage in one leg: the leg's own score, and its rank from 1.

    The rank is None where it lies behind the deepest one looked at (10,000).
    """

    score: float
    rank: int | None


@dataclass(frozen=True)
class PassagePositions:
    """A passage in both legs; None where the leg lacks it or was not asked.

    Args:
        dense: by meaning.
        sparse: by words.
        dense_is_used: whether the query is searched by meaning at all.
    """

    dense: PassagePosition | None
    sparse: PassagePosition | None
    dense_is_used: bool


async def positions(probe: SpaceQuery, chunk: Chunk, hit: RankedHit | None) -> PassagePositions:
    """Look for a passage in both legs.

    Args:
        probe: the query, put to the space and knowledge base of the passage.
        chunk: the passage.
        hit: its places as a candidate, if it is one: they need no search.

    Raises:
        VectorIndexUnavailable: the index did not answer.
        EngineUnavailable: the encoder did not answer.
    """
    dense = _known(hit.fused.dense if hit else None)
    sparse = _known(hit.fused.sparse if hit else None)
    if dense is None or sparse is None:
        # Only its own document: its score is the same there, and it can't be crowded out.
        own = await probe.ask(_DEPTHS[-1], [chunk.document_id])
        dense = dense or _unranked(own.legs.dense, chunk.id)
        sparse = sparse or _unranked(own.legs.sparse, chunk.id)
    for depth in _DEPTHS:
        if all(one is None or one.rank is not None for one in (dense, sparse)):
            break
        legs = (await probe.ask(depth)).legs
        dense = _ranked(dense, legs.dense, chunk.id)
        sparse = _ranked(sparse, legs.sparse, chunk.id)
    return PassagePositions(dense, sparse, probe.with_dense)


def _known(place: LegRank | None) -> PassagePosition | None:
    return None if place is None else PassagePosition(place.score, place.rank)


def _unranked(leg: Sequence[IndexHit], chunk_id: str) -> PassagePosition | None:
    return next((PassagePosition(hit.score, None) for hit in leg if hit.id == chunk_id), None)


def _ranked(
    position: PassagePosition | None, leg: Sequence[IndexHit], chunk_id: str
) -> PassagePosition | None:
    if position is None or position.rank is not None:
        return position
    places = (rank for rank, hit in enumerate(leg, start=1) if hit.id == chunk_id)
    return PassagePosition(position.score, next(places, None))
