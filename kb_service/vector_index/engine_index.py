"""The vector index whose shard the engine owns, and its messages."""

from collections.abc import Collection, Sequence

import numpy as np
from numpy.typing import NDArray

from kb_service.engine_client.client import EngineClient
from kb_service.engine_client.protocol import (
    FLOAT32,
    INGEST_SECONDS,
    QUERY_SECONDS,
    UINT32,
    EmptyBody,
    WireMessage,
    encodable,
)
from kb_service.vector_index.protocol import (
    ALL_DOCUMENTS,
    NO_TERMS,
    ChunkPoint,
    HitList,
    HybridAnswer,
    HybridHits,
    HybridQuery,
    IndexDocumentFilter,
    IndexedDocument,
    SparseVector,
    check_points,
    check_query,
)

# About 3 MB on the wire.
_POINTS_PER_REQUEST = 1024


class EngineVectorIndex:
    """A ``VectorIndex`` in the engine process; the caller closes the client."""

    def __init__(self, engine: EngineClient, model: str, dimension: int) -> None:
        self._engine = engine
        self._model = model
        self._dimension = dimension

    async def ensure_ready(self) -> None:
        await self.count()

    async def upsert(self, points: Sequence[ChunkPoint]) -> None:
        """See ``VectorIndex.upsert``; all points are checked before the first is sent."""
        check_points(points, self._dimension)
        for start in range(0, len(points), _POINTS_PER_REQUEST):
            request = pack_points(self._model, points[start : start + _POINTS_PER_REQUEST])
            await self._engine.call("upsert", request, EmptyBody, timeout_seconds=INGEST_SECONDS)

    async def query(
        self,
        *,
        kb_ids: Sequence[str],
        dense: NDArray[np.float32] | None,
        sparse: SparseVector | None,
        depth: int,
        documents: IndexDocumentFilter = ALL_DOCUMENTS,
    ) -> HybridHits:
        check_query(dense, sparse, self._dimension)
        if not kb_ids:
            return HybridHits()
        terms = sparse or NO_TERMS
        request = QueryRequest(
            model=self._model,
            kb_ids=list(kb_ids),
            depth=depth,
            only=_listed(documents.only),
            hidden=_listed(documents.hidden or None),
            dense=None if dense is None else dense.astype(FLOAT32).tobytes(),
            sparse_indices=np.asarray(terms.indices, dtype=UINT32).tobytes(),
            sparse_values=np.asarray(terms.values, dtype=FLOAT32).tobytes(),
        )
        return unpack_hits(await self._engine.call("query", request, QueryReply, timeout_seconds=QUERY_SECONDS))

    async def search(self, query: HybridQuery) -> HybridAnswer:
        request = SearchRequest(
            model=self._model,
            kb_ids=list(query.kb_ids),
            depth=query.depth,
            only=_listed(query.documents.only),
            hidden=_listed(query.documents.hidden or None),
            question=encodable(query.text),
            sparse_indices=np.asarray(query.sparse.indices, dtype=UINT32).tobytes(),
            sparse_values=np.asarray(query.sparse.values, dtype=FLOAT32).tobytes(),
        )
        reply = await self._engine.call("search", request, SearchReply, timeout_seconds=QUERY_SECONDS)
        dense = np.frombuffer(reply.vector, dtype=FLOAT32).astype(np.float32)
        return HybridAnswer(unpack_hits(reply), dense, reply.encoding_ms / 1000)

    async def delete_documents(self, document_ids: Sequence[str], *, revisions: Collection[int] | None = None) -> None:
        request = DeleteDocumentsRequest(
            model=self._model,
            document_ids=list(document_ids),
            revisions=None if revisions is None else sorted(revisions),
        )
        await self._engine.call("delete_documents", request, EmptyBody, timeout_seconds=INGEST_SECONDS)

    async def delete_knowledge_base(self, kb_id: str) -> None:
        request = DeleteKnowledgeBaseRequest(model=self._model, kb_id=kb_id)
        await self._engine.call("delete_knowledge_base", request, EmptyBody, timeout_seconds=INGEST_SECONDS)

    async def count(self, *, kb_id: str | None = None, document_id: str | None = None) -> int:
        request = CountRequest(model=self._model, kb_id=kb_id, document_id=document_id)
        reply = await self._engine.call("count", request, CountReply, timeout_seconds=QUERY_SECONDS)
        return reply.count

    async def points(self, document_id: str, revision: int) -> list[ChunkPoint]:
        """Read a page at a time, so that queries go between."""
        points: list[ChunkPoint] = []
        offset: str | None = None
        while True:
            request = PointsRequest(model=self._model, document_id=document_id, revision=revision, offset=offset)
            reply = await self._engine.call("points", request, PointsReply, timeout_seconds=INGEST_SECONDS)
            points += unpack_points(reply.points, self._dimension)
            offset = reply.offset
            if offset is None:
                return points

    async def documents(self) -> list[IndexedDocument]:
        request = IndexRequest(model=self._model)
        return unpack_documents(
            await self._engine.call("documents", request, DocumentsReply, timeout_seconds=INGEST_SECONDS)
        )

    async def close(self) -> None:
        """Do nothing: the caller owns the engine client."""


