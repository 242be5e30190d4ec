"""Evaluations of a knowledge base with its saved questions."""

import time
from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any

from fastapi import Depends, Query, Request
from pydantic import JsonValue
from starlette.requests import ClientDisconnect

from api.container import AppContext
from api.dependencies import CurrentContext, CurrentPrincipal, Reading, Writing, paging, requires
from api.http.errors import EMBEDDING_FAILURES, error_responses
from api.http.responses import Empty, Envelope, Items, RequestModel, ResponseModel, Text, page_of
from api.http.routing import Router
from api.streaming.framing import EVENT_STREAM, stream_response
from api.streaming.response import EventStream
from api.streaming.work_stream import Progress, sse_event, with_error_event
from core.auth.permissions import Permission
from core.auth.principal import Action, Principal
from core.db.pagination import PageRequest
from core.db.unit_of_work import unit_of_work
from core.errors.auth import EvaluationNotFound, KnowledgeBaseNotFound, ReadOnly
from core.errors.conflicts import NoQuestions
from core.errors.requests import InvalidPagination
from kb_service import questions
from kb_service.evaluation import store as evaluation_store
from kb_service.evaluation.runner import (
    AskQuestion,
    QuestionResult,
    SavedQuestion,
    ask_all,
    bind_search,
    questions_from_rows,
    summarise,
)
from kb_service.knowledge_bases import service as knowledge_bases
from kb_service.models import Evaluation, KnowledgeBase
from kb_service.retrieval.request import RetrievalOptions

router = Router(prefix="/api/v1/knowledge-bases/{kb_id}/evaluations", tags=["evaluation"])
View = Depends(requires(Permission.KB_VIEW))
Write = Depends(requires(Permission.KB_WRITE))

_PROGRESS_SECONDS = 0.25
_READ_ERRORS = error_responses(KnowledgeBaseNotFound, EvaluationNotFound)


class EvaluationBody(RequestModel):
    """Choices that differ from the knowledge base's own, to try them before they are kept."""

    options: RetrievalOptions = RetrievalOptions()


class Change(ResponseModel):
    """Differences to the measurement before; ``same_questions`` says whether they mean much."""

    evaluation_id: str
    same_questions: bool
    figures: dict[str, float]


class EvaluationAnswer(ResponseModel):
    """A measurement: means over the questions from 0 to 1, times in milliseconds."""

    id: str
    knowledge_base_id: str
    created_by: str
    created_at: datetime
    generation: int
    settings: dict[str, JsonValue]
    metrics: dict[str, float]
    change: Change | None = None


class RankedPassage(ResponseModel):
    """One of the first passages that a question found."""

    chunk_id: str
    document: str
    score: float
    is_right: bool


class QuestionResultAnswer(ResponseModel):
    """What became of a question; ``rank`` is None where no right passage is among the first ten."""

    question_id: str
    question: str
    expected: list[dict[str, str]]
    places: list[int | None]
    rank: int | None
    took_ms: float
    top: list[RankedPassage]


class WholeEvaluationAnswer(EvaluationAnswer):
    """A measurement with the result of each question."""

    results: list[QuestionResultAnswer]


class Moved(ResponseModel):
    """A question whose right passage stands elsewhere than before."""

    question_id: str
    question: str
    rank: int | None
    rank_before: int | None


class ComparisonAnswer(ResponseModel):
    """Two measurements side by side; ``change`` is over the questions that both asked."""

    before: EvaluationAnswer
    after: EvaluationAnswer
    change: dict[str, float]
    better: list[Moved]
    worse: list[Moved]
    unchanged: int
    only_before: int
    only_after: int


def _answer(row: Evaluation, earlier: Evaluation | None) -> EvaluationAnswer:
    return EvaluationAnswer.model_validate(_fields(row, earlier))


def _fields(row: Evaluation, earlier: Evaluation | None) -> dict[str, Any]:
    change = earlier and Change(
        evaluation_id=earlier.id,
        same_questions=evaluation_store.same_questions(row, earlier),
        figures=evaluation_store.difference(row, earlier),
    )
    return {**row.model_dump(exclude={"results"}), "change": change}


def _moved(changes: Sequence[tuple[dict[str, Any], int | None]]) -> list[Moved]:
    return [Moved.model_validate({**result, "rank_before": rank}) for result, rank in changes]


@router.post(
    "",
    dependencies=[Write],
    response_model=Envelope[WholeEvaluationAnswer],
    responses={
        **error_responses(ReadOnly, KnowledgeBaseNotFound, NoQuestions, *EMBEDDING_FAILURES),
        200: {"content": {EVENT_STREAM: {"schema": {"type": "string"}}}},
    },
)
async def evaluate_knowledge_base(
    kb_id: Text,
    request: Request,
    principal: CurrentPrincipal,
    context: CurrentContext,
    body: EvaluationBody | None = None,
) -> Envelope[WholeEvaluationAnswer] | EventStream:
    """Ask all saved questions through the search and keep the figures.

    ``options`` are measured without being kept as the knowledge base's own; ten passages are
    always looked at.

    With ``Accept: text/event-stream`` the answer tells how far it is in events ``progress`` and
    ends with ``result`` or ``error``. Who closes the connection cancels the measurement: then
    nothing is kept.
    """
    async with context.database.reading() as session:
        row = await knowledge_bases.get(session, principal, kb_id, Action.WRITE)
        saved_questions = questions_from_rows(await questions.list_all(session, principal, row))
    if not saved_questions:
        raise NoQuestions
    options = body.options if body is not None else RetrievalOptions()
    task = _Task(context, principal, row, options)
    if EVENT_STREAM in request.headers.get("accept", ""):
        language = request.headers.get("accept-language", "")
        return stream_response(with_error_event(_events(task, saved_questions), language))
    results: list[QuestionResult] = []
    async for result in ask_all(task.ask, saved_questions):
        results.append(result)
        if await request.is_disconnected():
            raise ClientDisconnect
    return Envelope(data=await _keep(task, results))


