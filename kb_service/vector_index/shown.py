"""What searches show of a shard's points: kept, because reading payloads takes a third of a query."""

# qdrant_edge ships stubs whose payloads are Any.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false
# An id may be a number or a text too; all of ours are UUIDs.
# pyright: reportAttributeAccessIssue=false

import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple
from uuid import UUID

from qdrant_edge import EdgeShard, ScoredPoint

from kb_service.vector_index.protocol import ScoredChunk
from kb_service.vector_index.stored import SHOWN, hit_of

# About 7 MB.
_MOST_KEPT = 20_000


class _Kept(NamedTuple):
    id: str
    document_id: str
    revision: int
    chunk_id: str | None


class ShownPoints:
    """Turns points that a shard found into hits; for the thread that owns the shard.

    Where most points of the last query were known, the next one goes without payloads, and those
    of unknown points are read one by one; that takes twice as long per point.

    Args:
        shard: whose points they are.
    """

    def __init__(self, shard: EdgeShard) -> None:
        self._shard = shard
        # By the number that a point's id is: ids themselves are compared in Python.
        self._kept: dict[int, _Kept] = {}
        self._knows_most = False

    @property
    def payload_wanted(self) -> list[str] | bool:
        """What the next query should bring of each point's payload."""
        return False if self._knows_most else SHOWN

    def hits(self, legs: Sequence[Sequence[ScoredPoint]]) -> list[list[ScoredChunk]]:
        """The hits of a query that brought ``payload_wanted``, each leg in its order."""
        # Each look at a point's id makes one.
        found = [[(point.id.int, point) for point in leg] for leg in legs]
        points = dict(pair for leg in found for pair in leg)
        unknown = [number for number in points if number not in self._kept]
        if len(self._kept) + len(unknown) > _MOST_KEPT:
            self._kept.clear()
            unknown = list(points)
        if unknown:
            self._learn({number: points[number] for number in unknown})
        self._knows_most = 2 * len(unknown) < len(points)
        return [[self._hit(number, point.score) for number, point in leg] for leg in found]

    def forget(self, ids: Iterable[str]) -> None:
        """Points of these ids are about to be replaced."""
        if self._kept:
            for id_ in ids:
                self._kept.pop(UUID(id_).int, None)

    def _learn(self, unknown: Mapping[int, ScoredPoint]) -> None:
        if not self._knows_most:
            self._kept |= {n: _kept(UUID(int=n), point.payload) for n, point in unknown.items()}
            return
        for record in self._shard.retrieve([UUID(int=n) for n in unknown], SHOWN, False):
            self._kept[record.id.int] = _kept(record.id, record.payload)

    def _hit(self, number: int, score: float) -> ScoredChunk:
        id_, document_id, revision, chunk_id = self._kept[number]
        return ScoredChunk(id_, score, document_id, revision, chunk_id)


def _kept(id_: int | str | UUID, payload: Mapping[str, Any] | None) -> _Kept:
    hit = hit_of(id_, 0.0, payload)
    # A document's points share its id.
    return _Kept(hit.id, sys.intern(hit.document_id), hit.revision, hit.chunk_id)
