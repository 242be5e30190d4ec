"""The engine's operations: which body each takes, how urgent it is, what it does in steps."""

import time
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from enum import Enum, auto
from typing import Generic, TypeVar

import numpy as np
from numpy.typing import NDArray
from pydantic import ValidationError

from core.errors.requests import InvalidRequest
from kb_service.embeddings.engine_messages import EmbedReply, EmbedRequest, pack_vectors
from kb_service.embeddings.stepwise import Unit
from kb_service.engine.encode_pool import Steps
from kb_service.engine.resources import Holdings
from kb_service.engine_client.protocol import Empty, Message, Request
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
    UpsertRequest,
    pack_documents,
    pack_leg,
    pack_points,
    unpack_dense,
    unpack_points,
    unpack_sparse,
)
from kb_service.vector_index.protocol import Among, Legs

# A question of so many characters is encoded in ten milliseconds; the index gives so many hits of
# each leg in two.
_ORDINARY_CHARACTERS = 500
_ORDINARY_DEPTH = 200

AnyBody = (
    EmbedRequest
    | QueryRequest
    | SearchRequest
    | CountRequest
    | UpsertRequest
    | DeleteDocumentsRequest
    | DeleteKnowledgeBaseRequest
    | ModelRequest
    | PointsRequest
)
_Body = TypeVar("_Body", bound=AnyBody)


class Part(Enum):
    """What an operation works on, and whether it changes it."""

    ENCODER = auto()
    READS_INDEX = auto()
    READS_BOTH = auto()
    WRITES_INDEX = auto()


@dataclass(frozen=True)
class Task:
    """A request that was understood: for which model, how urgent, and its work.

    ``urgent`` says whether a person waits for it, ``brief`` whether it takes some milliseconds
    where the index is small and the encoder brisk, ``account`` for whom it is done.
    """

    request: Request
    model: str
    part: Part
    urgent: bool
    brief: bool
    account: str
    work: Callable[[Holdings], Steps]


@dataclass(frozen=True)
class _Operation(Generic[_Body]):
    """Ties an operation's body to its work and what ``Task`` says of it."""

    shape: type[_Body]
    part: Part
    work: Callable[[Holdings, _Body], Generator[Sequence[Unit] | None, None, Message]]
    urgent: Callable[[_Body], bool]
    brief: Callable[[_Body], bool] = lambda _body: False

    def parse(self, request: Request) -> Task:
        body = self.shape.model_validate(request.body)
        return Task(
            request=request,
            model=body.model,
            part=self.part,
            urgent=self.urgent(body),
            brief=self.brief(body),
            account=body.account if isinstance(body, EmbedRequest) else "",
            work=lambda holdings: self.work(holdings, body),
        )


def parse(request: Request) -> Task:
    """Understand a request.

    Raises:
        InvalidRequest: No such operation, or not its body.
    """
    operation = _OPERATIONS.get(request.op)
    if operation is None:
        raise InvalidRequest("op", "no such operation")
    try:
        return operation.parse(request)
    except ValidationError as error:
        raise InvalidRequest("body", "not the body of this operation") from error


def _embed(
    holdings: Holdings, body: EmbedRequest
) -> Generator[Sequence[Unit] | None, None, EmbedReply]:
    encoder = holdings.encoder(body.model)
    return pack_vectors((yield from encoder.encode_in_steps(body.texts, whole=body.is_passage)))


def _upsert(holdings: Holdings, body: UpsertRequest) -> Generator[None, None, Empty]:
    shard = holdings.shard(body.model)
    try:
        points = unpack_points(body, shard.dimension)
    except (ValueError, RuntimeError, StopIteration) as error:
        raise InvalidRequest("points", "the columns do not fit together") from error
    yield from shard.upsert(points)
    return Empty()


def _query(holdings: Holdings, body: QueryRequest) -> Generator[None, None, QueryReply]:
    yield from ()
    legs = _legs(holdings, body, unpack_dense(body))
    return QueryReply(dense=pack_leg(legs.dense), sparse=pack_leg(legs.sparse))


