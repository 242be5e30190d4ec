"""Re-index progress, counted from the documents' rows: no counter that could drift."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any

from sqlalchemy import ColumnElement, case, func
from sqlmodel import and_, col, or_, select
from sqlmodel.ext.asyncio.session import AsyncSession

from core.db.types import utc_now
from core.errors.conflicts import NoReindex, ReindexOver
from kb_service.knowledge_bases import index_version
from kb_service.knowledge_bases.index_version import Generation
from kb_service.models import Chunk, Document, DocumentStatus, KnowledgeBase
from kb_service.reindex.quality_gate import is_held, recall_fields, wait_reason
from kb_service.visibility import SYSTEM_VIEWER, Viewer, sees_all, visible_to

# The most recently tried documents show what all of them wait for.
_LOOKED_AT = 50
_AT_WORK = (DocumentStatus.PENDING, DocumentStatus.PROCESSING, DocumentStatus.PAUSED)
_ENDED_BADLY = (DocumentStatus.FAILED, DocumentStatus.CANCELLED)
_SHOWN_FAILURES = 20
_DONE, _FAILED, _IN_HAND, _WAITING = range(4)


class State(StrEnum):
    """Where a re-index is.

    ``running``: documents are made anew. ``ready``: all are, and it waits for the cut-over.
    ``blocked``: all but some that failed. ``held``: ready, but the saved questions find less.
    ``none``: there is no re-index.
    """

    NONE = "none"
    RUNNING = "running"
    READY = "ready"
    BLOCKED = "blocked"
    HELD = "held"


@dataclass(frozen=True)
class ReindexTally:
    """Searchable documents, and their share in the re-index.

    Args:
        failed: can't be rebuilt; they stay searchable as they are.
        work: chunks of all documents, as a measure of the work.
        work_done: chunks of those done or failed.
    """

    total: int = 0
    done: int = 0
    failed: int = 0
    at_work: int = 0
    work: int = 0
    work_done: int = 0

    @property
    def left(self) -> int:
        return self.total - self.done - self.failed

    @property
    def percent(self) -> int:
        """Share of the work done, from 0 to 100; 100 only when nothing is left."""
        if self.left == 0:
            return 100
        return min(99, 100 * self.work_done // self.work)

    def state(self) -> State:
        if self.left:
            return State.RUNNING
        return State.BLOCKED if self.failed else State.READY


def lacks_shadow(knowledge_base_id: str) -> tuple[ColumnElement[bool], ...]:
    """Condition: documents that a cut-over would lose."""
    return (
        col(Document.knowledge_base_id) == knowledge_base_id,
        col(Document.deleted_at).is_(None),
        col(Document.active_revision).is_not(None),
        col(Document.shadow_revision).is_(None),
    )


def require_target(knowledge_base: KnowledgeBase) -> Generation:
    """The target settings of the running re-index.

    Raises:
        NoReindex: none is under way, and there is nothing to roll back to.
        ReindexOver: none is under way, but a rollback is possible.
    """
    target = index_version.target(knowledge_base)
    if target is not None:
        return target
    raise ReindexOver if knowledge_base.previous else NoReindex


async def count_documents(
    session: AsyncSession, knowledge_base: KnowledgeBase, viewer: Viewer = SYSTEM_VIEWER
) -> ReindexTally:
    """Count the viewer's documents; all zero without a re-index."""
    target = index_version.target(knowledge_base)
    if target is None:
        return ReindexTally()
    status = col(Document.status)
    kind = case(
        (col(Document.shadow_revision).is_not(None), _DONE),
        (status.in_(_ENDED_BADLY), _FAILED),
        (and_(col(Document.generation) == target.number, status.in_(_AT_WORK)), _IN_HAND),
        else_=_WAITING,
    )
    query = (
        # Documents without chunks are work, too.
        select(kind, func.count(), func.sum(col(Document.chunk_count) + 1))
        .where(
            col(Document.knowledge_base_id) == knowledge_base.id,
            col(Document.deleted_at).is_(None),
            col(Document.active_revision).is_not(None),
            visible_to(viewer),
        )
        .group_by(kind)
    )
    groups = {number: (rows, int(work)) for number, rows, work in (await session.exec(query)).all()}
    nothing = (0, 0)
    done, failed = groups.get(_DONE, nothing), groups.get(_FAILED, nothing)
    return ReindexTally(
        total=sum(rows for rows, _ in groups.values()),
        done=done[0],
        failed=failed[0],
        at_work=groups.get(_IN_HAND, nothing)[0],
        work=sum(work for _, work in groups.values()),
        work_done=done[1] + failed[1],
    )


@dataclass(frozen=True)
class FailedDocument:
    """A document that could not be rebuilt, and why."""

    id: str
    name: str
    failure: dict[str, str] | None


