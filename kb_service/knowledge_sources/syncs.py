"""Syncs of knowledge sources as rows."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy import delete as delete_from
from sqlalchemy import func, update
from sqlmodel import col, select
from sqlmodel.ext.asyncio.session import AsyncSession
from sqlmodel.sql.expression import SelectOfScalar

from core.db.now import database_now
from core.db.pagination import PageRequest, paginate
from core.db.types import utc_now
from core.db.unit_of_work import UnitOfWork
from core.errors.auth import KnowledgeSourceSyncNotFound
from core.errors.conflicts import Conflict
from kb_service.models import KnowledgeBase, KnowledgeSource, KnowledgeSourceSync, SyncStatus
from kb_service.work_queue.job_leases import JobLease, JobLeases

SYNC_JOB = "knowledge_source.sync"
SORT_FIELDS = ("created_at",)
KEPT_SYNCS = 100
"""Ended syncs that are kept of a source."""

LEASES = JobLeases(KnowledgeSourceSync, SyncStatus.PENDING.value, SyncStatus.RUNNING.value)
_OPEN = LEASES.open_statuses
_UNENDED = (*_OPEN, SyncStatus.CONFIRM.value)


@dataclass(frozen=True)
class SyncListing:
    """One page of syncs, and the total."""

    items: Sequence[KnowledgeSourceSync]
    total: int


def sync_key(sync_id: str, attempt: int) -> str:
    """Queue key of the next try after ``attempt`` tries."""
    return f"{SYNC_JOB}:{sync_id}:{attempt + 1}"


def enqueue(work: UnitOfWork, sync_id: str, attempt: int) -> None:
    """Enqueue the next try."""
    work.enqueue(SYNC_JOB, {"sync_id": sync_id}, key=sync_key(sync_id, attempt))


async def request(work: UnitOfWork, source: KnowledgeSource, *, is_preview: bool = False) -> KnowledgeSourceSync:
    """Begin a sync, or a preview, of a source that the caller has locked.

    A sync supersedes one that waits for a person's confirmation; a preview leaves the question standing.

    Raises:
        Conflict: another one is under way, or a preview meets a question.
    """
    unended = (await work.session.exec(_of(source.id).where(col(KnowledgeSourceSync.status).in_(_UNENDED)))).first()
    if unended is not None:
        if unended.status != SyncStatus.CONFIRM.value:
            error = "A sync of this source is under way: wait for its end, or cancel it"
            raise Conflict(field="status", error=error, error_zh="该来源正在同步：请等待其结束或先取消")
        if is_preview:
            error = "The last sync waits for your confirmation: confirm it, cancel it, or synchronize again"
            raise Conflict(field="status", error=error, error_zh="上次同步正在等待您确认：请确认、取消或重新同步")
        _end(unended, SyncStatus.CANCELLED, await database_now(work.session))
        work.session.add(unended)
        await work.session.flush()
    now = await database_now(work.session)
    row = KnowledgeSourceSync(source_id=source.id, is_preview=is_preview, created_at=now, updated_at=now)
    work.session.add(row)
    await work.session.flush()
    enqueue(work, row.id, row.attempt)
    return row


def _of(source_id: str) -> SelectOfScalar[KnowledgeSourceSync]:
    return select(KnowledgeSourceSync).where(KnowledgeSourceSync.source_id == source_id)


async def get(session: AsyncSession, source: KnowledgeSource, sync_id: str) -> KnowledgeSourceSync:
    """A sync of a source that passed the gate."""
    row = await session.get(KnowledgeSourceSync, sync_id)
    if row is None or row.source_id != source.id:
        raise KnowledgeSourceSyncNotFound
    return row


async def list_of(session: AsyncSession, source: KnowledgeSource, page: PageRequest) -> SyncListing:
    """One page of a source's syncs."""
    columns = {"created_at": col(KnowledgeSourceSync.created_at)}
    query = paginate(_of(source.id), page, columns=columns, tie=col(KnowledgeSourceSync.id))
    total = select(func.count()).where(col(KnowledgeSourceSync.source_id) == source.id)
    return SyncListing((await session.exec(query)).all(), (await session.exec(total)).one())


async def latest(session: AsyncSession, source_ids: Sequence[str]) -> Mapping[str, KnowledgeSourceSync]:
    """The last sync of each source that has one; previews do not count."""
    newest = (
        select(KnowledgeSourceSync.source_id, func.max(col(KnowledgeSourceSync.created_at)).label("at"))
        .where(col(KnowledgeSourceSync.source_id).in_(source_ids), col(KnowledgeSourceSync.is_preview).is_(False))
        .group_by(col(KnowledgeSourceSync.source_id))
        .subquery()
    )
    query = select(KnowledgeSourceSync).join(
        newest,
        (col(KnowledgeSourceSync.source_id) == newest.c.source_id)
        & (col(KnowledgeSourceSync.created_at) == newest.c.at),
    )
    return {row.source_id: row for row in (await session.exec(query)).all()}


