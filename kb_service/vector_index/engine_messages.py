"""Bodies of the engine's vector index operations; arrays travel as bytes."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from kb_service.engine_client.protocol import FLOAT32, UINT32, WireMessage
from kb_service.vector_index.protocol import (
    ChunkPoint,
    HitList,
    HybridHits,
    IndexedDocument,
    SparseVector,
)


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
    """One question to both legs; a leg without vector is not asked."""

    model: str
    kb_ids: list[str]
    only: list[str] | None = None
    hidden: list[str] | None = None
    depth: int
    dense: bytes | None
    sparse_indices: bytes
    sparse_values: bytes


class SearchRequest(WireMessage):
    """One question as text: it is encoded, and both legs are asked."""

    model: str
    kb_ids: list[str]
    only: list[str] | None = None
    hidden: list[str] | None = None
    depth: int
    question: str
    sparse_indices: bytes
    sparse_values: bytes

    def encoded(self, vector: bytes) -> "QueryRequest":
        """The same question with its vector, as the index takes it."""
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
    """Both legs."""

    dense: LegReply
    sparse: LegReply


class SearchReply(WireMessage):
    """Both legs, the question's vector, and how long the encoding took."""

    dense: LegReply
    sparse: LegReply
    vector: bytes
    encoding_ms: float


class DeleteDocumentsRequest(WireMessage):
    """Delete the points of some documents, or those of these revisions of them."""

    model: str
    document_ids: list[str]
    revisions: list[int] | None


class DeleteKnowledgeBaseRequest(WireMessage):
    """Delete every point of a knowledge base."""

    model: str
    kb_id: str


class CountRequest(WireMessage):
    """Count what matches the given ids; None matches all."""

    model: str
    kb_id: str | None
    document_id: str | None


class CountReply(WireMessage):
    """A number of points."""

    count: int


class PointsRequest(WireMessage):
    """The points of one revision of a document, a page at a time."""

    model: str
    document_id: str
    revision: int
    offset: str | None


class PointsReply(WireMessage):
    """One page of points; ``offset`` asks for the next one, None: there is none."""

    points: UpsertRequest
    offset: str | None


class ModelRequest(WireMessage):
    """An operation on a model's index that needs nothing else."""

    model: str


class DocumentsReply(WireMessage):
    """Points per (document, revision), by columns."""

    document_ids: list[str]
    revisions: list[int]
    counts: list[int]


def pack_points(model: str, points: Sequence[ChunkPoint]) -> UpsertRequest:
    """Put points on the wire."""
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
    """The points of a request.

    Raises:
        ValueError: The columns do not fit together.
    """
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
                tuple(next(indices) for _ in range(length)),
                tuple(next(values) for _ in range(length)),
            ),
            chunk_id=chunk_id,
        )
        for *identity, has_dense, length, chunk_id in columns
    ]


def unpack_dense(request: QueryRequest) -> NDArray[np.float32] | None:
    """The dense vector, if there is one."""
    if request.dense is None:
        return None
    return np.frombuffer(request.dense, dtype=FLOAT32).astype(np.float32)


def unpack_sparse(request: QueryRequest | SearchRequest) -> SparseVector:
    """The sparse vector, empty if there is none."""
    return SparseVector(
        tuple(np.frombuffer(request.sparse_indices, dtype=UINT32).tolist()),
        tuple(np.frombuffer(request.sparse_values, dtype=FLOAT32).tolist()),
    )


def pack_hits(leg: HitList) -> LegReply:
    """Put one leg on the wire.

    Its columns are lists: nothing looks at each of their items before who receives them does.
    """
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
    """Put the list of documents on the wire."""
    return DocumentsReply(
        document_ids=[document.document_id for document in documents],
        revisions=[document.revision for document in documents],
        counts=[document.count for document in documents],
    )


def unpack_documents(reply: DocumentsReply) -> list[IndexedDocument]:
    """The list of documents of a reply."""
    columns = zip(reply.document_ids, reply.revisions, reply.counts, strict=True)
    return [IndexedDocument(*column) for column in columns]


def _unpack_hit_list(leg: LegReply) -> HitList:
    scores = np.frombuffer(leg.scores, dtype=FLOAT32).tolist()
    return HitList(leg.ids, scores, leg.document_ids, leg.revisions, leg.chunk_ids)


def _bytes(numbers: Sequence[float], kind: str) -> bytes:
    return np.asarray(numbers, dtype=kind).tobytes()
