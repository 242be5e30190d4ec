"""Stored evaluations with the settings of their time: saving, listing, comparing."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import orjson
from sqlalchemy import ColumnElement, and_, func
from sqlalchemy import delete as delete_from
from sqlalchemy.orm import defer
from sqlmodel import col, select
from sqlmodel.ext.asyncio.session import AsyncSession

from core.auth.principal import Principal
from core.db.pagination import PageRequest, paginate
from core.db.unit_of_work import UnitOfWork
from core.errors.auth import EvaluationNotFound
from kb_service.evaluation.metrics import mean, quality
from kb_service.evaluation.runner import EvaluationReport, QuestionResult
from kb_service.models import Chunk, Document, Evaluation, KnowledgeBase
from kb_service.visibility import Viewer, sees_all, visible_to

MAX_EVALUATIONS = 50
"""Evaluations kept per knowledge base; the oldest are deleted first."""

SORT_FIELDS = ("created_at",)
FIGURES = ("recall_1", "recall_5", "recall_10", "mrr_10", "ndcg_10")
_TIMES = ("p50_ms", "p95_ms")


@dataclass(frozen=True)
class EvaluationListing:
    """One page of evaluations without ``results``, each with its predecessor, and the total."""

    items: Sequence[tuple[Evaluation, Evaluation | None]]
    total: int


@dataclass(frozen=True)
class EvaluationComparison:
    """Two evaluations side by side, over the questions that both asked alike.

    Args:
        better: results of questions whose right passage rose, with the rank before.
        worse: results of questions whose right passage fell, with the rank before.
        change: later minus earlier, per metric, over the questions that both asked.
    """

    better: list[tuple[dict[str, Any], int | None]]
    worse: list[tuple[dict[str, Any], int | None]]
    unchanged: int
    only_before: int
    only_after: int
    change: dict[str, float]


async def save(
    work: UnitOfWork,
    principal: Principal,
    knowledge_base: KnowledgeBase,
    report: EvaluationReport,
    retrieval: Mapping[str, Any],
) -> Evaluation:
    """Store an evaluation, and delete the oldest if there are too many.

    Args:
        retrieval: the options that the searches ran with, JSON-ready.
    """
    row = Evaluation(
        knowledge_base_id=knowledge_base.id,
        created_by=principal.user_id,
        generation=knowledge_base.generation,
        settings={
            **await snapshot(work.session, principal, knowledge_base, retrieval),
            "questions": len(report.results),
            "questions_digest": _digest(report.results),
        },
        metrics={**vars(report.quality), "p50_ms": round(report.p50_ms, 2), "p95_ms": round(report.p95_ms, 2)},
        results=[_to_json(result) for result in report.results],
    )
    work.session.add(row)
    await work.session.flush()
    await _forget_oldest(work.session, knowledge_base.id)
    return row


async def snapshot(
    session: AsyncSession, viewer: Viewer, knowledge_base: KnowledgeBase, retrieval: Mapping[str, Any]
) -> dict[str, Any]:
    """The settings and the size of a knowledge base that affect what the viewer finds."""
    is_searchable = (
        col(Document.knowledge_base_id) == knowledge_base.id,
        col(Document.deleted_at).is_(None),
        col(Document.active_revision).is_not(None),
        visible_to(viewer),
    )
    counted = select(func.count(), func.coalesce(func.sum(Document.chunk_count), 0)).where(*is_searchable)
    documents, chunks = (await session.exec(counted)).one()
    disabled = (
        select(func.count())
        .select_from(Chunk)
        .where(col(Chunk.knowledge_base_id) == knowledge_base.id, col(Chunk.enabled).is_(False))
    )
    if not sees_all(knowledge_base, viewer):
        theirs = select(Document.id).where(col(Document.knowledge_base_id) == knowledge_base.id, visible_to(viewer))
        disabled = disabled.where(col(Chunk.document_id).in_(theirs))
    return {
        "embedding_model": knowledge_base.embedding_model,
        "splitter": knowledge_base.splitter,
        "chunk_size": knowledge_base.chunk_size,
        "chunk_overlap": knowledge_base.chunk_overlap,
        "retrieval": dict(retrieval),
        "documents": documents,
        "chunks": int(chunks),
        "disabled_chunks": (await session.exec(disabled)).one(),
    }


def _digest(results: Sequence[QuestionResult]) -> str:
    """Hash of the questions and their expectations, independent of order."""
    questions = sorted(
        orjson.dumps([result.question.text, [vars(passage) for passage in result.question.expected]])
        for result in results
    )
    return hashlib.sha256(b"\n".join(questions)).hexdigest()


def _to_json(result: QuestionResult) -> dict[str, Any]:
    return {
        "question_id": result.question.id,
        "question": result.question.text,
        "expected": [vars(passage) for passage in result.question.expected],
        "places": list(result.places),
        "rank": result.rank,
        "took_ms": round(result.took_ms, 2),
        "top": [vars(passage) for passage in result.top],
    }


async def _forget_oldest(session: AsyncSession, knowledge_base_id: str) -> None:
    mine = col(Evaluation.knowledge_base_id) == knowledge_base_id
    newest_first = select(Evaluation.id).where(mine).order_by(col(Evaluation.created_at).desc(), col(Evaluation.id))
    newest = newest_first.limit(MAX_EVALUATIONS)
    await session.exec(delete_from(Evaluation).where(mine, col(Evaluation.id).not_in(newest)))


def _visible(knowledge_base: KnowledgeBase, viewer: Viewer) -> tuple[ColumnElement[bool], ...]:
    """Condition for the evaluations that the viewer may see.

    They contain names of documents and words of passages. Once a document was restricted, only the owner sees those of
    others; authors keep their own, whose contents they already saw.
    """
    of_this = col(Evaluation.knowledge_base_id) == knowledge_base.id
    if sees_all(knowledge_base, viewer):
        return (of_this,)
    return (of_this, col(Evaluation.created_by) == viewer.user_id)


async def get(session: AsyncSession, viewer: Viewer, knowledge_base: KnowledgeBase, evaluation_id: str) -> Evaluation:
    """Load an evaluation of a knowledge base that already passed the gate."""
    query = select(Evaluation).where(Evaluation.id == evaluation_id, *_visible(knowledge_base, viewer))
    row = (await session.exec(query)).first()
    if row is None:
        raise EvaluationNotFound
    return row


async def previous_evaluation(
    session: AsyncSession, viewer: Viewer, knowledge_base: KnowledgeBase, row: Evaluation
) -> Evaluation | None:
    """The preceding evaluation of the same knowledge base that the viewer may see."""
    query = (
        select(Evaluation)
        .where(*_visible(knowledge_base, viewer), col(Evaluation.created_at) < row.created_at)
        .order_by(col(Evaluation.created_at).desc())
        .limit(1)
    )
    return (await session.exec(query)).first()


async def list_evaluations(
    session: AsyncSession, viewer: Viewer, knowledge_base: KnowledgeBase, page: PageRequest
) -> EvaluationListing:
    """One page of the evaluations that the viewer may see, each with its predecessor."""
    mine = and_(*_visible(knowledge_base, viewer))
    whole = PageRequest(1, MAX_EVALUATIONS, page.sort_by, page.descending)
    columns = {"created_at": col(Evaluation.created_at)}
    # All rows: they are few, and a row's predecessor may be on another page.
    short = select(Evaluation).where(mine).options(defer(Evaluation.results))  # pyright: ignore[reportArgumentType] # a table class's attribute is a column
    rows = (await session.exec(paginate(short, whole, columns=columns, tie=col(Evaluation.id)))).all()
    by_age = sorted(rows, key=lambda row: row.created_at)
    earlier = {row.id: old for old, row in pairwise(by_age)}
    part = rows[(page.number - 1) * page.size : page.number * page.size]
    return EvaluationListing([(row, earlier.get(row.id)) for row in part], len(rows))


async def delete(work: UnitOfWork, row: Evaluation) -> None:
    """Delete an evaluation."""
    await work.session.delete(row)


def difference(later: Evaluation, earlier: Evaluation) -> dict[str, float]:
    """Later minus earlier, per metric."""
    return {
        name: round(later.metrics[name] - earlier.metrics[name], 6)
        for name in (*FIGURES, *_TIMES)
        if name in later.metrics and name in earlier.metrics
    }


def same_questions(evaluation: Evaluation, other: Evaluation) -> bool:
    """Whether both asked the same questions with the same expectations."""
    return evaluation.settings.get("questions_digest") == other.settings.get("questions_digest")


def compare(later: Evaluation, earlier: Evaluation) -> EvaluationComparison:
    """Questions that improved or got worse; one whose expectation changed counts as another."""
    old = {_identity(result): result for result in earlier.results}
    new = {_identity(result): result for result in later.results}
    better: list[tuple[dict[str, Any], int | None]] = []
    worse: list[tuple[dict[str, Any], int | None]] = []
    common = [key for key in new if key in old]
    for key in common:
        rank, rank_before = new[key]["rank"], old[key]["rank"]
        if _depth(rank) < _depth(rank_before):
            better.append((new[key], rank_before))
        elif _depth(rank) > _depth(rank_before):
            worse.append((new[key], rank_before))
    return EvaluationComparison(
        better=better,
        worse=worse,
        unchanged=len(common) - len(better) - len(worse),
        only_before=len(old) - len(common),
        only_after=len(new) - len(common),
        change=_change([new[key] for key in common], [old[key] for key in common]),
    )


def _change(later: Sequence[Mapping[str, Any]], earlier: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    new, old = (vars(mean([quality(result["places"]) for result in results])) for results in (later, earlier))
    return {name: round(new[name] - old[name], 6) for name in FIGURES}


def _identity(result: Mapping[str, Any]) -> bytes:
    return orjson.dumps([result["question"], result["expected"]])


def _depth(rank: int | None) -> float:
    return float("inf") if rank is None else rank