def _search(
    holdings: Holdings, body: SearchRequest
) -> Generator[Sequence[Unit] | None, None, SearchReply]:
    started = time.perf_counter()
    encoder = holdings.encoder(body.model)
    vectors = yield from encoder.encode_in_steps([body.question], whole=False)
    encoding_ms = 1000 * (time.perf_counter() - started)
    legs = _legs(holdings, body, vectors[0])
    return SearchReply.model_construct(
        dense=pack_leg(legs.dense),
        sparse=pack_leg(legs.sparse),
        vector=pack_vectors(vectors).data,
        encoding_ms=encoding_ms,
    )


def _legs(
    holdings: Holdings, body: QueryRequest | SearchRequest, dense: NDArray[np.float32] | None
) -> Legs:
    return holdings.shard(body.model).query(
        body.kb_ids,
        dense=dense,
        sparse=unpack_sparse(body),
        depth=body.depth,
        among=Among(body.only, body.hidden or ()),
    )


def _delete_documents(
    holdings: Holdings, body: DeleteDocumentsRequest
) -> Generator[None, None, Empty]:
    yield from holdings.shard(body.model).delete_documents(body.document_ids, body.revisions)
    return Empty()


def _delete_knowledge_base(
    holdings: Holdings, body: DeleteKnowledgeBaseRequest
) -> Generator[None, None, Empty]:
    yield from holdings.shard(body.model).delete_knowledge_base(body.kb_id)
    return Empty()


def _count(holdings: Holdings, body: CountRequest) -> Generator[None, None, CountReply]:
    yield from ()
    return CountReply(count=holdings.shard(body.model).count(body.kb_id, body.document_id))


def _points(holdings: Holdings, body: PointsRequest) -> Generator[None, None, PointsReply]:
    yield from ()
    points, offset = holdings.shard(body.model).points_of(
        body.document_id, body.revision, body.offset
    )
    return PointsReply(points=pack_points(body.model, points), offset=offset)


def _documents(holdings: Holdings, body: ModelRequest) -> Generator[None, None, DocumentsReply]:
    return pack_documents((yield from holdings.shard(body.model).documents()))


def _flush(holdings: Holdings, body: ModelRequest) -> Generator[None, None, Empty]:
    yield
    holdings.shard(body.model).flush()
    return Empty()


def _always(_body: Message) -> bool:
    return True


def _never(_body: Message) -> bool:
    return False


def _is_ordinary(body: SearchRequest) -> bool:
    return len(body.question) <= _ORDINARY_CHARACTERS and body.depth <= _ORDINARY_DEPTH


def _for_queries(body: EmbedRequest) -> bool:
    return not body.is_passage


_OPERATIONS = {
    "embed": _Operation(EmbedRequest, Part.ENCODER, _embed, _for_queries),
    "query": _Operation(QueryRequest, Part.READS_INDEX, _query, _always),
    "search": _Operation(SearchRequest, Part.READS_BOTH, _search, _always, _is_ordinary),
    # Probes count, and nobody waits for those.
    "count": _Operation(CountRequest, Part.READS_INDEX, _count, _never),
    "upsert": _Operation(UpsertRequest, Part.WRITES_INDEX, _upsert, _never),
    "delete_documents": _Operation(
        DeleteDocumentsRequest, Part.WRITES_INDEX, _delete_documents, _never
    ),
    "delete_knowledge_base": _Operation(
        DeleteKnowledgeBaseRequest, Part.WRITES_INDEX, _delete_knowledge_base, _never
    ),
    "points": _Operation(PointsRequest, Part.READS_INDEX, _points, _never),
    "documents": _Operation(ModelRequest, Part.READS_INDEX, _documents, _never),
    "flush": _Operation(ModelRequest, Part.READS_INDEX, _flush, _never),
}
