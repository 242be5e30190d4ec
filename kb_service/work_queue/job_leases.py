"""Leases on the rows of long jobs, such as transfers and syncs: one worker at a time, fenced by the try."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Generic, Protocol, TypeVar

from sqlalchemy import ColumnElement, or_, update
from sqlmodel import col, select
from sqlmodel.ext.asyncio.session import AsyncSession

from core.db.now import database_now
from core.db.types import utc_now
from core.db.unit_of_work import UnitOfWork

LONGEST_LEASE = timedelta(minutes=10)
# The session's objects of other tables need no synchronising.
_OPTIONS = {"synchronize_session": False}


class LeasedRow(Protocol):
    """The columns of a job's row that leases are about."""

    id: str
    status: str
    attempt: int
    lease_owner: str | None
    lease_until: datetime | None
    updated_at: datetime


RowT = TypeVar("RowT", bound=LeasedRow)


@dataclass(frozen=True)
class JobLease:
    """A worker's hold on one try of a job."""

    id: str
    attempt: int
    owner: str

    @classmethod
    def of(cls, row: LeasedRow) -> "JobLease":
        """The lease just taken on a row."""
        return cls(row.id, row.attempt, row.lease_owner or "")


@dataclass(frozen=True)
class JobLeases(Generic[RowT]):
    """The leases on a table's rows.

    Args:
        pending: status of a row that waits for a worker.
        running: status of a row that a worker has, or had when it died.
    """

    table: type[RowT]
    pending: str
    running: str

    @property
    def open_statuses(self) -> tuple[str, str]:
        return self.pending, self.running

    async def acquire(self, work: UnitOfWork, row_id: str, *, owner: str, seconds: float) -> RowT | None:
        """Lease a waiting row and count the try; None if it is held, not due, or ended."""
        table, now = self.table, await database_now(work.session)
        statement = (
            update(table)
            .where(col(table.id) == row_id, col(table.status).in_(self.open_statuses), self._is_free(now))
            .values(
                status=self.running,
                attempt=table.attempt + 1,
                lease_owner=owner,
                lease_until=now + timedelta(seconds=seconds),
                updated_at=now,
            )
        )
        if (await work.session.exec(statement, execution_options=_OPTIONS)).rowcount == 0:
            return None
        return await work.session.get_one(table, row_id, populate_existing=True)

    def _is_free(self, now: datetime) -> ColumnElement[bool]:
        # A time further ahead than any lease was written before the clock was set back.
        until = col(self.table.lease_until)
        return or_(until.is_(None), until < now, until > now + LONGEST_LEASE)

    async def renew(
        self, work: UnitOfWork, lease: JobLease, condition: ColumnElement[bool], *, seconds: float, **values: object
    ) -> bool:
        """Renew a lease, and write further columns; False if it was lost or the condition does not hold."""
        now = await database_now(work.session)
        values |= {"lease_until": now + timedelta(seconds=seconds), "updated_at": now}
        statement = update(self.table).where(*self._held_by(lease), condition).values(**values)
        return (await work.session.exec(statement, execution_options=_OPTIONS)).rowcount > 0

    async def release(self, work: UnitOfWork, lease: JobLease, **values: object) -> bool:
        """Give a lease back, and write further columns; False if it was lost."""
        values = {"lease_owner": None, "lease_until": None, "updated_at": utc_now(), **values}
        statement = update(self.table).where(*self._held_by(lease)).values(**values)
        return (await work.session.exec(statement, execution_options=_OPTIONS)).rowcount > 0

    async def release_for_retry(self, work: UnitOfWork, lease: JobLease) -> None:
        """Return a row to the queue because the worker stops; the try does not count."""
        await self.release(work, lease, status=self.pending, attempt=lease.attempt - 1)

    async def reschedule(self, work: UnitOfWork, lease: JobLease, failure: dict[str, str], *, pause: timedelta) -> None:
        """Return a row to the queue, showing the reason; the try does not count.

        Args:
            pause: the least wait, at most ``LONGEST_LEASE``.
        """
        until = await database_now(work.session) + pause
        await self.release(
            work, lease, status=self.pending, failure=failure, lease_until=until, attempt=lease.attempt - 1
        )

    def _held_by(self, lease: JobLease) -> tuple[ColumnElement[bool], ...]:
        table = self.table
        return (
            col(table.id) == lease.id,
            col(table.status) == self.running,
            col(table.lease_owner) == lease.owner,
            col(table.attempt) == lease.attempt,
        )

    async def stale(self, session: AsyncSession, grace: timedelta) -> Sequence[tuple[str, int]]:
        """Ids and attempts of open rows that no worker holds and that did not change for ``grace``."""
        table, now = self.table, await database_now(session)
        query = select(table.id, table.attempt).where(
            col(table.status).in_(self.open_statuses), col(table.updated_at) < now - grace, self._is_free(now)
        )
        return (await session.exec(query)).all()