def _listed(ids: Sequence[str] | None) -> list[str] | None:
    return None if ids is None else list(ids)


class UpsertRequest(WireMessage):
    """Points by columns; ``dense`` holds only the rows that ``has_dense`` marks."""

    model: str
    ids: list[str]
    kb_ids: list[str]
    document_ids: list[str]
    revisions: list[int]
    indexes: list[int]
    has_dense: list[bool]
    dense: bytes
    sparse_lengths: list[int]
    sparse_indices: bytes
    sparse_values: bytes
    chunk_ids: list[str | None]


class QueryRequest(WireMessage):
    """One question to both legs; a leg without a vector is skipped."""

    model: str
    kb_ids: list[str]
    only: list[str] | None = None
    hidden: list[str] | None = None
    depth: int
    dense: bytes | None
    sparse_indices: bytes
    sparse_values: bytes


class SearchRequest(WireMessage):
    """One question as text, to be encoded for both legs."""

    model: str
    kb_ids: list[str]
    only: list[str] | None = None
    hidden: list[str] | None = None
    depth: int
    question: str
    sparse_indices: bytes
    sparse_values: bytes

    def encoded(self, vector: bytes) -> "QueryRequest":
        return QueryRequest(
            model=self.model,
            kb_ids=self.kb_ids,
            only=self.only,
            hidden=self.hidden,
            depth=self.depth,
            dense=vector,
            sparse_indices=self.sparse_indices,
            sparse_values=self.sparse_values,
        )


class LegReply(WireMessage):
    """The hits of one leg by columns, best first."""

    ids: list[str]
    document_ids: list[str]
    revisions: list[int]
    scores: bytes
    chunk_ids: list[str | None]


class QueryReply(WireMessage):
    """The hits of both legs."""

    dense: LegReply
    sparse: LegReply


class SearchReply(WireMessage):
    """Both legs, the question's vector, and the encoding time."""

    dense: LegReply
    sparse: LegReply
    vector: bytes
    encoding_ms: float


class DeleteDocumentsRequest(WireMessage):
    """Delete the points of documents, or of these revisions of them."""

    model: str
    document_ids: list[str]
    revisions: list[int] | None


class DeleteKnowledgeBaseRequest(WireMessage):
    """Delete every point of a knowledge base."""

    model: str
    kb_id: str


class CountRequest(WireMessage):
    """Count the points that match the ids; None matches all."""

    model: str
    kb_id: str | None
    document_id: str | None


class CountReply(WireMessage):
    """A number of points."""

    count: int


class PointsRequest(WireMessage):
    """One page of the points of a document's revision."""

    model: str
    document_id: str
    revision: int
    offset: str | None


class PointsReply(WireMessage):
    """One page of points, and the offset of the next one or None."""

    points: UpsertRequest
    offset: str | None


class IndexRequest(WireMessage):
    """An operation on a model's index without further arguments."""

    model: str


class DocumentsReply(WireMessage):
    """Points per (document, revision), by columns."""

    document_ids: list[str]
    revisions: list[int]
    counts: list[int]


