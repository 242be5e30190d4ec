"""Backups, checks and removals of the server's own folder as a repeatable job."""

import asyncio
import threading
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from importlib.metadata import version
from typing import Any

from sqlalchemy import MetaData

from core.db.unit_of_work import unit_of_work
from core.errors.base import AgentexError
from core.errors.conflicts import BackupFolderUnset
from core.logging import get_logger
from core.security.vault import load_secret_key
from ingestion.attempts.lease_heartbeat import renew_while
from ingestion.context import WorkerContext
from kb_service.backup import jobs
from kb_service.backup.create import BackupCreator, BackupSource
from kb_service.backup.data_folder import secret_files
from kb_service.backup.errors import BackupError, BackupFault
from kb_service.backup.fault_texts import fault_texts
from kb_service.backup.models import BackupJob, BackupJobKind, BackupJobStatus
from kb_service.backup.progress import BackupStep, OnProgress
from kb_service.backup.removal import remove
from kb_service.backup.repository import BackupRepository
from kb_service.backup.server_folder import ServerBackups
from kb_service.backup.verify import BackupFinding, verify
from kb_service.failures import describe_outage
from kb_service.work_queue.job_leases import JobLease

log = get_logger(__name__)

_OUTAGE_PAUSE = timedelta(seconds=5)
# A person watches.
_PROGRESS_SECONDS = 1
_SHOWN_FINDINGS = 20
_POISON = {
    "reason": "poison",
    "message": "The job stopped the worker several times: look into the worker's log, and try agentex backup on the server",
    "message_zh": "任务多次导致工作进程中断：请查看工作进程日志，并在服务器上尝试 agentex backup 命令",
}
_INTERNAL = {
    "reason": "internal_error",
    "message": "An internal error stopped the job: try again, and report the time of the failure if it fails again",
    "message_zh": "内部错误中断了任务：请重试，若仍失败，请反馈失败时间",
}


class BackupJobLost(Exception):
    """The job was cancelled, or belongs to another worker."""


class _Stopped(Exception):
    """A thread was told to end."""


@dataclass
class _Progress:
    """How far a job is; ends the thread that reports it once the job is stopped."""

    step: BackupStep | None = None
    done: int = 0
    total: int | None = None
    stopped: threading.Event = field(default_factory=threading.Event)

    def report(self, step: BackupStep, done: int, total: int | None) -> None:
        if self.stopped.is_set():
            raise _Stopped
        self.step, self.done, self.total = step, done, total

    @property
    def values(self) -> Mapping[str, object]:
        return {"step": self.step.value if self.step else None, "done": self.done, "total": self.total}


async def run_backup_job(context: WorkerContext, job_id: str) -> None:
    """Run a waiting job; idempotent, also across workers."""
    seconds = context.settings.lease_seconds
    async with unit_of_work(context.database) as work:
        row = await jobs.LEASES.acquire(work, job_id, owner=context.owner, seconds=seconds)
    if row is None:
        return
    lease, progress = JobLease.of(row), _Progress()

    async def renew() -> bool:
        async with unit_of_work(context.database) as work:
            return await jobs.renew(work, lease, seconds=seconds, **progress.values)

    try:
        if row.attempt > context.settings.ingest_attempts:
            await _fail(context, lease, _POISON)
            return
        pause = min(seconds, 4 * _PROGRESS_SECONDS)
        result = await renew_while(_run(context, row, progress.report), renew, seconds=pause, lost=BackupJobLost)
        async with unit_of_work(context.database) as work:
            await jobs.end(work, lease, BackupJobStatus.COMPLETED, result=result, failure=None)
            await jobs.delete_old(work)
        log.info("backup_job.completed", job_id=row.id, kind=row.kind)
    except asyncio.CancelledError:
        async with unit_of_work(context.database) as work:
            await jobs.LEASES.release_for_retry(work, lease)
        raise
    except Exception as error:  # noqa: BLE001 - the edge of a job: every result is on the row
        await _record_failure(context, lease, error)
    finally:
        progress.stopped.set()