@dataclass(frozen=True)
class _Task:
    context: AppContext
    principal: Principal
    knowledge_base: KnowledgeBase
    options: RetrievalOptions

    @property
    def ask(self) -> AskQuestion:
        searcher, base = self.context.knowledge.searcher, self.knowledge_base
        return bind_search(searcher, self.principal, base, self.options)


async def _keep(task: _Task, results: Sequence[QuestionResult]) -> WholeEvaluationAnswer:
    async with unit_of_work(task.context.database) as work:
        # Once more: it may have gone meanwhile.
        row = await knowledge_bases.get(work.session, task.principal, task.knowledge_base.id, Action.WRITE)
        retrieval = {**row.retrieval, **task.options.choices()}
        evaluation = await evaluation_store.save(work, task.principal, row, summarise(results), retrieval)
        earlier = await evaluation_store.previous_evaluation(work.session, task.principal, row, evaluation)
        return _whole(evaluation, earlier)


def _whole(row: Evaluation, earlier: Evaluation | None) -> WholeEvaluationAnswer:
    fields = {**_fields(row, earlier), "results": row.results}
    return WholeEvaluationAnswer.model_validate(fields)


async def _events(task: _Task, saved_questions: Sequence[SavedQuestion]) -> AsyncGenerator[bytes]:
    results: list[QuestionResult] = []
    reported = 0.0
    async for result in ask_all(task.ask, saved_questions):
        results.append(result)
        if time.monotonic() - reported >= _PROGRESS_SECONDS:
            reported = time.monotonic()
            yield sse_event("progress", Progress(done=len(results), total=len(saved_questions)))
    yield sse_event("result", await _keep(task, results))


@router.get("", dependencies=[View], responses=error_responses(InvalidPagination, KnowledgeBaseNotFound))
async def list_evaluations(
    kb_id: Text,
    principal: CurrentPrincipal,
    session: Reading,
    page: Annotated[PageRequest, Depends(paging(*evaluation_store.SORT_FIELDS))],
) -> Envelope[Items[EvaluationAnswer]]:
    """One page of a knowledge base's measurements, each with its change to the one before."""
    row = await knowledge_bases.get(session, principal, kb_id, Action.READ)
    listing = await evaluation_store.list_evaluations(session, principal, row, page)
    items = [_answer(evaluation, earlier) for evaluation, earlier in listing.items]
    return page_of(items, page, total=listing.total)


@router.get("/{evaluation_id}", dependencies=[View], responses=_READ_ERRORS)
async def read_evaluation(
    kb_id: Text, evaluation_id: Text, principal: CurrentPrincipal, session: Reading
) -> Envelope[WholeEvaluationAnswer]:
    """One measurement with the result of each question."""
    row = await knowledge_bases.get(session, principal, kb_id, Action.READ)
    evaluation = await evaluation_store.get(session, principal, row, evaluation_id)
    return Envelope(
        data=_whole(evaluation, await evaluation_store.previous_evaluation(session, principal, row, evaluation))
    )


@router.get("/{evaluation_id}/compare", dependencies=[View], responses=_READ_ERRORS)
async def compare_evaluations(
    kb_id: Text,
    evaluation_id: Text,
    principal: CurrentPrincipal,
    session: Reading,
    earlier_id: Annotated[Text, Query(alias="with", description="The earlier measurement")],
) -> Envelope[ComparisonAnswer]:
    """Which questions do better and which do worse than in an earlier measurement."""
    row = await knowledge_bases.get(session, principal, kb_id, Action.READ)
    later = await evaluation_store.get(session, principal, row, evaluation_id)
    earlier = await evaluation_store.get(session, principal, row, earlier_id)
    compared = evaluation_store.compare(later, earlier)
    return Envelope(
        data=ComparisonAnswer(
            before=_answer(earlier, None),
            after=_answer(later, None),
            change=compared.change,
            better=_moved(compared.better),
            worse=_moved(compared.worse),
            unchanged=compared.unchanged,
            only_before=compared.only_before,
            only_after=compared.only_after,
        )
    )


@router.delete(
    "/{evaluation_id}",
    dependencies=[Write],
    responses=error_responses(ReadOnly, KnowledgeBaseNotFound, EvaluationNotFound),
)
async def delete_evaluation(kb_id: Text, evaluation_id: Text, principal: CurrentPrincipal, work: Writing) -> Empty:
    """Forget a measurement."""
    row = await knowledge_bases.get(work.session, principal, kb_id, Action.WRITE)
    evaluation = await evaluation_store.get(work.session, principal, row, evaluation_id)
    await evaluation_store.delete(work, evaluation)
    return Empty()
