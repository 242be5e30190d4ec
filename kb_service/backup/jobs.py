"""Backups, checks and removals that administrators asked for, as rows."""

from collections.abc import Sequence

from sqlalchemy import delete as delete_from
from sqlalchemy import true, update
from sqlalchemy.exc import IntegrityError
from sqlmodel import col, select
from sqlmodel.ext.asyncio.session import AsyncSession

from core.audit.log import AuditAction, AuditTarget, audit
from core.db.now import database_now
from core.db.unit_of_work import UnitOfWork
from core.errors.auth import BackupJobNotFound
from core.errors.conflicts import BackupJobRunning, Conflict
from kb_service.backup.models import BackupJob, BackupJobKind, BackupJobStatus
from kb_service.work_queue.job_leases import JobLease, JobLeases

BACKUP_JOB = "backup.run"
KEPT_JOBS = 50
"""Jobs that are remembered."""

LEASES = JobLeases(BackupJob, BackupJobStatus.PENDING.value, BackupJobStatus.RUNNING.value)
_OPEN = LEASES.open_statuses
_ACTIONS = {
    BackupJobKind.CREATE: AuditAction.BACKUP_REQUESTED,
    BackupJobKind.VERIFY: AuditAction.BACKUP_CHECK_REQUESTED,
    BackupJobKind.REMOVE: AuditAction.BACKUP_REMOVAL_REQUESTED,
}


def backup_job_key(job_id: str, attempt: int) -> str:
    """Queue key of the next try after ``attempt`` tries."""
    return f"{BACKUP_JOB}:{job_id}:{attempt + 1}"


def enqueue(work: UnitOfWork, job_id: str, attempt: int) -> None:
    """Enqueue the next try."""
    work.enqueue(BACKUP_JOB, {"job_id": job_id}, key=backup_job_key(job_id, attempt))


async def request(work: UnitOfWork, kind: BackupJobKind, *, by: str, backup_id: str | None = None) -> BackupJob:
    """Begin a job.

    Raises:
        BackupJobRunning: another one waits or runs.
    """
    if await open_job(work.session) is not None:
        raise BackupJobRunning
    now = await database_now(work.session)
    row = BackupJob(kind=kind.value, backup_id=backup_id, requested_by=by, created_at=now, updated_at=now)
    work.session.add(row)
    # Of two at the same moment the index lets one in.
    try:
        await work.session.flush()
    except IntegrityError as error:
        raise BackupJobRunning from error
    audit(work.session, _ACTIONS[kind], AuditTarget("backup", backup_id or row.id))
    enqueue(work, row.id, row.attempt)
    return row


async def open_job(session: AsyncSession) -> BackupJob | None:
    """The job that waits or runs, if there is one."""
    return (await session.exec(select(BackupJob).where(col(BackupJob.status).in_(_OPEN)))).first()


async def get(session: AsyncSession, job_id: str) -> BackupJob:
    """A job."""
    row = await session.get(BackupJob, job_id)
    if row is None:
        raise BackupJobNotFound
    return row


async def list_jobs(session: AsyncSession) -> Sequence[BackupJob]:
    """The jobs that are remembered, the newest first."""
    query = select(BackupJob).order_by(col(BackupJob.created_at).desc(), col(BackupJob.id)).limit(KEPT_JOBS)
    return (await session.exec(query)).all()


async def cancel(work: UnitOfWork, row: BackupJob) -> None:
    """End a job that has not ended; its worker stops within seconds."""
    now = await database_now(work.session)
    statement = (
        update(BackupJob)
        .where(col(BackupJob.id) == row.id, col(BackupJob.status).in_(_OPEN))
        .values(
            status=BackupJobStatus.CANCELLED.value, lease_owner=None, lease_until=None, updated_at=now, ended_at=now
        )
    )
    if (await work.session.exec(statement)).rowcount == 0:
        raise Conflict(field="status", error="This job has ended", error_zh="该任务已结束")
    audit(work.session, AuditAction.BACKUP_CANCELLED, AuditTarget("backup", row.backup_id or row.id))
    await work.session.refresh(row)


async def renew(work: UnitOfWork, lease: JobLease, *, seconds: float, **values: object) -> bool:
    """Renew the lease and write the progress; False if the lease was lost or the job cancelled."""
    return await LEASES.renew(work, lease, true(), seconds=seconds, **values)


async def end(work: UnitOfWork, lease: JobLease, status: BackupJobStatus, **values: object) -> bool:
    """End a job; False if the lease was lost."""
    return await LEASES.release(work, lease, status=status.value, ended_at=await database_now(work.session), **values)


async def delete_old(work: UnitOfWork) -> None:
    """Forget the oldest jobs that have ended."""
    newest = select(BackupJob.id).order_by(col(BackupJob.created_at).desc(), col(BackupJob.id)).limit(KEPT_JOBS)
    statement = delete_from(BackupJob).where(
        col(BackupJob.id).not_in(newest.scalar_subquery()), col(BackupJob.status).not_in(_OPEN)
    )
    await work.session.exec(statement, execution_options={"synchronize_session": False})
