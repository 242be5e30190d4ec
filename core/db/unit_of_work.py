"""Unit of work: one transaction, and the jobs pushed after its commit."""

from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Protocol

from sqlmodel.ext.asyncio.session import AsyncSession

from core.db.database import Database
from core.db.outbox import OutboxJob


class AfterCommit(Protocol):
    """Callback that receives the jobs of a committed transaction."""

    async def __call__(self, jobs: Sequence[OutboxJob], *, wake: bool) -> None:
        """Push the jobs, and wake the workers if asked to."""
        ...


class UnitOfWork:
    """A transaction and the jobs it will trigger."""

    def __init__(self, session: AsyncSession) -> None:
        self.session = session
        self.jobs: list[OutboxJob] = []
        self.wakes_workers = False

    def enqueue(self, name: str, payload: Mapping[str, str | int], *, key: str) -> None:
        """Write a job into the outbox of this transaction.

        Args:
            name: the job's registered name, ``noun.verb``.
            payload: ids and numbers only; the job reads the rows again.
            key: two queued jobs of one key are one job.
        """
        job = OutboxJob(name=name, key=key, payload=dict(payload))
        self.session.add(job)
        self.jobs.append(job)

    def wake_workers(self) -> None:
        """Make the workers poll SQL as soon as this is committed.

        Nothing is stored for it: they also poll every second.
        """
        self.wakes_workers = True


@asynccontextmanager
async def unit_of_work(
    database: Database, after_commit: AfterCommit | None = None, *, urgent: bool = False
) -> AsyncGenerator[UnitOfWork]:
    """Open a unit of work: commit at the end, roll back on an exception.

    Args:
        after_commit: pushes the jobs; if it fails or is absent, the sweeper pushes them later.
        urgent: on SQLite, wait for at most one other writer of this process.
    """
    async with database.writing(urgent=urgent) as session:
        work = UnitOfWork(session)
        yield work
    if after_commit is not None and (work.jobs or work.wakes_workers):
        await after_commit(work.jobs, wake=work.wakes_workers)
