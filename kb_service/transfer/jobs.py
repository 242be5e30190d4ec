"""Imports and copies of knowledge bases: their rows, and the workers' leases on them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import ColumnElement, exists, func, or_, update
from sqlmodel import col, select
from sqlmodel.ext.asyncio.session import AsyncSession

from core.auth.principal import Principal, get_owned
from core.db.now import database_now
from core.db.pagination import PageRequest, paginate
from core.db.types import utc_now
from core.db.unit_of_work import UnitOfWork
from core.errors.auth import TransferNotFound
from core.errors.conflicts import Conflict
from kb_service.knowledge_bases import service as knowledge_bases
from kb_service.models import DocumentStatus, KnowledgeBase, Transfer

TRANSFER_JOB = "knowledge_base.transfer"
IMPORT, COPY = "import", "copy"
LONGEST_LEASE = timedelta(minutes=10)
SORT_FIELDS = ("created_at", "updated_at")

_OPEN = (DocumentStatus.PENDING.value, DocumentStatus.PROCESSING.value)


@dataclass(frozen=True)
class TransferLease:
    """A worker's hold on one try of a transfer."""

    id: str
    attempt: int
    owner: str


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


async def acquire(work: UnitOfWork, transfer_id: str, *, owner: str, seconds: float) -> Transfer | None:
    """Lease a waiting transfer and count the try; None if it is held, not due, or done."""
    now = await database_now(work.session)
    statement = (
        update(Transfer)
        .where(col(Transfer.id) == transfer_id, col(Transfer.status).in_(_OPEN), _is_free(now))
        .values(
            status=DocumentStatus.PROCESSING.value,
            attempt=Transfer.attempt + 1,
            lease_owner=owner,
            lease_until=now + timedelta(seconds=seconds),
            updated_at=now,
        )
    )
    if (await work.session.exec(statement)).rowcount == 0:
        return None
    return (await work.session.exec(select(Transfer).where(Transfer.id == transfer_id))).one()


def _is_free(now: datetime) -> ColumnElement[bool]:
    # A time further ahead than any lease was written before the clock was set back.
    until = col(Transfer.lease_until)
    return or_(until.is_(None), until < now, until > now + LONGEST_LEASE)


def lease_from_row(row: Transfer) -> TransferLease:
    """The lease just taken on this row."""
    return TransferLease(row.id, row.attempt, row.lease_owner or "")


async def renew(work: UnitOfWork, lease: TransferLease, *, seconds: float, progress: int | None = None) -> bool:
    """Renew the lease and write the progress in percent.

    Returns:
        False if the lease was lost, the transfer cancelled, or its knowledge base deleted: the worker must stop without
        writing anything more.
    """
    alive = exists().where(
        col(KnowledgeBase.id) == col(Transfer.knowledge_base_id), col(KnowledgeBase.deleted_at).is_(None)
    )
    now = await database_now(work.session)
    values: dict[str, object] = {"lease_until": now + timedelta(seconds=seconds), "updated_at": now}
    if progress is not None:
        values["progress"] = progress
    statement = update(Transfer).where(*_held_condition(lease), alive).values(**values)
    # No need to synchronise the session's objects of other tables.
    options = {"synchronize_session": False}
    return (await work.session.exec(statement, execution_options=options)).rowcount > 0


def _held_condition(lease: TransferLease) -> tuple[ColumnElement[bool], ...]:
    return (
        col(Transfer.id) == lease.id,
        col(Transfer.status) == DocumentStatus.PROCESSING.value,
        col(Transfer.lease_owner) == lease.owner,
        col(Transfer.attempt) == lease.attempt,
    )


async def complete(work: UnitOfWork, lease: TransferLease) -> None:
    """Complete a transfer whose lease holds in this transaction."""
    await _release(work, lease, status=DocumentStatus.COMPLETED.value, progress=100, failure=None)


async def fail(work: UnitOfWork, lease: TransferLease, failure: dict[str, str]) -> bool:
    """End a transfer for good with a reason, and delete what it brought.

    Returns:
        False if the lease was lost: the transfer and its file belong to another worker.
    """
    if not await _release(work, lease, status=DocumentStatus.FAILED.value, failure=failure):
        return False
    row = await work.session.get_one(Transfer, lease.id)
    await _delete_target(work, row)
    return True


async def reschedule(work: UnitOfWork, lease: TransferLease, failure: dict[str, str], *, pause: timedelta) -> None:
    """Return a transfer to the queue, showing the reason; the try does not count.

    Args:
        pause: the least wait, at most ``LONGEST_LEASE``.
    """
    await _release(
        work,
        lease,
        status=DocumentStatus.PENDING.value,
        failure=failure,
        lease_until=await database_now(work.session) + pause,
        attempt=lease.attempt - 1,
    )


async def release_for_retry(work: UnitOfWork, lease: TransferLease) -> None:
    """Return a transfer to the queue because the worker stops; the try does not count."""
    await _release(work, lease, status=DocumentStatus.PENDING.value, attempt=lease.attempt - 1)


async def abandon(work: UnitOfWork, lease: TransferLease) -> None:
    """End a transfer whose knowledge base was deleted."""
    await _release(work, lease, status=DocumentStatus.CANCELLED.value)


async def _release(work: UnitOfWork, lease: TransferLease, **values: object) -> bool:
    released: dict[str, object] = {"lease_owner": None, "lease_until": None, "updated_at": utc_now(), **values}
    statement = update(Transfer).where(*_held_condition(lease)).values(**released)
    return (await work.session.exec(statement)).rowcount > 0


async def stale(session: AsyncSession, grace: timedelta) -> Sequence[tuple[str, int]]:
    """Ids and attempts of transfers that no worker holds and that did not change for ``grace``."""
    now = await database_now(session)
    query = select(Transfer.id, Transfer.attempt).where(
        col(Transfer.status).in_(_OPEN), col(Transfer.updated_at) < now - grace, _is_free(now)
    )
    return (await session.exec(query)).all()


async def pending_import_keys(session: AsyncSession) -> set[str]:
    """Storage keys of files that are still to be imported."""
    query = select(Transfer.source).where(col(Transfer.status).in_(_OPEN), col(Transfer.kind) == IMPORT)
    return set((await session.exec(query)).all())
