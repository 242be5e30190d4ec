"""A Qdrant Edge shard on disk; synchronous, written in small steps."""

# qdrant_edge ships stubs whose payloads and vectors are Any.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# An id may be a number or a text too; all of ours are UUIDs.
# pyright: reportAttributeAccessIssue=false

import os
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Collection, Generator, Iterable, Mapping, Sequence, Set
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple
from uuid import UUID

import numpy as np
from numpy.typing import NDArray
from qdrant_edge import (
    CountRequest,
    Distance,
    EdgeConfig,
    EdgeShard,
    EdgeSparseVectorParams,
    EdgeVectorParams,
    FieldCondition,
    Filter,
    IdfParams,
    KeywordIndexParams,
    MatchAny,
    MatchValue,
    Modifier,
    Point,
    Query,
    QueryBatchRequest,
    QueryRequest,
    Record,
    ScoredPoint,
    ScrollRequest,
    SearchParams,
    UpdateOperation,
    VectorStorageDatatype,
)
from qdrant_edge import SparseVector as EdgeSparseVector

from core.errors.server import StorageFull, VectorIndexUnavailable
from kb_service.vector_index.payload import BM25, DENSE, HIT_FIELDS, to_hit, to_payload, to_point
from kb_service.vector_index.protocol import (
    ALL_DOCUMENTS,
    NO_HITS,
    ChunkPoint,
    HitList,
    HybridHits,
    IndexDocumentFilter,
    IndexedDocument,
    SparseVector,
    check_points,
    check_query,
)

# An update holds Python's interpreter lock: writing 256 points takes about 10 ms, deleting 2,000 about 7 ms.
_POINTS_PER_UPDATE = 256
_POINTS_PER_DELETION = 2000
_PAGE = 2000
# 8 bits a number, a quarter of float32: a search reads all of them (docs/decisions/0063).
_DATATYPE = VectorStorageDatatype.Turbo8
_LOCKED = "WouldBlock"
# Below this much free space a failed write counts as a full disk.
_LEAST_FREE_BYTES = 64 * 2**20


