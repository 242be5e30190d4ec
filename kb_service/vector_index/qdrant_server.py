"""The vector index on a Qdrant server or cluster."""

# qdrant_client's generated models have parameters of unknown type.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false

import asyncio
from collections import Counter
from collections.abc import Collection, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from qdrant_client import AsyncQdrantClient, models
from qdrant_client.http.exceptions import ApiException, UnexpectedResponse

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

_POINTS_PER_REQUEST = 256
_PAGE = 2000
_CONFLICT = 409
# Interactive; everything else may take as long as the client allows.
_QUESTION_SECONDS = 2.5


class QdrantVectorIndex:
    """A ``VectorIndex`` in the collection ``agentex-<model>``, created on first use; ``close`` closes the client."""

    def __init__(self, client: AsyncQdrantClient, model: str, dimension: int) -> None:
        self._client = client
        self._collection = f"agentex-{model}"
        self._dimension = dimension
        self._preparing = asyncio.Lock()
        self._is_ready = False

    async def ensure_ready(self) -> None:
        """Create what is missing; every method calls it first: the server may have been unavailable at the start."""
        async with self._preparing:
            if self._is_ready:
                return
            with _translate_errors():
                await self._prepare()
            self._is_ready = True

    async def upsert(self, points: Sequence[ChunkPoint]) -> None:
        check_points(points, self._dimension)
        await self.ensure_ready()
        for start in range(0, len(points), _POINTS_PER_REQUEST):
            part = [_to_server(point) for point in points[start : start + _POINTS_PER_REQUEST]]
            with _translate_errors():
                await self._client.upsert(self._collection, part, wait=True)

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
        requests = _requests(_Scope(kb_ids, documents), dense, sparse, depth)
        if not requests:
            return HybridHits()
        with _translate_errors():
            async with asyncio.timeout(_QUESTION_SECONDS):
                await self.ensure_ready()
                answers = await self._client.query_batch_points(self._collection, list(requests.values()))
        legs = {name: _hits(answer.points) for name, answer in zip(requests, answers, strict=True)}
        return HybridHits(dense=legs.get(DENSE, NO_HITS), sparse=legs.get(BM25, NO_HITS))

    async def delete_documents(self, document_ids: Sequence[str], *, revisions: Collection[int] | None = None) -> None:
        mine = models.MatchAny(any=list(document_ids))
        condemned: list[models.Condition] = [models.FieldCondition(key="document_id", match=mine)]
        if revisions is not None:
            match = models.MatchAny(any=list(revisions))
            condemned.append(models.FieldCondition(key="revision", match=match))
        await self._delete(models.Filter(must=condemned))

    async def delete_knowledge_base(self, kb_id: str) -> None:
        await self._delete(models.Filter(must=[_equals("kb_id", kb_id)]))

    async def count(self, *, kb_id: str | None = None, document_id: str | None = None) -> int:
        conditions = {"kb_id": kb_id, "document_id": document_id}
        scope = models.Filter(must=[_equals(key, value) for key, value in conditions.items() if value is not None])
        await self.ensure_ready()
        with _translate_errors():
            answer = await self._client.count(self._collection, scope, exact=True)
        return answer.count

    async def points(self, document_id: str, revision: int) -> list[ChunkPoint]:
        await self.ensure_ready()
        mine = models.Filter(must=[_equals("document_id", document_id), _equals("revision", revision)])
        points: list[ChunkPoint] = []
        offset = None
        while True:
            with _translate_errors():
                records, offset = await self._client.scroll(
                    self._collection,
                    scroll_filter=mine,
                    limit=_POINTS_PER_REQUEST,
                    offset=offset,
                    with_payload=True,
                    with_vectors=True,
                )
            points += [_from_server(record) for record in records]
            if offset is None:
                return points

    async def documents(self) -> list[IndexedDocument]:
        await self.ensure_ready()
        counts: Counter[tuple[str, int]] = Counter()
        offset = None
        while True:
            with _translate_errors():
                records, offset = await self._client.scroll(
                    self._collection,
                    limit=_PAGE,
                    offset=offset,
                    with_payload=["document_id", "revision"],
                    with_vectors=False,
                )
            payloads = [record.payload or {} for record in records]
            counts.update((payload["document_id"], payload["revision"]) for payload in payloads)
            if offset is None:
                return [IndexedDocument(*key, count) for key, count in counts.items()]

    async def close(self) -> None:
        await self._client.close()

    async def _prepare(self) -> None:
        if not await self._client.collection_exists(self._collection):
            await self._create()
        tenant = models.KeywordIndexParams(type=models.KeywordIndexType.KEYWORD, is_tenant=True)
        keyword = models.KeywordIndexParams(type=models.KeywordIndexType.KEYWORD)
        for field, schema in (("kb_id", tenant), ("document_id", keyword)):
            await self._client.create_payload_index(self._collection, field, field_schema=schema, wait=True)

    async def _create(self) -> None:
        try:
            await self._client.create_collection(
                self._collection,
                vectors_config={DENSE: models.VectorParams(size=self._dimension, distance=models.Distance.COSINE)},
                sparse_vectors_config={BM25: models.SparseVectorParams(modifier=models.Modifier.IDF)},
            )
        except UnexpectedResponse as error:
            # Another process created it between the question and the request.
            if error.status_code != _CONFLICT:
                raise

    async def _delete(self, condemned: models.Filter) -> None:
        await self.ensure_ready()
        selector = models.FilterSelector(filter=condemned)
        with _translate_errors():
            await self._client.delete(self._collection, points_selector=selector, wait=True)