def pack_points(model: str, points: Sequence[ChunkPoint]) -> UpsertRequest:
    """The points by columns."""
    rows = [point.dense for point in points if point.dense is not None]
    sparse = [point.sparse for point in points]
    return UpsertRequest(
        model=model,
        ids=[point.id for point in points],
        kb_ids=[point.kb_id for point in points],
        document_ids=[point.document_id for point in points],
        revisions=[point.revision for point in points],
        indexes=[point.index for point in points],
        has_dense=[point.dense is not None for point in points],
        dense=b"".join(row.astype(FLOAT32).tobytes() for row in rows),
        sparse_lengths=[len(vector.indices) for vector in sparse],
        sparse_indices=_bytes([i for vector in sparse for i in vector.indices], UINT32),
        sparse_values=_bytes([v for vector in sparse for v in vector.values], FLOAT32),
        chunk_ids=[point.chunk_id for point in points],
    )


def unpack_points(request: UpsertRequest, dimension: int) -> list[ChunkPoint]:
    """The points of a request; ValueError when its columns do not fit together."""
    rows = iter(np.frombuffer(request.dense, dtype=FLOAT32).reshape(-1, dimension))
    indices = iter(np.frombuffer(request.sparse_indices, dtype=UINT32).tolist())
    values = iter(np.frombuffer(request.sparse_values, dtype=FLOAT32).tolist())
    columns = zip(
        request.ids,
        request.kb_ids,
        request.document_ids,
        request.revisions,
        request.indexes,
        request.has_dense,
        request.sparse_lengths,
        request.chunk_ids,
        strict=True,
    )
    return [
        ChunkPoint(
            *identity,
            dense=next(rows).astype(np.float32) if has_dense else None,
            sparse=SparseVector(
                tuple(next(indices) for _ in range(length)), tuple(next(values) for _ in range(length))
            ),
            chunk_id=chunk_id,
        )
        for *identity, has_dense, length, chunk_id in columns
    ]


def unpack_dense(request: QueryRequest) -> NDArray[np.float32] | None:
    """The dense vector or None."""
    if request.dense is None:
        return None
    return np.frombuffer(request.dense, dtype=FLOAT32).astype(np.float32)


def unpack_sparse(request: QueryRequest | SearchRequest) -> SparseVector:
    """The sparse vector, possibly empty."""
    return SparseVector(
        tuple(np.frombuffer(request.sparse_indices, dtype=UINT32).tolist()),
        tuple(np.frombuffer(request.sparse_values, dtype=FLOAT32).tolist()),
    )


def pack_hits(leg: HitList) -> LegReply:
    """One leg by columns; lists, so that only the receiver iterates over their items."""
    return LegReply.model_construct(
        ids=leg.ids,
        document_ids=leg.document_ids,
        revisions=leg.revisions,
        scores=_bytes(leg.scores, FLOAT32),
        chunk_ids=leg.chunk_ids,
    )


def unpack_hits(reply: QueryReply | SearchReply) -> HybridHits:
    """Both legs of a reply."""
    return HybridHits(dense=_unpack_hit_list(reply.dense), sparse=_unpack_hit_list(reply.sparse))


def pack_documents(documents: Sequence[IndexedDocument]) -> DocumentsReply:
    """The counts by columns."""
    return DocumentsReply(
        document_ids=[document.document_id for document in documents],
        revisions=[document.revision for document in documents],
        counts=[document.count for document in documents],
    )


def unpack_documents(reply: DocumentsReply) -> list[IndexedDocument]:
    """The counts of a reply."""
    columns = zip(reply.document_ids, reply.revisions, reply.counts, strict=True)
    return [IndexedDocument(*column) for column in columns]


def _unpack_hit_list(leg: LegReply) -> HitList:
    scores = np.frombuffer(leg.scores, dtype=FLOAT32).tolist()
    return HitList(leg.ids, scores, leg.document_ids, leg.revisions, leg.chunk_ids)


def _bytes(numbers: Sequence[float], kind: str) -> bytes:
    return np.asarray(numbers, dtype=kind).tobytes()