@dataclass(frozen=True)
class ReindexStatus:
    """The status of a re-index for a person.

    Args:
        state: of the whole, with all documents.
        tally: only documents that the viewer can read.
        previous: settings that ``roll_back`` restores, while they are kept.
        options: of the request: ``cutover``, ``started_at``, ``edited_chunks`` (whose edits it does not carry over).
        recall: of the saved questions before and after, once measured; also after the cut-over.
        recall_missing: why that could not be compared, in both languages.
        kept_until: when the previous settings' chunks are removed.
        eta_seconds: at the speed so far; None if unknown.
        waiting: why a document, or the measurement, is retried, in both languages.
    """

    state: State
    tally: ReindexTally
    present: Generation
    target: Generation | None
    previous: Generation | None
    options: dict[str, Any]
    recall: dict[str, Any] | None
    recall_missing: dict[str, str] | None
    kept_until: str | None
    eta_seconds: float | None
    failures: Sequence[FailedDocument]
    waiting: dict[str, str] | None
    is_paused: bool


async def get_status(session: AsyncSession, viewer: Viewer, knowledge_base: KnowledgeBase) -> ReindexStatus:
    """The status of a knowledge base's re-index.

    ``waiting`` is about all documents, because everybody waits; names and figures are limited to the viewer's
    documents.
    """
    whole = tally = await count_documents(session, knowledge_base)
    target = index_version.target(knowledge_base)
    options: dict[str, Any] = knowledge_base.target or {}
    noted = recall_fields(knowledge_base.target or knowledge_base.previous)
    recall = noted["recall"]
    if not sees_all(knowledge_base, viewer):
        tally = await count_documents(session, knowledge_base, viewer)
        # The questions may be about hidden documents.
        recall = None
        if options:
            edited = await count_edited_chunks(session, knowledge_base.id, viewer)
            options = {**options, "edited_chunks": edited}
    state = State.NONE if target is None else whole.state()
    if state is State.READY and is_held(knowledge_base):
        state = State.HELD
    waits = None
    if state is State.READY:
        waits = wait_reason(knowledge_base)
    elif tally.at_work:
        waits = await _waiting(session, viewer, knowledge_base)
    return ReindexStatus(
        state=state,
        tally=tally,
        present=index_version.current(knowledge_base),
        target=target,
        previous=index_version.previous(knowledge_base),
        options=options,
        recall=recall,
        recall_missing=noted["recall_missing"],
        kept_until=(knowledge_base.previous or {}).get("kept_until"),
        eta_seconds=_eta(tally, options.get("started_at")),
        failures=await _failures(session, viewer, knowledge_base.id) if tally.failed else (),
        waiting=waits,
        is_paused=knowledge_base.paused,
    )


def _eta(tally: ReindexTally, started_at: str | None) -> float | None:
    if started_at is None or tally.left == 0 or tally.done == 0:
        return None
    elapsed = (utc_now() - datetime.fromisoformat(started_at)).total_seconds()
    return round(elapsed * (tally.work - tally.work_done) / max(1, tally.work_done), 1)


async def _failures(session: AsyncSession, viewer: Viewer, knowledge_base_id: str) -> list[FailedDocument]:
    query = (
        select(Document)
        .where(*lacks_shadow(knowledge_base_id), col(Document.status).in_(_ENDED_BADLY), visible_to(viewer))
        .order_by(col(Document.name))
        .limit(_SHOWN_FAILURES)
    )
    rows = (await session.exec(query)).all()
    return [FailedDocument(row.id, row.name, row.failure) for row in rows]


async def _waiting(session: AsyncSession, viewer: Viewer, knowledge_base: KnowledgeBase) -> dict[str, str] | None:
    """The last failure of a document that will be retried; None without one."""
    if knowledge_base.paused:
        return None
    query = (
        select(Document)
        .where(
            *lacks_shadow(knowledge_base.id),
            col(Document.generation) == (knowledge_base.target or {}).get("generation"),
            col(Document.status).in_((DocumentStatus.PENDING, DocumentStatus.PROCESSING)),
            visible_to(viewer),
        )
        .order_by(col(Document.updated_at).desc())
        .limit(_LOOKED_AT)
    )
    rows = (await session.exec(query)).all()
    return next((row.failure for row in rows if row.failure), None)


async def count_edited_chunks(session: AsyncSession, knowledge_base_id: str, viewer: Viewer = SYSTEM_VIEWER) -> int:
    """Number of the viewer's searchable chunks that were edited or disabled by hand."""
    query = (
        select(func.count())
        .select_from(Chunk)
        .join(Document, col(Document.id) == col(Chunk.document_id))
        .where(
            col(Chunk.knowledge_base_id) == knowledge_base_id,
            or_(col(Chunk.version) > 1, col(Chunk.enabled).is_(False)),
            col(Chunk.revision) == col(Document.active_revision),
            col(Document.deleted_at).is_(None),
            visible_to(viewer),
        )
    )
    return (await session.exec(query)).one()