class Shard:
    """The points of one embedding model in ``folder``. Not thread-safe: one thread owns it.

    The write-ahead log is always on: it survives ``kill -9``, and its lock keeps a second process out. Any thread may
    read the counts: ``points``; ``unflushed``, written since the last flush (safe in the log, but replaying takes 40
    ms per thousand points); ``written`` and ``deleted`` since the opening.

    Raises:
        VectorIndexUnavailable: Another process has the shard open, or it can't be read.
    """

    def __init__(self, folder: Path, dimension: int) -> None:
        self.dimension = dimension
        self.folder = folder
        self.unflushed = self.written = self.deleted = 0
        self._shard = _open(folder, dimension)
        self._payloads = PayloadCache(self._shard)
        self.points = self._shard.info().points_count

    def upsert(self, points: Sequence[ChunkPoint]) -> Generator[None]:
        """Write points, pausing before each small update; InvalidVector: none was written, StorageFull: some may have
        been.
        """
        check_points(points, self.dimension)
        for start in range(0, len(points), _POINTS_PER_UPDATE):
            yield
            part = [_to_edge(point) for point in points[start : start + _POINTS_PER_UPDATE]]
            self._payloads.discard(point.id for point in points[start : start + len(part)])
            self._update(UpdateOperation.upsert_points(part))
            self.unflushed += len(part)
            self.written += len(part)

    def query(
        self,
        kb_ids: Sequence[str],
        *,
        dense: NDArray[np.float32] | None,
        sparse: SparseVector | None,
        depth: int,
        documents: IndexDocumentFilter = ALL_DOCUMENTS,
    ) -> HybridHits:
        check_query(dense, sparse, self.dimension)
        if documents.only is not None and not documents.only:
            return HybridHits()
        mine = _one_of("kb_id", kb_ids)
        unseen = [_one_of("document_id", documents.hidden)] if documents.hidden else []
        corpus = scope = Filter(must=[mine], must_not=[*unseen] or None)
        if documents.only is not None:
            only = _one_of("document_id", documents.only)
            scope = Filter(must=[mine, only], must_not=[*unseen] or None)
        requests: dict[str, QueryRequest] = {}
        if kb_ids and dense is not None:
            nearest = Query.Nearest(dense.tolist(), using=DENSE)
            requests[DENSE] = self._request(nearest, scope, depth, None)
        if kb_ids and sparse is not None and sparse.indices:
            nearest = Query.Nearest(_edge_sparse(sparse), using=BM25)
            # IDF over the visible points: measured equal to a separate shard, for .07 ms.
            idf = SearchParams(idf=IdfParams(corpus=corpus))
            requests[BM25] = self._request(nearest, scope, depth, idf)
        if not requests:
            return HybridHits()
        with self._translate_errors():
            answers = self._shard.query_batch(QueryBatchRequest(list(requests.values())))
            legs = dict(zip(requests, self._payloads.hit_lists(answers), strict=True))
        return HybridHits(dense=legs.get(DENSE, NO_HITS), sparse=legs.get(BM25, NO_HITS))

    def delete_documents(self, document_ids: Sequence[str], revisions: Collection[int] | None) -> Generator[None]:
        """Delete documents' points, or those of these revisions, pausing before each part."""
        mine = FieldCondition(key="document_id", match=MatchAny(list(document_ids)))
        condemned = Filter(must=[mine])
        if revisions is not None:
            of_revisions = FieldCondition(key="revision", match=MatchAny(list(revisions)))
            condemned = Filter(must=[mine, of_revisions])
        yield from self._delete(condemned)

    def delete_knowledge_base(self, kb_id: str) -> Generator[None]:
        """Delete every point of a knowledge base, pausing before each part."""
        yield from self._delete(Filter(must=[_equals("kb_id", kb_id)]))

    def count(self, kb_id: str | None, document_id: str | None) -> int:
        conditions = {"kb_id": kb_id, "document_id": document_id}
        scope = Filter(must=[_equals(key, value) for key, value in conditions.items() if value is not None])
        with self._translate_errors():
            return self._shard.count(CountRequest(filter=scope, exact=True))

    def scroll_points(self, document_id: str, revision: int, offset: str | None) -> tuple[list[ChunkPoint], str | None]:
        """One page of a revision's points with their vectors, and the offset of the next page or None."""
        mine = Filter(must=[_equals("document_id", document_id), _equals("revision", revision)])
        request = ScrollRequest(
            limit=_POINTS_PER_UPDATE,
            offset=None if offset is None else UUID(offset),
            filter=mine,
            with_payload=True,
            with_vector=True,
        )
        with self._translate_errors():
            records, following = self._shard.scroll(request)
        points = [_from_edge(record) for record in records]
        return points, None if following is None else str(following)

    def documents(self) -> Generator[None, None, list[IndexedDocument]]:
        """Count points per (document, revision), pausing before each page."""
        counts: Counter[tuple[str, int]] = Counter()
        offset = None
        while True:
            yield
            request = ScrollRequest(
                limit=_PAGE, offset=offset, with_payload=["document_id", "revision"], with_vector=False
            )
            with self._translate_errors():
                records, offset = self._shard.scroll(request)
            payloads = [record.payload or {} for record in records]
            counts.update((payload["document_id"], payload["revision"]) for payload in payloads)
            if offset is None:
                return [IndexedDocument(*key, count) for key, count in counts.items()]

    def flush(self) -> None:
        """Apply the log to the segments, which shortens the next start."""
        with self._translate_errors():
            self._shard.flush()
        self.unflushed = 0

    def optimise(self) -> None:
        """Build the graph index and free the room of deleted points.

        It holds Python's interpreter lock (half a minute for 100,000 points): only for a process that serves nobody.
        """
        with self._translate_errors():
            self._shard.optimize()

    def close(self) -> None:
        self.flush()
        self._shard.close()

    def abandon(self) -> None:
        """Release the lock and the memory of a shard whose folder will be deleted.

        Closing would flush it, and hold Python's interpreter lock: 70 ms for 40,000 points. Remaining references to
        this object must not keep its points in memory.
        """
        del self._shard, self._payloads

    def _request(self, nearest: Query, scope: Filter, depth: int, params: SearchParams | None) -> QueryRequest:
        return QueryRequest(
            query=nearest, filter=scope, limit=depth, params=params, with_payload=self._payloads.payload_fields
        )

    def _delete(self, condemned: Filter) -> Generator[None]:
        part = ScrollRequest(limit=_POINTS_PER_DELETION, filter=condemned, with_payload=False, with_vector=False)
        while True:
            yield
            with self._translate_errors():
                records, following = self._shard.scroll(part)
            if records:
                before = self.points
                self._update(UpdateOperation.delete_points([record.id for record in records]))
                self.deleted += before - self.points
                self.unflushed += 1
            if following is None:
                return

    def _update(self, operation: UpdateOperation) -> None:
        with self._translate_errors():
            self._shard.update(operation)
            self.points = self._shard.info().points_count

    @contextmanager
    def _translate_errors(self) -> Generator[None]:
        try:
            yield
        # qdrant_edge raises bare Exception for everything that goes wrong in the engine.
        except Exception as error:
            if shutil.disk_usage(self.folder).free < _LEAST_FREE_BYTES:
                raise StorageFull from error
            raise VectorIndexUnavailable(reason="the vector index failed") from error