async def _record_failure(context: WorkerContext, lease: JobLease, error: Exception) -> None:
    match error:
        case BackupJobLost():
            log.info("backup_job.abandoned", job_id=lease.id)
        case BackupError():
            english, chinese = fault_texts(error)
            await _fail(context, lease, {"reason": error.fault.value, "message": english, "message_zh": chinese})
        case BackupFolderUnset():
            await _fail(
                context, lease, {"reason": "folder_unset", "message": error.message, "message_zh": error.message_zh}
            )
        case AgentexError() | OSError():
            log.warning("backup_job.postponed", job_id=lease.id, cause=type(error).__name__)
            async with unit_of_work(context.database) as work:
                await jobs.LEASES.reschedule(work, lease, describe_outage(error).words, pause=_OUTAGE_PAUSE)
        case _:
            log.error("backup_job.crashed", job_id=lease.id, exc_info=error)
            await _fail(context, lease, _INTERNAL)


async def _fail(context: WorkerContext, lease: JobLease, failure: dict[str, str]) -> None:
    async with unit_of_work(context.database) as work:
        await jobs.end(work, lease, BackupJobStatus.FAILED, failure=failure)
        await jobs.delete_old(work)
    log.info("backup_job.failed", job_id=lease.id, reason=failure["reason"])


async def _run(context: WorkerContext, row: BackupJob, on_progress: OnProgress) -> dict[str, Any]:
    backups = ServerBackups(context.settings)
    acts: Mapping[str, Callable[[], Awaitable[dict[str, Any]]]] = {
        BackupJobKind.CREATE: lambda: _create(context, backups, on_progress),
        BackupJobKind.VERIFY: lambda: asyncio.to_thread(_verify, backups, row.backup_id or "", on_progress),
        BackupJobKind.REMOVE: lambda: asyncio.to_thread(_remove, backups, row.backup_id or "", on_progress),
    }
    return await acts[row.kind]()


async def _create(context: WorkerContext, backups: ServerBackups, on_progress: OnProgress) -> dict[str, Any]:
    tables, revision = await asyncio.to_thread(_load_schema)
    await _require_schema(context, revision)
    repository = await asyncio.to_thread(backups.open_or_create)
    # As of the command: a backup that anybody can read does not bring the key to everything.
    secrets = secret_files(context.settings.data_dir) if repository.is_encrypted else dict[str, bytes]()
    source = BackupSource(
        database=context.database,
        files=context.store,
        points={name: space.index for name, space in context.spaces.items()},
        tables=tables,
        schema_revision=revision,
        product=version("agentex"),
        secret_key=load_secret_key(context.settings),
        secret_files=secrets,
    )
    with repository.writing():
        manifest = await BackupCreator(source, repository, on_progress).create()
    counts = manifest.counts.model_dump()
    return {
        "backup_id": manifest.id,
        "unindexed": len(manifest.unindexed),
        "unserved": len(manifest.unserved),
        **counts,
    }


def _load_schema() -> tuple[MetaData, str]:
    # Only here: every table's module takes a second, and a worker that makes no backups needs none of them.
    from migrations.level import revisions  # noqa: PLC0415
    from migrations.tables import all_tables  # noqa: PLC0415

    return all_tables(), revisions()[-1]


async def _require_schema(context: WorkerContext, expected: str) -> None:
    from migrations.level import schema_revision  # noqa: PLC0415 - as above

    actual = await schema_revision(context.database)
    if actual != expected:
        raise BackupError(BackupFault.SCHEMA_DIFFERS, actual=actual or "-", expected=expected)


def _verify(backups: ServerBackups, backup_id: str, on_progress: OnProgress) -> dict[str, Any]:
    repository = backups.open()
    _require_backup(repository, backup_id)
    report = verify(repository, [backup_id], on_progress)
    return {
        "backup_id": backup_id,
        "blobs": report.blobs,
        "bytes": report.size,
        "findings": len(report.findings),
        "examples": [_describe(finding) for finding in report.findings[:_SHOWN_FINDINGS]],
    }


def _require_backup(repository: BackupRepository, backup_id: str) -> None:
    if backup_id not in repository.backup_ids():
        raise BackupError(BackupFault.UNKNOWN_BACKUP, backup=backup_id, backups=", ".join(repository.backup_ids()))


def _describe(finding: BackupFinding) -> dict[str, str]:
    english, chinese = fault_texts(finding.error)
    return {"part": finding.part, "message": english, "message_zh": chinese}


def _remove(backups: ServerBackups, backup_id: str, on_progress: OnProgress) -> dict[str, Any]:
    # A killed try may have removed the manifest: this one then clears away what it left.
    report = remove(backups.open(), lambda ids: [id_ for id_ in ids if id_ == backup_id], on_progress)
    return {"backup_id": backup_id, "blobs": report.blobs, "freed_bytes": report.freed_bytes}
