"""Imports and copies of knowledge bases as rows."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import exists, func, update
from sqlmodel import col, select
from sqlmodel.ext.asyncio.session import AsyncSession

from core.auth.principal import Principal, get_owned
from core.db.pagination import PageRequest, paginate
from core.db.types import utc_now
from core.db.unit_of_work import UnitOfWork
from core.errors.auth import TransferNotFound
from core.errors.conflicts import Conflict
from kb_service.knowledge_bases import service as knowledge_bases
from kb_service.models import DocumentStatus, KnowledgeBase, Transfer
from kb_service.work_queue.job_leases import JobLease, JobLeases

TRANSFER_JOB = "knowledge_base.transfer"
IMPORT, COPY = "import", "copy"
SORT_FIELDS = ("created_at", "updated_at")

LEASES = JobLeases(Transfer, DocumentStatus.PENDING.value, DocumentStatus.PROCESSING.value)
_OPEN = LEASES.open_statuses


@dataclass(frozen=True)
class TransferSpec:
    """What a transfer brings.

    Args:
        kind: ``IMPORT`` or ``COPY``.
        source: the storage key of the file, or the id of the source knowledge base.
        original_bytes: total size of the documents' files.
    """

    kind: str
    source: str
    original_bytes: int
    facts: Mapping[str, Any]


@dataclass(frozen=True)
class TransferListing:
    """One page of transfers, and the total."""

    items: Sequence[Transfer]
    total: int


def transfer_key(transfer_id: str, attempt: int) -> str:
    """Queue key of the next try after ``attempt`` tries."""
    return f"{TRANSFER_JOB}:{transfer_id}:{attempt + 1}"


def enqueue_transfer(work: UnitOfWork, transfer_id: str, attempt: int) -> None:
    """Enqueue the next try."""
    work.enqueue(TRANSFER_JOB, {"transfer_id": transfer_id}, key=transfer_key(transfer_id, attempt))


async def create_transfer(work: UnitOfWork, knowledge_base: KnowledgeBase, cargo: TransferSpec) -> Transfer:
    """Create a transfer into a new, disabled knowledge base, and enqueue its job."""
    row = Transfer(
        owner_id=knowledge_base.owner_id,
        knowledge_base_id=knowledge_base.id,
        kind=cargo.kind,
        source=cargo.source,
        original_bytes=cargo.original_bytes,
        facts=dict(cargo.facts),
    )
    work.session.add(row)
    await work.session.flush()
    enqueue_transfer(work, row.id, row.attempt)
    return row


async def get(session: AsyncSession, principal: Principal, transfer_id: str) -> Transfer:
    """Load a transfer of the caller's."""
    return await get_owned(session, Transfer, transfer_id, principal, TransferNotFound)


async def list_own(session: AsyncSession, principal: Principal, page: PageRequest) -> TransferListing:
    """One page of the caller's transfers."""
    mine = col(Transfer.owner_id) == principal.user_id
    columns = {"created_at": col(Transfer.created_at), "updated_at": col(Transfer.updated_at)}
    query = paginate(select(Transfer).where(mine), page, columns=columns, tie=col(Transfer.id))
    total = select(func.count()).select_from(Transfer).where(mine)
    return TransferListing((await session.exec(query)).all(), (await session.exec(total)).one())


async def cancel(work: UnitOfWork, row: Transfer) -> None:
    """Cancel an unfinished transfer and delete what it brought."""
    statement = (
        update(Transfer)
        .where(col(Transfer.id) == row.id, col(Transfer.status).in_(_OPEN))
        .values(status=DocumentStatus.CANCELLED.value, lease_owner=None, lease_until=None, updated_at=utc_now())
    )
    if (await work.session.exec(statement)).rowcount == 0:
        error = "Only a transfer under way can be cancelled"
        raise Conflict(field="status", error=error, error_zh="只有进行中的传输可以取消")
    await work.session.refresh(row)
    await _delete_target(work, row)


async def _delete_target(work: UnitOfWork, row: Transfer) -> None:
    target = await work.session.get(KnowledgeBase, row.knowledge_base_id)
    if target is not None and target.deleted_at is None:
        await knowledge_bases.delete(work, target)


async def renew(work: UnitOfWork, lease: JobLease, *, seconds: float, progress: int | None = None) -> bool:
    """Renew the lease and write the progress in percent.

    Returns:
        False if the lease was lost, the transfer cancelled, or its knowledge base deleted: the worker must stop without
        writing anything more.
    """
    alive = exists().where(
        col(KnowledgeBase.id) == col(Transfer.knowledge_base_id), col(KnowledgeBase.deleted_at).is_(None)
    )
    values = {} if progress is None else {"progress": progress}
    return await LEASES.renew(work, lease, alive, seconds=seconds, **values)


async def complete(work: UnitOfWork, lease: JobLease) -> None:
    """Complete a transfer whose lease holds in this transaction."""
    await LEASES.release(work, lease, status=DocumentStatus.COMPLETED.value, progress=100, failure=None)


async def fail(work: UnitOfWork, lease: JobLease, failure: dict[str, str]) -> bool:
    """End a transfer for good with a reason, and delete what it brought.

    Returns:
        False if the lease was lost: the transfer and its file belong to another worker.
    """
    if not await LEASES.release(work, lease, status=DocumentStatus.FAILED.value, failure=failure):
        return False
    row = await work.session.get_one(Transfer, lease.id)
    await _delete_target(work, row)
    return True


async def abandon(work: UnitOfWork, lease: JobLease) -> None:
    """End a transfer whose knowledge base was deleted."""
    await LEASES.release(work, lease, status=DocumentStatus.CANCELLED.value)


async def pending_import_keys(session: AsyncSession) -> set[str]:
    """Storage keys of files that are still to be imported."""
    query = select(Transfer.source).where(col(Transfer.status).in_(_OPEN), col(Transfer.kind) == IMPORT)
    return set((await session.exec(query)).all())