def presync(folder: Path) -> None:
    """Sync a shard's files without Python's interpreter lock, so that its ``flush``, which holds it, finds little to
    do.
    """
    for path in folder.rglob("*"):
        # A file may go while the shard's owner writes.
        with suppress(OSError):
            descriptor = os.open(path, os.O_RDONLY)
            try:
                os.fsync(descriptor)
            finally:
                os.close(descriptor)


def _open(folder: Path, dimension: int) -> EdgeShard:
    try:
        if not folder.exists():
            _create(folder, dimension)
        return _load(folder, dimension)
    # qdrant_edge raises bare Exception; only its text tells a lock from damage.
    except Exception as error:
        reason = "it can't be opened"
        if _LOCKED in str(error):
            reason = "another process has it open"
        raise VectorIndexUnavailable(reason=f"the vector index: {reason}") from error


def _load(folder: Path, dimension: int) -> EdgeShard:
    try:
        return EdgeShard.load(str(folder), _config(dimension, _DATATYPE))
    except Exception as error:
        if _LOCKED in str(error):
            raise
        # Shards of the time of float32 vectors keep them; otherwise it fails again.
        return EdgeShard.load(str(folder), _config(dimension, VectorStorageDatatype.Float32))


def _config(dimension: int, datatype: VectorStorageDatatype) -> EdgeConfig:
    dense = EdgeVectorParams(size=dimension, distance=Distance.Cosine, datatype=datatype)
    return EdgeConfig(
        vectors={DENSE: dense},
        sparse_vectors={BM25: EdgeSparseVectorParams(modifier=Modifier.Idf)},
        # Faster than a processor per leg.
        max_search_threads=1,
        wal_enabled=True,
    )


def _create(folder: Path, dimension: int) -> None:
    """Create a whole shard beside its place and rename it: a crash leaves none or all of it."""
    config = _config(dimension, _DATATYPE)
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".making-", dir=folder.parent) as scratch:
        made = Path(scratch) / "shard"
        made.mkdir()
        shard = EdgeShard.create(str(made), config)
        tenant = KeywordIndexParams(is_tenant=True)
        shard.update(UpdateOperation.create_field_index("kb_id", tenant))
        shard.update(UpdateOperation.create_field_index("document_id", KeywordIndexParams()))
        shard.close()
        made.rename(folder)


def _to_edge(point: ChunkPoint) -> Point:
    vector: dict[str, list[float] | EdgeSparseVector | list[list[float]]] = {}
    if point.sparse.indices:
        vector[BM25] = _edge_sparse(point.sparse)
    if point.dense is not None:
        vector[DENSE] = point.dense.tolist()
    return Point(id=point.id, vector=vector, payload=to_payload(point))


