"""Leases: a worker's fenced hold on one try of a document, from claim to outcome."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cache
from typing import Any

from sqlalchemy import (
    BindParameter,
    ColumnElement,
    Integer,
    String,
    Update,
    and_,
    bindparam,
    case,
    func,
    or_,
    tuple_,
    update,
)
from sqlalchemy.sql.dml import ReturningUpdate
from sqlmodel import col, select
from sqlmodel.ext.asyncio.session import AsyncSession

from core.db.now import database_now
from core.db.types import UtcDateTime
from core.db.unit_of_work import UnitOfWork
from kb_service.models import Document, DocumentStage, DocumentStatus, KnowledgeBase

LONGEST_LEASE = LONGEST_PAUSE = timedelta(minutes=10)
TimeExpression = datetime | ColumnElement[datetime]
OPEN_STATUSES = (DocumentStatus.PENDING.value, DocumentStatus.PROCESSING.value)


@dataclass(frozen=True)
class Lease:
    """A worker's hold on one try of one revision of one document."""

    document_id: str
    revision: int
    attempt: int
    owner: str


def is_held(document: Document, now: datetime) -> bool:
    """Whether a worker may still be processing the document."""
    return (until := document.lease_until) is not None and now <= until <= now + LONGEST_LEASE


def is_free(now: TimeExpression, longest: TimeExpression) -> ColumnElement[bool]:
    """Documents that no worker holds; ``longest`` is ``LONGEST_LEASE`` from now."""
    # A time further ahead than any lease was written before the clock was set back.
    until = col(Document.lease_until)
    return or_(until.is_(None), until < now, until > longest)


def is_due(now: TimeExpression, longest: TimeExpression) -> ColumnElement[bool]:
    """Documents whose next try may begin; ``longest`` is ``LONGEST_PAUSE`` from now."""
    at = col(Document.retry_at)
    return or_(at.is_(None), at <= now, at > longest)


def _is_enabled() -> ColumnElement[bool]:
    base = select(KnowledgeBase.id).where(
        KnowledgeBase.id == Document.knowledge_base_id,
        col(KnowledgeBase.paused).is_(False),
        col(KnowledgeBase.deleted_at).is_(None),
    )
    return base.exists()


async def acquire(work: UnitOfWork, document_ids: Sequence[str], *, owner: str, seconds: float) -> Sequence[Document]:
    """Lease pending documents; attempts are counted before the work begins.

    An expired lease's worker may only be suspended while it deletes or writes points. The next attempt is therefore a
    new revision, whose points that worker does not know. Documents that cannot be leased now are left out.
    """
    now = await database_now(work.session)
    values = {
        "wanted": list(document_ids),
        "taker": owner,
        "now": now,
        "until": now + timedelta(seconds=seconds),
        "longest_lease": now + LONGEST_LEASE,
        "longest_pause": now + LONGEST_PAUSE,
    }
    return (await work.session.exec(_acquire(), params=values)).scalars().all()


# Cached, like those below: building a statement takes longer than executing it.
@cache
def _acquire() -> ReturningUpdate[Any]:
    now, until = _moment("now"), _moment("until")
    return (
        update(Document)
        .where(
            col(Document.id).in_(bindparam("wanted", expanding=True)),
            col(Document.status).in_(OPEN_STATUSES),
            col(Document.deleted_at).is_(None),
            is_free(now, _moment("longest_lease")),
            is_due(now, _moment("longest_pause")),
            _is_enabled(),
        )
        .values(
            status=DocumentStatus.PROCESSING.value,
            stage=DocumentStage.PARSING.value,
            attempt=Document.attempt + 1,
            revision=Document.revision + case((col(Document.lease_owner).is_(None), 0), else_=1),
            lease_owner=bindparam("taker"),
            lease_until=until,
            retry_at=None,
            progress=0,
            started_at=now,
            stage_since=now,
            updated_at=now,
        )
        .returning(Document)
        .execution_options(synchronize_session=False, populate_existing=True)
    )


def _moment(name: str) -> BindParameter[datetime]:
    return bindparam(name, type_=UtcDateTime)


async def expire_leases(work: UnitOfWork, failure: dict[str, str]) -> int:
    """Return documents to the queue whose worker stopped renewing its lease; returns how many.

    The worker's name stays on the row, so that the next try is a new revision.
    """
    now = await database_now(work.session)
    statement = (
        update(Document)
        .where(
            col(Document.status) == DocumentStatus.PROCESSING.value,
            col(Document.deleted_at).is_(None),
            is_free(now, now + LONGEST_LEASE),
        )
        .values(
            status=DocumentStatus.PENDING.value,
            stage=DocumentStage.QUEUED.value,
            lease_until=None,
            failure=failure,
            updated_at=now,
        )
        .execution_options(synchronize_session=False)
    )
    return (await work.session.exec(statement)).rowcount


async def orphaned(session: AsyncSession) -> Sequence[str]:
    """Cancelled documents whose worker died before it removed their points."""
    now = await database_now(session)
    query = select(Document.id).where(
        col(Document.status) == DocumentStatus.CANCELLED.value,
        col(Document.lease_owner).is_not(None),
        col(Document.deleted_at).is_(None),
        is_free(now, now + LONGEST_LEASE),
    )
    return (await session.exec(query)).all()


async def clear(work: UnitOfWork, document: Document) -> None:
    """Record that nothing is left of the last try of a cancelled document."""
    await work.session.exec(
        update(Document)
        .where(
            col(Document.id) == document.id,
            col(Document.revision) == document.revision,
            col(Document.status) == document.status,
        )
        .values(lease_owner=None, lease_until=None)
    )


