"""The engine's operations: body, priority and steps of each."""

import time
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from enum import Enum, auto
from typing import Generic, TypeVar

import numpy as np
from numpy.typing import NDArray
from pydantic import ValidationError

from core.errors.requests import InvalidRequest
from kb_service.embeddings.engine_encoder import EmbedReply, EmbedRequest, pack_vectors
from kb_service.embeddings.stepwise import WorkUnit
from kb_service.engine.resources import Resources
from kb_service.engine.scheduler import JobSteps
from kb_service.engine_client.protocol import EmptyBody, EngineRequest, WireMessage
from kb_service.vector_index.engine_index import (
    CountReply,
    CountRequest,
    DeleteDocumentsRequest,
    DeleteKnowledgeBaseRequest,
    DocumentsReply,
    IndexRequest,
    PointsReply,
    PointsRequest,
    QueryReply,
    QueryRequest,
    SearchReply,
    SearchRequest,
    UpsertRequest,
    pack_documents,
    pack_hits,
    pack_points,
    unpack_dense,
    unpack_points,
    unpack_sparse,
)
from kb_service.vector_index.protocol import HybridHits, IndexDocumentFilter

# Such a question is encoded in ten milliseconds; the index returns so many hits per leg in two.
_ORDINARY_CHARACTERS = 500
_ORDINARY_DEPTH = 200

RequestBody = (
    EmbedRequest
    | QueryRequest
    | SearchRequest
    | CountRequest
    | UpsertRequest
    | DeleteDocumentsRequest
    | DeleteKnowledgeBaseRequest
    | IndexRequest
    | PointsRequest
)
_Body = TypeVar("_Body", bound=RequestBody)


class Target(Enum):
    """What an operation works on, and whether it changes it."""

    ENCODER = auto()
    READS_INDEX = auto()
    READS_BOTH = auto()
    WRITES_INDEX = auto()


@dataclass(frozen=True)
class EngineTask:
    """A parsed request: its model, priority and work.

    ``interactive``: a person waits for it. ``inline_ok``: it takes milliseconds where the index is small and the
    encoder fast. ``account``: whose share of time it uses.
    """

    request: EngineRequest
    model: str
    target: Target
    interactive: bool
    inline_ok: bool
    account: str
    work: Callable[[Resources], JobSteps]


@dataclass(frozen=True)
class _Operation(Generic[_Body]):
    shape: type[_Body]
    target: Target
    work: Callable[[Resources, _Body], Generator[Sequence[WorkUnit] | None, None, WireMessage]]
    interactive: Callable[[_Body], bool]
    inline_ok: Callable[[_Body], bool] = lambda _body: False

    def parse(self, request: EngineRequest) -> EngineTask:
        body = self.shape.model_validate(request.body)
        return EngineTask(
            request=request,
            model=body.model,
            target=self.target,
            interactive=self.interactive(body),
            inline_ok=self.inline_ok(body),
            account=body.account if isinstance(body, EmbedRequest) else "",
            work=lambda resources: self.work(resources, body),
        )


def parse(request: EngineRequest) -> EngineTask:
    """Parse a request; InvalidRequest for an unknown operation or an invalid body."""
    operation = _OPERATIONS.get(request.op)
    if operation is None:
        raise InvalidRequest("op", "no such operation")
    try:
        return operation.parse(request)
    except ValidationError as error:
        raise InvalidRequest("body", "not the body of this operation") from error


def _embed(resources: Resources, body: EmbedRequest) -> Generator[Sequence[WorkUnit] | None, None, EmbedReply]:
    encoder = resources.encoder(body.model)
    return pack_vectors((yield from encoder.encode_in_steps(body.texts, whole=body.is_passage)))


def _upsert(resources: Resources, body: UpsertRequest) -> Generator[None, None, EmptyBody]:
    shard = resources.shard(body.model)
    try:
        points = unpack_points(body, shard.dimension)
    except (ValueError, RuntimeError, StopIteration) as error:
        raise InvalidRequest("points", "the columns do not fit together") from error
    yield from shard.upsert(points)
    return EmptyBody()


