"""Explanation of why a search did not return a passage."""

from typing import Self

from fastapi import Depends
from pydantic import Field, model_validator

from api.dependencies import CurrentContext, CurrentPrincipal, requires
from api.http.errors import EMBEDDING_FAILURES, error_responses
from api.http.responses import Envelope, ResponseModel, Text
from api.http.routing import Router
from api.knowledge_bases.search import RetrievalBody
from api.knowledge_bases.search_schemas import Explanation, ReasonAnswer, explanation, reason_answer
from core.auth.permissions import Permission
from core.auth.principal import Action
from core.errors.auth import ChunkNotFound, DocumentNotFound, KnowledgeBaseNotFound
from core.errors.requests import EmptyQuery, InvalidRequest, QueryTooLong
from core.types.errors import FieldValueError
from kb_service.knowledge_bases import service as knowledge_bases
from kb_service.models import Chunk
from kb_service.retrieval.explain import Explainer, PassageExplanation, PassagePosition, PassageRef, find_passage
from kb_service.retrieval.request import RetrievalRequest

router = Router(prefix="/api/v1", tags=["search"])
View = Depends(requires(Permission.KB_VIEW))


class WhyBody(RetrievalBody):
    """A search, and the passage in question: by its id, or by its document and some words."""

    chunk_id: Text | None = Field(default=None, max_length=36)
    document_id: Text | None = Field(default=None, max_length=36)
    text: Text | None = Field(default=None, max_length=10_000, description="Words of the passage")

    @model_validator(mode="after")
    def _one_passage(self) -> Self:
        by_text = self.document_id is not None and self.text is not None and self.text.strip()
        if self.chunk_id is None and not by_text:
            zh = "需要 chunk_id，或 document_id 和 text"
            raise FieldValueError("needs chunk_id, or document_id and text", zh)
        return self


class LegAnswer(ResponseModel):
    """A passage in one leg; the rank is null where it lies behind the first 10,000."""

    rank: int | None
    score: float


class PassageInQuestion(ResponseModel):
    """The passage that was meant."""

    chunk_id: str
    document_id: str
    revision: int
    content: str
    heading_path: list[str]
    page: int | None
    enabled: bool


class WhyAnswer(ResponseModel):
    """What became of the passage: the first reason, and how far it came.

    ``dense`` and ``sparse`` are its exact places by meaning and by words, however deep;
    ``place`` counts after the rerank. ``dense_used`` is false where the encoder can't read the
    query, which is then searched by words only.
    """

    reason: ReasonAnswer
    document_name: str
    passage: PassageInQuestion | None
    dense: LegAnswer | None
    sparse: LegAnswer | None
    dense_used: bool
    place: int | None
    score: float | None
    legs: Explanation | None
    lowest_score_shown: float | None
    request: RetrievalRequest


@router.post(
    "/knowledge-bases/{kb_id}/search/why",
    dependencies=[View],
    responses=error_responses(
        InvalidRequest,
        EmptyQuery,
        QueryTooLong,
        KnowledgeBaseNotFound,
        DocumentNotFound,
        ChunkNotFound,
        *EMBEDDING_FAILURES,
    ),
)
async def explain_absence(
    kb_id: Text, body: WhyBody, principal: CurrentPrincipal, context: CurrentContext
) -> Envelope[WhyAnswer]:
    """See where a passage stands in a search, and the first reason why it is not shown."""
    async with context.database.reading() as session:
        row = await knowledge_bases.get(session, principal, kb_id, Action.READ)
        passage_ref = PassageRef(body.chunk_id, body.document_id, body.text)
        document, chunk = await find_passage(session, principal, row, passage_ref)
        most = (await context.live.read(session)).search_top_k
    request = context.knowledge.searcher.resolve([row], body.query, body, filters=body.filters, top_k=most)
    explainer = Explainer(context.database, context.knowledge.searcher, principal, row, request)
    return Envelope(data=_answer(await explainer.explain(document, chunk)))


def _answer(why: PassageExplanation) -> WhyAnswer:
    scores = [passage.hit.score for passage in why.result.passages]
    return WhyAnswer(
        reason=reason_answer(why.reason),
        document_name=why.document_name,
        passage=None if why.chunk is None else _passage(why.chunk),
        dense=_leg(why.dense),
        sparse=_leg(why.sparse),
        dense_used=why.result.dense_weight > 0,
        place=why.place,
        score=None if why.hit is None else round(why.hit.score, 4),
        legs=None if why.hit is None else explanation(why.hit),
        lowest_score_shown=round(min(scores), 4) if scores else None,
        request=why.result.request,
    )


def _passage(chunk: Chunk) -> PassageInQuestion:
    return PassageInQuestion(
        chunk_id=chunk.id,
        document_id=chunk.document_id,
        revision=chunk.revision,
        content=chunk.content,
        heading_path=chunk.heading_path,
        page=chunk.page,
        enabled=chunk.enabled,
    )


def _leg(position: PassagePosition | None) -> LegAnswer | None:
    return None if position is None else LegAnswer(rank=position.rank, score=position.score)