@contextmanager
def _translate_errors() -> Generator[None]:
    try:
        yield
    except UnexpectedResponse as error:
        if b"No space left" in error.content or b"disk" in error.content.lower():
            raise StorageFull from error
        raise VectorIndexUnavailable(reason="the Qdrant server refused") from error
    except (ApiException, OSError, TimeoutError) as error:
        raise VectorIndexUnavailable(reason="the Qdrant server does not answer") from error


@dataclass(frozen=True)
class _Scope:
    kb_ids: Sequence[str]
    documents: IndexDocumentFilter

    @property
    def is_empty(self) -> bool:
        return not self.kb_ids or (self.documents.only is not None and not self.documents.only)

    def corpus(self) -> models.Filter:
        """The points that IDF is computed over: all of the knowledge bases that are not hidden."""
        return self._visible(_any_of("kb_id", self.kb_ids))

    def filter(self) -> models.Filter:
        """The points that can be hits."""
        conditions: list[models.Condition] = [_any_of("kb_id", self.kb_ids)]
        if self.documents.only is not None:
            conditions.append(_any_of("document_id", self.documents.only))
        return self._visible(*conditions)

    def _visible(self, *conditions: models.Condition) -> models.Filter:
        hidden = self.documents.hidden
        unseen: list[models.Condition] = [_any_of("document_id", hidden)] if hidden else []
        return models.Filter(must=list(conditions), must_not=unseen or None)


def _any_of(key: str, values: Sequence[str]) -> models.FieldCondition:
    return models.FieldCondition(key=key, match=models.MatchAny(any=list(values)))


def _requests(
    scope: _Scope, dense: NDArray[np.float32] | None, sparse: SparseVector | None, depth: int
) -> dict[str, models.QueryRequest]:
    requests: dict[str, models.QueryRequest] = {}
    if scope.is_empty:
        return requests
    if dense is not None:
        requests[DENSE] = models.QueryRequest(
            query=dense.tolist(), using=DENSE, filter=scope.filter(), limit=depth, with_payload=HIT_FIELDS
        )
    if sparse is not None and sparse.indices:
        requests[BM25] = models.QueryRequest(
            query=_server_sparse(sparse),
            using=BM25,
            filter=scope.filter(),
            limit=depth,
            with_payload=HIT_FIELDS,
            params=models.SearchParams(idf=models.IdfCorpusParams(corpus=scope.corpus())),
        )
    return requests


def _to_server(point: ChunkPoint) -> models.PointStruct:
    vector: dict[str, models.Vector] = {}
    if point.sparse.indices:
        vector[BM25] = _server_sparse(point.sparse)
    if point.dense is not None:
        vector[DENSE] = point.dense.tolist()
    return models.PointStruct(id=point.id, vector=vector, payload=to_payload(point))


def _from_server(record: models.Record) -> ChunkPoint:
    vectors = record.vector if isinstance(record.vector, dict) else {}
    sparse = vectors.get(BM25)
    return to_point(
        record.id,
        record.payload,
        dense=vectors.get(DENSE),
        sparse=(sparse.indices, sparse.values) if isinstance(sparse, models.SparseVector) else None,
    )


def _server_sparse(sparse: SparseVector) -> models.SparseVector:
    return models.SparseVector(indices=list(sparse.indices), values=list(sparse.values))


def _equals(key: str, value: str | int) -> models.FieldCondition:
    return models.FieldCondition(key=key, match=models.MatchValue(value=value))


def _hits(points: Sequence[models.ScoredPoint]) -> HitList:
    return HitList.from_hits(to_hit(point.id, point.score, point.payload) for point in points)
