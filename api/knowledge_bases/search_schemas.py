"""Search results in answers."""

from collections.abc import Sequence

from pydantic import Field, JsonValue

from api.http.responses import ResponseModel
from core.text.sanitize import strip_hidden
from kb_service.retrieval.fusion import LegRank
from kb_service.retrieval.request import RetrievalRequest
from kb_service.retrieval.rerankers.lexical import PHRASE_WEIGHT, WINDOW_WEIGHT, RankedHit
from kb_service.retrieval.results import (
    ContextPart,
    DroppedHit,
    DropReason,
    FoundPassage,
    SearchResult,
    SearchWarning,
    UnsearchedWarning,
)


class Place(ResponseModel):
    """A passage's place in one leg: rank from 1, the leg's own score, and that from 0 to 1."""

    rank: int
    score: float
    normalised: float


class Explanation(ResponseModel):
    """How a passage got its score: ``final = fused + 0.5 window + 0.25 phrase``.

    ``relevance`` is a reranker's own judgement, which is the score then.
    """

    dense: Place | None
    sparse: Place | None
    fused: float
    window: float
    phrase: float
    final: float
    relevance: float | None = None


class ContextAnswer(ResponseModel):
    """Text beside a passage; the span counts characters of the document's extracted text."""

    chunk_id: str
    content: str
    char_start: int
    char_end: int


class PassageAnswer(ResponseModel):
    """A passage; spans count characters of the document's extracted text.

    Texts are shown without hidden characters; the chunk itself has them. ``metadata`` is the document's, if asked for.
    """

    document_id: str
    document_name: str
    chunk_id: str
    content: str
    score: float
    knowledge_base_id: str
    revision: int
    heading_path: list[str]
    page: int | None
    char_start: int
    char_end: int
    before: list[ContextAnswer] = Field(default=[])
    after: list[ContextAnswer] = Field(default=[])
    legs: Explanation | None = None
    metadata: dict[str, JsonValue] | None = None


class ReasonAnswer(ResponseModel):
    """Something to know, in both languages; ``code`` is stable."""

    code: str = Field(examples=["top_k"])
    message: str
    message_zh: str


class DroppedAnswer(ResponseModel):
    """A candidate that is not in the answer, and the first reason for it."""

    chunk_id: str
    document_id: str
    reason: ReasonAnswer
    score: float | None = None
    legs: Explanation | None = None


class Weights(ResponseModel):
    """What was applied: ``score = (sparse + dense + window + phrase) / highest``."""

    sparse: float
    dense: float
    window: float
    phrase: float
    highest: float


class TimingsAnswer(ResponseModel):
    """Where the time went, in milliseconds."""

    encode_ms: float
    index_ms: float
    database_ms: float
    rerank_ms: float


class ExplainAnswer(ResponseModel):
    """How the answer came about."""

    weights: Weights
    timings: TimingsAnswer
    dropped: list[DroppedAnswer]


class SearchAnswer(ResponseModel):
    """Passages, best first; scores are relative to this query, not probabilities.

    ``request`` is the search with every choice made: sent again, it is the same search.
    """

    results: list[PassageAnswer]
    dense_weight: float
    took_ms: float
    request: RetrievalRequest
    warnings: list[ReasonAnswer] = Field(default=[])
    explain: ExplainAnswer | None = None


def search_answer(result: SearchResult, *, explain: bool) -> SearchAnswer:
    """The API form of a search's result."""
    return SearchAnswer(
        results=[passage_answer(passage, explain=explain) for passage in result.passages],
        dense_weight=result.dense_weight,
        took_ms=round(result.took_ms, 2),
        request=result.request,
        warnings=reason_answers(result.warnings),
        explain=_explained(result) if explain else None,
    )


def reason_answers(facts: Sequence[SearchWarning | UnsearchedWarning | DropReason]) -> list[ReasonAnswer]:
    """Facts with their texts."""
    return [reason_answer(fact) for fact in facts]


def reason_answer(fact: SearchWarning | UnsearchedWarning | DropReason) -> ReasonAnswer:
    """A fact with its texts."""
    return ReasonAnswer(code=fact.code, message=fact.message, message_zh=fact.message_zh)


def passage_answer(passage: FoundPassage, *, explain: bool) -> PassageAnswer:
    """The API form of a passage."""
    chunk = passage.chunk
    return PassageAnswer(
        document_id=chunk.document_id,
        document_name=passage.document_name,
        chunk_id=chunk.id,
        content=strip_hidden(chunk.content),
        score=round(passage.hit.score, 4),
        knowledge_base_id=chunk.knowledge_base_id,
        revision=chunk.revision,
        heading_path=list(map(strip_hidden, chunk.heading_path)),
        page=chunk.page,
        char_start=chunk.char_start,
        char_end=chunk.char_end,
        before=_context(passage.before),
        after=_context(passage.after),
        legs=explanation(passage.hit) if explain else None,
    )


def explanation(hit: RankedHit) -> Explanation:
    """The scores that ranked a hit."""
    return Explanation(
        dense=rank_answer(hit.fused.dense),
        sparse=rank_answer(hit.fused.sparse),
        fused=hit.fused.score,
        window=hit.window,
        phrase=hit.phrase,
        final=hit.final,
        relevance=hit.relevance,
    )


def rank_answer(place: LegRank | None) -> Place | None:
    """The API form of a rank in a leg."""
    if place is None:
        return None
    return Place(rank=place.rank, score=place.score, normalised=place.normalised)


def _context(parts: Sequence[ContextPart]) -> list[ContextAnswer]:
    return [
        ContextAnswer(
            chunk_id=part.chunk_id,
            content=strip_hidden(part.content),
            char_start=part.char_start,
            char_end=part.char_end,
        )
        for part in parts
    ]


def _explained(result: SearchResult) -> ExplainAnswer:
    is_reranked = result.request.rerank
    window, phrase = (WINDOW_WEIGHT, PHRASE_WEIGHT) if is_reranked else (0.0, 0.0)
    weights = Weights(
        sparse=1,
        dense=result.dense_weight,
        window=window,
        phrase=phrase,
        highest=1 + result.dense_weight + window + phrase,
    )
    timings = result.timings
    return ExplainAnswer(
        weights=weights,
        timings=TimingsAnswer(
            encode_ms=timings.encode_ms,
            index_ms=timings.index_ms,
            database_ms=timings.database_ms,
            rerank_ms=timings.rerank_ms,
        ),
        dropped=[_dropped(dropped) for dropped in result.dropped],
    )


def _dropped(dropped: DroppedHit) -> DroppedAnswer:
    hit = dropped.hit
    return DroppedAnswer(
        chunk_id=dropped.chunk_id,
        document_id=dropped.document_id,
        reason=reason_answer(dropped.reason),
        score=None if hit is None else round(hit.score, 4),
        legs=None if hit is None else explanation(hit),
    )