def _from_edge(record: Record) -> ChunkPoint:
    vectors = record.vector if isinstance(record.vector, dict) else {}
    sparse = vectors.get(BM25)
    return to_point(
        record.id,
        record.payload,
        dense=vectors.get(DENSE),
        sparse=(sparse.indices, sparse.values) if isinstance(sparse, EdgeSparseVector) else None,
    )


def _edge_sparse(sparse: SparseVector) -> EdgeSparseVector:
    return EdgeSparseVector(list(sparse.indices), list(sparse.values))


def _one_of(key: str, values: Sequence[str]) -> FieldCondition:
    # Equivalent for one value, and a third less work for the whole query.
    if len(values) == 1:
        return _equals(key, values[0])
    return FieldCondition(key=key, match=MatchAny(list(values)))


def _equals(key: str, value: str | int) -> FieldCondition:
    return FieldCondition(key=key, match=MatchValue(value))


# About 7 MB.
_CAPACITY = 20_000


class _CachedPayload(NamedTuple):
    id: str
    document_id: str
    revision: int
    chunk_id: str | None


class PayloadCache:
    """Builds a shard's hits from cached payloads; for the thread that owns the shard.

    If most points of the last query were cached, the next query omits payloads, and missing ones are read one by one,
    which takes twice as long per point.
    """

    def __init__(self, shard: EdgeShard) -> None:
        self._shard = shard
        # Keyed by the id as a number: ids themselves are compared in Python.
        self._cache: dict[int, _CachedPayload] = {}
        self._is_mostly_cached = False

    @property
    def payload_fields(self) -> list[str] | bool:
        """The payload fields that the next query should return."""
        return False if self._is_mostly_cached else HIT_FIELDS

    def hit_lists(self, legs: Sequence[Sequence[ScoredPoint]]) -> list[HitList]:
        """The legs of a query that returned ``payload_fields``."""
        # Each access to a point's id builds a new object.
        numbers = [[point.id.int for point in leg] for leg in legs]
        requested = {number for leg in numbers for number in leg}
        # A set difference would iterate over the whole cache.
        unknown = {number for number in requested if number not in self._cache}
        if len(self._cache) + len(unknown) > _CAPACITY:
            self._cache.clear()
            unknown = requested
        if unknown:
            self._load(unknown, legs, numbers)
        self._is_mostly_cached = 2 * len(unknown) < len(requested)
        return [self._hit_list(*leg) for leg in zip(numbers, legs, strict=True)]

    def discard(self, ids: Iterable[str]) -> None:
        """Drop cached points that are about to be replaced."""
        if self._cache:
            for id_ in ids:
                self._cache.pop(UUID(id_).int, None)

    def _load(self, unknown: Set[int], legs: Sequence[Sequence[ScoredPoint]], numbers: Sequence[Sequence[int]]) -> None:
        if self._is_mostly_cached:
            for record in self._shard.retrieve([UUID(int=n) for n in unknown], HIT_FIELDS, False):
                self._cache[record.id.int] = _cached(record.id, record.payload)
            return
        for leg, points in zip(numbers, legs, strict=True):
            for number, point in zip(leg, points, strict=True):
                if number in unknown:
                    self._cache[number] = _cached(UUID(int=number), point.payload)

    def _hit_list(self, numbers: Sequence[int], points: Sequence[ScoredPoint]) -> HitList:
        if not numbers:
            return NO_HITS
        payloads = map(self._cache.__getitem__, numbers)
        ids, document_ids, revisions, chunk_ids = map(list, zip(*payloads, strict=True))
        return HitList(ids, [point.score for point in points], document_ids, revisions, chunk_ids)


def _cached(id_: int | str | UUID, payload: Mapping[str, Any] | None) -> _CachedPayload:
    hit = to_hit(id_, 0.0, payload)
    # A document's points share its id.
    return _CachedPayload(hit.id, sys.intern(hit.document_id), hit.revision, hit.chunk_id)