def _query(resources: Resources, body: QueryRequest) -> Generator[None, None, QueryReply]:
    yield from ()
    legs = _legs(resources, body, unpack_dense(body))
    return QueryReply(dense=pack_hits(legs.dense), sparse=pack_hits(legs.sparse))


def _search(resources: Resources, body: SearchRequest) -> Generator[Sequence[WorkUnit] | None, None, SearchReply]:
    started = time.perf_counter()
    encoder = resources.encoder(body.model)
    vectors = yield from encoder.encode_in_steps([body.question], whole=False)
    encoding_ms = 1000 * (time.perf_counter() - started)
    legs = _legs(resources, body, vectors[0])
    return SearchReply.model_construct(
        dense=pack_hits(legs.dense),
        sparse=pack_hits(legs.sparse),
        vector=pack_vectors(vectors).data,
        encoding_ms=encoding_ms,
    )


def _legs(resources: Resources, body: QueryRequest | SearchRequest, dense: NDArray[np.float32] | None) -> HybridHits:
    return resources.shard(body.model).query(
        body.kb_ids,
        dense=dense,
        sparse=unpack_sparse(body),
        depth=body.depth,
        documents=IndexDocumentFilter(body.only, body.hidden or ()),
    )


def _delete_documents(resources: Resources, body: DeleteDocumentsRequest) -> Generator[None, None, EmptyBody]:
    yield from resources.shard(body.model).delete_documents(body.document_ids, body.revisions)
    return EmptyBody()


def _delete_knowledge_base(resources: Resources, body: DeleteKnowledgeBaseRequest) -> Generator[None, None, EmptyBody]:
    yield from resources.shard(body.model).delete_knowledge_base(body.kb_id)
    return EmptyBody()


def _count(resources: Resources, body: CountRequest) -> Generator[None, None, CountReply]:
    yield from ()
    return CountReply(count=resources.shard(body.model).count(body.kb_id, body.document_id))


def _points(resources: Resources, body: PointsRequest) -> Generator[None, None, PointsReply]:
    yield from ()
    points, offset = resources.shard(body.model).scroll_points(body.document_id, body.revision, body.offset)
    return PointsReply(points=pack_points(body.model, points), offset=offset)


def _documents(resources: Resources, body: IndexRequest) -> Generator[None, None, DocumentsReply]:
    return pack_documents((yield from resources.shard(body.model).documents()))


def _flush(resources: Resources, body: IndexRequest) -> Generator[None, None, EmptyBody]:
    yield
    resources.shard(body.model).flush()
    return EmptyBody()


def _always(_body: WireMessage) -> bool:
    return True


def _never(_body: WireMessage) -> bool:
    return False


def _is_ordinary(body: SearchRequest) -> bool:
    return len(body.question) <= _ORDINARY_CHARACTERS and body.depth <= _ORDINARY_DEPTH


def _for_queries(body: EmbedRequest) -> bool:
    return not body.is_passage


_OPERATIONS = {
    "embed": _Operation(EmbedRequest, Target.ENCODER, _embed, _for_queries),
    "query": _Operation(QueryRequest, Target.READS_INDEX, _query, _always),
    "search": _Operation(SearchRequest, Target.READS_BOTH, _search, _always, _is_ordinary),
    # Counts only serve probes.
    "count": _Operation(CountRequest, Target.READS_INDEX, _count, _never),
    "upsert": _Operation(UpsertRequest, Target.WRITES_INDEX, _upsert, _never),
    "delete_documents": _Operation(DeleteDocumentsRequest, Target.WRITES_INDEX, _delete_documents, _never),
    "delete_knowledge_base": _Operation(
        DeleteKnowledgeBaseRequest, Target.WRITES_INDEX, _delete_knowledge_base, _never
    ),
    "points": _Operation(PointsRequest, Target.READS_INDEX, _points, _never),
    "documents": _Operation(IndexRequest, Target.READS_INDEX, _documents, _never),
    "flush": _Operation(IndexRequest, Target.READS_INDEX, _flush, _never),
}