async def cancel(work: UnitOfWork, row: KnowledgeSourceSync) -> None:
    """End a sync that has not ended; what it has brought stays."""
    now = await database_now(work.session)
    statement = (
        update(KnowledgeSourceSync)
        .where(col(KnowledgeSourceSync.id) == row.id, col(KnowledgeSourceSync.status).in_(_UNENDED))
        .values(status=SyncStatus.CANCELLED.value, lease_owner=None, lease_until=None, updated_at=now, ended_at=now)
    )
    if (await work.session.exec(statement)).rowcount == 0:
        error = "This sync has ended"
        raise Conflict(field="status", error=error, error_zh="该同步已结束")
    await work.session.refresh(row)


async def confirm(work: UnitOfWork, row: KnowledgeSourceSync) -> None:
    """Allow the deletions that a sync waits with, and go on with it."""
    statement = (
        update(KnowledgeSourceSync)
        .where(col(KnowledgeSourceSync.id) == row.id, col(KnowledgeSourceSync.status) == SyncStatus.CONFIRM.value)
        .values(status=SyncStatus.PENDING.value, deletions_allowed=True, updated_at=utc_now())
    )
    if (await work.session.exec(statement)).rowcount == 0:
        error = "This sync does not wait for a confirmation"
        raise Conflict(field="status", error=error, error_zh="该同步无需确认")
    await work.session.refresh(row)
    enqueue(work, row.id, row.attempt)


async def renew(work: UnitOfWork, lease: JobLease, *, seconds: float, **values: object) -> bool:
    """Renew the lease, and write ``counts`` and ``examples`` if given.

    Returns:
        False if the lease was lost, the sync cancelled, or its source or knowledge base deleted: the worker must stop
        without writing anything more.
    """
    alive = (
        select(KnowledgeSource.id)
        .join(KnowledgeBase, col(KnowledgeBase.id) == col(KnowledgeSource.knowledge_base_id))
        .where(col(KnowledgeSource.id) == col(KnowledgeSourceSync.source_id), col(KnowledgeBase.deleted_at).is_(None))
        .exists()
    )
    return await LEASES.renew(work, lease, alive, seconds=seconds, **values)


async def end(work: UnitOfWork, lease: JobLease, status: SyncStatus, **values: object) -> bool:
    """End a sync, or let it wait for a confirmation; False if the lease was lost."""
    now = await database_now(work.session)
    ended_at = None if status is SyncStatus.CONFIRM else now
    return await LEASES.release(work, lease, status=status.value, ended_at=ended_at, **values)


def _end(row: KnowledgeSourceSync, status: SyncStatus, now: datetime) -> None:
    row.status, row.lease_owner, row.lease_until = status.value, None, None
    row.updated_at = row.ended_at = now


async def request_due(work: UnitOfWork) -> int:
    """Begin the syncs of all sources that are due; returns their number."""
    now = await database_now(work.session)
    query = (
        select(KnowledgeSource)
        .join(KnowledgeBase, col(KnowledgeBase.id) == col(KnowledgeSource.knowledge_base_id))
        .where(col(KnowledgeSource.due_at) <= now, col(KnowledgeBase.deleted_at).is_(None))
        .order_by(col(KnowledgeSource.due_at))
        .limit(100)
        .with_for_update(skip_locked=True, of=KnowledgeSource)
    )
    count = 0
    for source in (await work.session.exec(query)).all():
        source.due_at = now + timedelta(minutes=source.sync_every_minutes or 60)
        work.session.add(source)
        under_way = _of(source.id).where(col(KnowledgeSourceSync.status).in_(_OPEN))
        # One that waits for a confirmation is superseded: a source that was away for a while heals by itself.
        if (await work.session.exec(under_way)).first() is None:
            await request(work, source)
            count += 1
    return count


async def request_after(work: UnitOfWork, source_id: str, moment: datetime) -> bool:
    """Begin a sync of a source, unless one has begun at ``moment`` or later.

    Returns:
        False if an earlier one is under way, which may have missed what was new at that moment.
    """
    query = select(KnowledgeSource).where(col(KnowledgeSource.id) == source_id).with_for_update()
    source = (await work.session.exec(query)).first()
    if source is None:
        return True
    rows = _of(source_id).where(col(KnowledgeSourceSync.is_preview).is_(False))
    if (await work.session.exec(rows.where(col(KnowledgeSourceSync.created_at) >= moment))).first() is not None:
        return True
    if (await work.session.exec(_of(source_id).where(col(KnowledgeSourceSync.status).in_(_OPEN)))).first() is not None:
        return False
    await request(work, source)
    return True


async def delete_old(work: UnitOfWork) -> None:
    """Delete the oldest ended syncs of each source that has more than ``KEPT_SYNCS``."""
    number = func.row_number().over(
        partition_by=col(KnowledgeSourceSync.source_id), order_by=col(KnowledgeSourceSync.created_at).desc()
    )
    numbered = select(KnowledgeSourceSync.id, number.label("number")).subquery()
    old = select(numbered.c.id).where(numbered.c.number > KEPT_SYNCS)
    statement = delete_from(KnowledgeSourceSync).where(
        col(KnowledgeSourceSync.id).in_(old), col(KnowledgeSourceSync.status).not_in(_UNENDED)
    )
    await work.session.exec(statement, execution_options={"synchronize_session": False})


async def has_due(session: AsyncSession) -> bool:
    """Whether any source is due."""
    now = await database_now(session)
    query = select(KnowledgeSource.id).where(col(KnowledgeSource.due_at) <= now).limit(1)
    return (await session.exec(query)).first() is not None
