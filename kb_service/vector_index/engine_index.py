"""The vector index as the API and the worker see it in embedded mode: a client of the engine."""

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
    encodable,
)
from kb_service.vector_index.engine_messages import (
    CountReply,
    CountRequest,
    DeleteDocumentsRequest,
    DeleteKnowledgeBaseRequest,
    DocumentsReply,
    ModelRequest,
    PointsReply,
    PointsRequest,
    QueryReply,
    QueryRequest,
    SearchReply,
    SearchRequest,
    pack_points,
    unpack_documents,
    unpack_hits,
    unpack_points,
)
from kb_service.vector_index.protocol import (
    ALL_DOCUMENTS,
    NO_TERMS,
    ChunkPoint,
    DocumentFilter,
    HybridAnswer,
    HybridHits,
    HybridQuery,
    IndexedDocument,
    SparseVector,
)
from kb_service.vector_index.validation import check_points, check_query

# About 3 MB on the wire.
_POINTS_PER_REQUEST = 1024


class EngineVectorIndex:
    """A ``VectorIndex`` whose shard the engine process owns; the caller closes the client.

    Args:
        engine: The engine's client.
        model: Name of the embedding model, which selects the shard.
        dimension: Length of the model's vectors.
    """

    def __init__(self, engine: EngineClient, model: str, dimension: int) -> None:
        self._engine = engine
        self._model = model
        self._dimension = dimension

    async def ensure_ready(self) -> None:
        """Wait until the engine has the shard open."""
        await self.count()

    async def upsert(self, points: Sequence[ChunkPoint]) -> None:
        """See ``VectorIndex.upsert``; all points are checked before the first leaves."""
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
        documents: DocumentFilter = ALL_DOCUMENTS,
    ) -> HybridHits:
        """See ``VectorIndex.query``."""
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
        return unpack_hits(
            await self._engine.call("query", request, QueryReply, timeout_seconds=QUERY_SECONDS)
        )

    async def search(self, question: HybridQuery) -> HybridAnswer:
        """Encode a question and ask both legs, on one way to the engine and back.

        Raises:
            EngineUnavailable: no answer, or no encoder of this model.
            VectorIndexUnavailable: the shard failed.
        """
        request = SearchRequest(
            model=self._model,
            kb_ids=list(question.kb_ids),
            depth=question.depth,
            only=_listed(question.documents.only),
            hidden=_listed(question.documents.hidden or None),
            question=encodable(question.text),
            sparse_indices=np.asarray(question.sparse.indices, dtype=UINT32).tobytes(),
            sparse_values=np.asarray(question.sparse.values, dtype=FLOAT32).tobytes(),
        )
        reply = await self._engine.call(
            "search", request, SearchReply, timeout_seconds=QUERY_SECONDS
        )
        dense = np.frombuffer(reply.vector, dtype=FLOAT32).astype(np.float32)
        return HybridAnswer(unpack_hits(reply), dense, reply.encoding_ms / 1000)

    async def delete_documents(
        self, document_ids: Sequence[str], *, revisions: Collection[int] | None = None
    ) -> None:
        """See ``VectorIndex.delete_documents``."""
        request = DeleteDocumentsRequest(
            model=self._model,
            document_ids=list(document_ids),
            revisions=None if revisions is None else sorted(revisions),
        )
        await self._engine.call(
            "delete_documents", request, EmptyBody, timeout_seconds=INGEST_SECONDS
        )

    async def delete_knowledge_base(self, kb_id: str) -> None:
        """See ``VectorIndex.delete_knowledge_base``."""
        request = DeleteKnowledgeBaseRequest(model=self._model, kb_id=kb_id)
        await self._engine.call(
            "delete_knowledge_base", request, EmptyBody, timeout_seconds=INGEST_SECONDS
        )

    async def count(self, *, kb_id: str | None = None, document_id: str | None = None) -> int:
        """See ``VectorIndex.count``."""
        request = CountRequest(model=self._model, kb_id=kb_id, document_id=document_id)
        reply = await self._engine.call("count", request, CountReply, timeout_seconds=QUERY_SECONDS)
        return reply.count

    async def points(self, document_id: str, revision: int) -> list[ChunkPoint]:
        """See ``VectorIndex.points``; read a page at a time, so that queries go between."""
        found: list[ChunkPoint] = []
        offset: str | None = None
        while True:
            request = PointsRequest(
                model=self._model, document_id=document_id, revision=revision, offset=offset
            )
            reply = await self._engine.call(
                "points", request, PointsReply, timeout_seconds=INGEST_SECONDS
            )
            found += unpack_points(reply.points, self._dimension)
            offset = reply.offset
            if offset is None:
                return found

    async def documents(self) -> list[IndexedDocument]:
        """See ``VectorIndex.documents``."""
        request = ModelRequest(model=self._model)
        return unpack_documents(
            await self._engine.call(
                "documents", request, DocumentsReply, timeout_seconds=INGEST_SECONDS
            )
        )

    async def close(self) -> None:
        """Nothing to release: the engine client is the caller's."""


def _listed(ids: Sequence[str] | None) -> list[str] | None:
    return None if ids is None else list(ids)