def lease_from_row(document: Document) -> Lease:
    """The lease just taken on this row."""
    return Lease(document.id, document.revision, document.attempt, document.lease_owner or "")


async def renew(
    work: UnitOfWork,
    leases: Sequence[Lease],
    *,
    seconds: float,
    stage: DocumentStage | None = None,
    progress: int | None = None,
) -> bool:
    """Renew one worker's leases and write its progress; False means stop without writing anything more.

    Rows that another transaction has locked are skipped, so that the other documents of a batch need not wait; the next
    call renews them, long before the lease ends.
    """
    now = await database_now(work.session)
    their = any_held_params(leases)
    values = {
        **their,
        "now": now,
        "until": now + timedelta(seconds=seconds),
        "stage_now": stage,
        "progress_now": progress,
    }
    if (await work.session.exec(_renew(), params=values)).rowcount > 0:
        return True
    still = select(Document.id).where(*any_held_condition())
    return (await work.session.exec(still, params=their)).first() is not None


@cache
def _renew() -> Update:
    now, stage = _moment("now"), bindparam("stage_now", type_=String())
    is_new = col(Document.stage) != stage
    free = select(Document.id).where(*any_held_condition()).with_for_update(skip_locked=True)
    return (
        update(Document)
        .where(col(Document.id).in_(free))
        .values(
            lease_until=_moment("until"),
            updated_at=now,
            # None leaves the column unchanged.
            stage=func.coalesce(stage, Document.stage),
            stage_since=case((is_new, now), else_=col(Document.stage_since)),
            progress=func.coalesce(bindparam("progress_now", type_=Integer()), Document.progress),
        )
        .execution_options(synchronize_session=False)
    )


def any_held_condition() -> tuple[ColumnElement[bool], ...]:
    """Matches the rows of one worker's valid leases; parameters from ``any_held_params``."""
    lease = tuple_(col(Document.id), col(Document.attempt), col(Document.revision))
    return (lease.in_(bindparam("held_leases", expanding=True)), *_owned_by_worker())


def any_held_params(leases: Sequence[Lease]) -> dict[str, object]:
    """Parameters of ``any_held_condition``; all leases have one owner."""
    tries = [(lease.document_id, lease.attempt, lease.revision) for lease in leases]
    return {"held_leases": tries, "held_owner": leases[0].owner}


def _owned_by_worker() -> tuple[ColumnElement[bool], ...]:
    return (
        col(Document.status) == DocumentStatus.PROCESSING.value,
        col(Document.lease_owner) == bindparam("held_owner"),
        col(Document.deleted_at).is_(None),
    )


def held_condition() -> tuple[ColumnElement[bool], ...]:
    """Matches the row of a valid lease; parameters from ``held_params``."""
    return (
        col(Document.id) == bindparam("held_document"),
        col(Document.attempt) == bindparam("held_attempt"),
        col(Document.revision) == bindparam("held_revision"),
        *_owned_by_worker(),
    )


def held_params(lease: Lease) -> dict[str, object]:
    """Parameters of ``held_condition``."""
    # Prefixed: a parameter named like a column would be written into it.
    return {
        "held_document": lease.document_id,
        "held_owner": lease.owner,
        "held_attempt": lease.attempt,
        "held_revision": lease.revision,
    }


async def fail(work: UnitOfWork, lease: Lease, failure: dict[str, str], *, attempt: int | None = None) -> bool:
    """End a try for good, with a reason that the owner sees; ``attempt`` overrides the counted tries."""
    tries = lease.attempt if attempt is None else attempt
    status = DocumentStatus.FAILED.value
    return await _end_lease(work, lease, status=status, failure=failure, attempt=tries)


async def reschedule(
    work: UnitOfWork, lease: Lease, failure: dict[str, str], *, retry_at: datetime, attempt: int
) -> bool:
    """Return a document to the queue for a later try, showing the reason; ``attempt`` is the new count."""
    return await _end_lease(
        work, lease, status=DocumentStatus.PENDING.value, failure=failure, retry_at=retry_at, attempt=attempt
    )


async def release_for_retry(work: UnitOfWork, lease: Lease) -> bool:
    """Return a document to the queue because the worker stops; the try does not count."""
    return await _end_lease(work, lease, status=DocumentStatus.PENDING.value, attempt=lease.attempt - 1)


async def _end_lease(work: UnitOfWork, lease: Lease, **values: object) -> bool:
    statement = (
        update(Document)
        .where(*held_condition())
        .values(
            stage=DocumentStage.QUEUED.value,
            lease_owner=None,
            lease_until=None,
            updated_at=await database_now(work.session),
            **values,
        )
        .execution_options(synchronize_session=False)
    )
    return (await work.session.exec(statement, params=held_params(lease))).rowcount > 0


async def release(work: UnitOfWork, lease: Lease) -> None:
    """Give up a lost lease, so that nobody has to wait for its expiry.

    A try ended by a pause does not count; one whose lease expired does. While nobody processes the document, its lease
    is still this one, whatever revision is waiting.
    """
    mine = and_(col(Document.attempt) == lease.attempt, col(Document.revision) == lease.revision)
    is_idle = col(Document.status) != DocumentStatus.PROCESSING.value
    was_paused = and_(
        col(Document.status).in_((DocumentStatus.PAUSED.value, DocumentStatus.PENDING.value)),
        col(Document.lease_until).is_not(None),
    )
    await work.session.exec(
        update(Document)
        .where(col(Document.id) == lease.document_id, col(Document.lease_owner) == lease.owner, or_(is_idle, mine))
        .values(
            lease_owner=None,
            lease_until=None,
            attempt=case((and_(mine, was_paused), lease.attempt - 1), else_=Document.attempt),
        )
    )
