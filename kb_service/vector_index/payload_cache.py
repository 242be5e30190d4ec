"""What searches show of a shard's points: kept, because reading payloads takes a third of a query."""

# qdrant_edge ships stubs whose payloads are Any.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false
# An id may be a number or a text too; all of ours are UUIDs.
# pyright: reportAttributeAccessIssue=false

import sys
from collections.abc import Iterable, Mapping, Sequence, Set
from typing import Any, NamedTuple
from uuid import UUID

from qdrant_edge import EdgeShard, ScoredPoint

from kb_service.vector_index.payload import SHOWN, hit_of
from kb_service.vector_index.protocol import NO_HITS, Leg

# About 7 MB.
_MOST_KEPT = 20_000


class _Kept(NamedTuple):
    id: str
    document_id: str
    revision: int
    chunk_id: str | None


class ShownPoints:
    """Turns points that a shard found into legs; for the thread that owns the shard.

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

    def legs(self, found: Sequence[Sequence[ScoredPoint]]) -> list[Leg]:
        """The legs of a query that brought ``payload_wanted``."""
        # Each look at a point's id makes one.
        numbers = [[point.id.int for point in leg] for leg in found]
        asked = {number for leg in numbers for number in leg}
        # Taking the keys away from the set would go through all that is kept.
        unknown = {number for number in asked if number not in self._kept}
        if len(self._kept) + len(unknown) > _MOST_KEPT:
            self._kept.clear()
            unknown = asked
        if unknown:
            self._learn(unknown, found, numbers)
        self._knows_most = 2 * len(unknown) < len(asked)
        return [self._leg(*leg) for leg in zip(numbers, found, strict=True)]

    def forget(self, ids: Iterable[str]) -> None:
        """Points of these ids are about to be replaced."""
        if self._kept:
            for id_ in ids:
                self._kept.pop(UUID(id_).int, None)

    def _learn(
        self,
        unknown: Set[int],
        found: Sequence[Sequence[ScoredPoint]],
        numbers: Sequence[Sequence[int]],
    ) -> None:
        if self._knows_most:
            for record in self._shard.retrieve([UUID(int=n) for n in unknown], SHOWN, False):
                self._kept[record.id.int] = _kept(record.id, record.payload)
            return
        for leg, points in zip(numbers, found, strict=True):
            for number, point in zip(leg, points, strict=True):
                if number in unknown:
                    self._kept[number] = _kept(UUID(int=number), point.payload)

    def _leg(self, numbers: Sequence[int], points: Sequence[ScoredPoint]) -> Leg:
        if not numbers:
            return NO_HITS
        shown = map(self._kept.__getitem__, numbers)
        ids, document_ids, revisions, chunk_ids = map(list, zip(*shown, strict=True))
        return Leg(ids, [point.score for point in points], document_ids, revisions, chunk_ids)


def _kept(id_: int | str | UUID, payload: Mapping[str, Any] | None) -> _Kept:
    hit = hit_of(id_, 0.0, payload)
    # A document's points share its id.
    return _Kept(hit.id, sys.intern(hit.document_id), hit.revision, hit.chunk_id)
