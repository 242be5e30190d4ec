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

from kb_service.vector_index.payload import HIT_FIELDS, to_hit
from kb_service.vector_index.protocol import NO_HITS, HitList

# About 7 MB.
_CAPACITY = 20_000


class _CachedPayload(NamedTuple):
    id: str
    document_id: str
    revision: int
    chunk_id: str | None


class PayloadCache:
    """Turns points that a shard found into legs; for the thread that owns the shard.

    Where most points of the last query were known, the next one goes without payloads, and those
    of unknown points are read one by one; that takes twice as long per point.

    Args:
        shard: whose points they are.
    """

    def __init__(self, shard: EdgeShard) -> None:
        self._shard = shard
        # By the number that a point's id is: ids themselves are compared in Python.
        self._cache: dict[int, _CachedPayload] = {}
        self._is_mostly_cached = False

    @property
    def payload_fields(self) -> list[str] | bool:
        """What the next query should bring of each point's payload."""
        return False if self._is_mostly_cached else HIT_FIELDS

    def hit_lists(self, found: Sequence[Sequence[ScoredPoint]]) -> list[HitList]:
        """The legs of a query that brought ``payload_fields``."""
        # Each look at a point's id makes one.
        numbers = [[point.id.int for point in leg] for leg in found]
        asked = {number for leg in numbers for number in leg}
        # Taking the keys away from the set would go through all that is kept.
        unknown = {number for number in asked if number not in self._cache}
        if len(self._cache) + len(unknown) > _CAPACITY:
            self._cache.clear()
            unknown = asked
        if unknown:
            self._load(unknown, found, numbers)
        self._is_mostly_cached = 2 * len(unknown) < len(asked)
        return [self._hit_list(*leg) for leg in zip(numbers, found, strict=True)]

    def discard(self, ids: Iterable[str]) -> None:
        """Points of these ids are about to be replaced."""
        if self._cache:
            for id_ in ids:
                self._cache.pop(UUID(id_).int, None)

    def _load(
        self,
        unknown: Set[int],
        found: Sequence[Sequence[ScoredPoint]],
        numbers: Sequence[Sequence[int]],
    ) -> None:
        if self._is_mostly_cached:
            for record in self._shard.retrieve([UUID(int=n) for n in unknown], HIT_FIELDS, False):
                self._cache[record.id.int] = _cached(record.id, record.payload)
            return
        for leg, points in zip(numbers, found, strict=True):
            for number, point in zip(leg, points, strict=True):
                if number in unknown:
                    self._cache[number] = _cached(UUID(int=number), point.payload)

    def _hit_list(self, numbers: Sequence[int], points: Sequence[ScoredPoint]) -> HitList:
        if not numbers:
            return NO_HITS
        shown = map(self._cache.__getitem__, numbers)
        ids, document_ids, revisions, chunk_ids = map(list, zip(*shown, strict=True))
        return HitList(ids, [point.score for point in points], document_ids, revisions, chunk_ids)


def _cached(id_: int | str | UUID, payload: Mapping[str, Any] | None) -> _CachedPayload:
    hit = to_hit(id_, 0.0, payload)
    # A document's points share its id.
    return _CachedPayload(hit.id, sys.intern(hit.document_id), hit.revision, hit.chunk_id)
