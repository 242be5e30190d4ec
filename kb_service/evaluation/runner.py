"""Runs saved questions through the search and measures the ranks of the right passages."""

from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from dataclasses import dataclass

from kb_service.evaluation import metrics
from kb_service.evaluation.matching import ExpectedPassage, RetrievedPassage, match_expected
from kb_service.evaluation.metrics import CUT_OFF, Quality
from kb_service.models import KnowledgeBase, Question
from kb_service.retrieval.request import RetrievalOptions
from kb_service.retrieval.service import FoundPassage, Searcher, SearchResult
from kb_service.visibility import Viewer

AskQuestion = Callable[[str], Awaitable[SearchResult]]
"""Searches for a question, at least ``CUT_OFF`` passages deep, in what is measured."""

_SHOWN_PASSAGES = 5


@dataclass(frozen=True)
class SavedQuestion:
    """A question and at least one passage that would answer it."""

    id: str
    text: str
    expected: tuple[ExpectedPassage, ...]


@dataclass(frozen=True)
class TopPassage:
    """One of the first passages found for a question."""

    chunk_id: str
    document: str
    score: float
    is_right: bool


@dataclass(frozen=True)
class QuestionResult:
    """The result of one question.

    Args:
        places: the rank, from 1, of each expected passage; None: not among the first ten.
    """

    question: SavedQuestion
    places: tuple[int | None, ...]
    quality: Quality
    top: tuple[TopPassage, ...]
    took_ms: float

    @property
    def rank(self) -> int | None:
        return min((place for place in self.places if place is not None), default=None)


@dataclass(frozen=True)
class EvaluationReport:
    """A whole measurement: means over the questions, times in milliseconds."""

    quality: Quality
    p50_ms: float
    p95_ms: float
    results: tuple[QuestionResult, ...]


async def evaluate(ask: AskQuestion, questions: Sequence[SavedQuestion]) -> EvaluationReport:
    """Ask all questions one after the other and measure; a failed search fails the whole measurement.

    Args:
        ask: binds what is searched and how, so that current settings, a request's and a re-index's shadow are measured
            by the same code.
    """
    return summarise([result async for result in ask_all(ask, questions)])


async def ask_all(ask: AskQuestion, questions: Sequence[SavedQuestion]) -> AsyncGenerator[QuestionResult]:
    """The results as they come, for callers that show progress or may stop early."""
    for question in questions:
        yield _score(question, await ask(question.text))


def summarise(results: Sequence[QuestionResult]) -> EvaluationReport:
    """The metrics over all results."""
    times = [result.took_ms for result in results]
    return EvaluationReport(
        quality=metrics.mean([result.quality for result in results]),
        p50_ms=metrics.percentile(times, 0.5),
        p95_ms=metrics.percentile(times, 0.95),
        results=tuple(results),
    )


def questions_from_rows(rows: Sequence[Question]) -> list[SavedQuestion]:
    """Convert stored questions."""
    return [
        SavedQuestion(row.id, row.text, tuple(ExpectedPassage(**passage) for passage in row.expected)) for row in rows
    ]


def bind_search(
    searcher: Searcher,
    viewer: Viewer,
    knowledge_base: KnowledgeBase,
    options: RetrievalOptions | None = None,
    *,
    shadow: bool = False,
) -> AskQuestion:
    """The normal search of a knowledge base as an ``AskQuestion``.

    Args:
        options: override the knowledge base's own.
        shadow: measure what a re-index has built so far instead of what searches see.
    """
    chosen = options or RetrievalOptions()
    deep = chosen.model_copy(update={"top_k": CUT_OFF})

    async def ask(question: str) -> SearchResult:
        request = searcher.resolve([knowledge_base], question, deep)
        return await searcher.search(viewer, [knowledge_base], request, shadow=shadow)

    return ask


def _score(question: SavedQuestion, result: SearchResult) -> QuestionResult:
    passages = result.passages[:CUT_OFF]
    retrieved = [RetrievedPassage(passage.document_name, passage.chunk.content) for passage in passages]
    right = match_expected(question.expected, retrieved)
    places = tuple(row.index(True) + 1 if any(row) else None for row in right)
    answers = [any(column) for column in zip(*right, strict=True)]
    top = zip(passages[:_SHOWN_PASSAGES], answers, strict=False)
    return QuestionResult(
        question=question,
        places=places,
        quality=metrics.quality(places),
        top=tuple(_top(passage, is_right=is_right) for passage, is_right in top),
        took_ms=result.took_ms,
    )


def _top(passage: FoundPassage, *, is_right: bool) -> TopPassage:
    return TopPassage(
        chunk_id=passage.chunk.id, document=passage.document_name, score=round(passage.hit.score, 4), is_right=is_right
    )
