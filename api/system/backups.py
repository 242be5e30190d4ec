"""Backups in the folder that the operator has named, for administrators."""

import asyncio
from datetime import datetime
from typing import Literal

from fastapi import Depends
from pydantic import Field

from api.dependencies import CurrentContext, CurrentPrincipal, Reading, Writing, requires
from api.http.errors import error_responses
from api.http.responses import Envelope, ResponseModel, Text
from api.http.routing import Router
from core.auth.permissions import Permission
from core.errors.auth import BackupJobNotFound, BackupNotFound
from core.errors.conflicts import BackupFolderUnset, BackupJobRunning, BackupUnusable, Conflict
from kb_service.backup import jobs
from kb_service.backup.models import BackupJob, BackupJobKind
from kb_service.backup.overview import BackupSummary
from kb_service.backup.server_folder import ServerBackups

router = Router(
    prefix="/api/v1/admin/backups", tags=["system"], dependencies=[Depends(requires(Permission.SYSTEM_MANAGE))]
)
_START_ERRORS = error_responses(BackupFolderUnset, BackupJobRunning)
_ACT_ERRORS = error_responses(BackupFolderUnset, BackupUnusable, BackupNotFound, BackupJobRunning)


class BackupAnswer(ResponseModel):
    """A backup; the numbers are null where its manifest is damaged, sizes in bytes."""

    id: str
    created_at: datetime | None
    damaged: bool = Field(description="Its manifest can't be read: it can't be restored, only removed")
    product: str | None = Field(description="The version that made it")
    documents: int | None
    files: int | None
    rows: int | None
    stored_bytes: int | None = Field(description="Of all that it holds, on disk; other backups share most of it")
    added_bytes: int | None = Field(description="What was new in it, on disk")
    holds_secret_key: bool
    verified_at: datetime | None = Field(description="When it was last checked")
    findings: int | None = Field(description="How many things were wrong then")


class BackupJobFailure(ResponseModel):
    """Why a job waits or ended, and what to do."""

    reason: str
    message: str
    message_zh: str = ""
    next_action: str = ""
    next_action_zh: str = ""


class BackupExample(ResponseModel):
    """Something that is wrong with a backup."""

    part: str
    message: str
    message_zh: str


class BackupJobResult(ResponseModel):
    """What a job brought; which fields have values depends on its kind."""

    backup_id: str | None = None
    documents: int | None = None
    stored_bytes: int | None = None
    added_bytes: int | None = None
    unindexed: int | None = Field(default=None, description="Documents that a restore indexes again")
    unserved: int | None = Field(default=None, description="Documents whose embedding model is not served")
    findings: int | None = None
    examples: list[BackupExample] = Field(default_factory=list[BackupExample])
    freed_bytes: int | None = None


class BackupJobAnswer(ResponseModel):
    """A backup, a check or a removal, and how far it is."""

    id: str
    kind: Literal["create", "verify", "remove"]
    backup_id: str | None
    status: Literal["pending", "running", "completed", "failed", "cancelled"]
    step: str | None = Field(description="`files`, `vectors`, `rows`, `blobs`, `manifests` or `deleted`")
    done: int
    total: int | None = Field(description="Null where nobody knows before the end")
    result: BackupJobResult
    failure: BackupJobFailure | None
    requested_by: str
    created_at: datetime
    updated_at: datetime
    ended_at: datetime | None


class BackupList(ResponseModel):
    """The folder and its backups, the newest first."""

    folder: str
    encrypted: bool = Field(description="Whether a passphrase is set, with which backups are encrypted")
    items: list[BackupAnswer]
    total: int


class BackupJobList(ResponseModel):
    """The last jobs, the newest first."""

    items: list[BackupJobAnswer]
    total: int


def _answer(summary: BackupSummary) -> BackupAnswer:
    manifest, note = summary.manifest, summary.verification
    counts = manifest.counts if manifest else None
    return BackupAnswer(
        id=summary.id,
        created_at=summary.created_at,
        damaged=manifest is None,
        product=manifest.product if manifest else None,
        documents=counts.documents if counts else None,
        files=counts.files if counts else None,
        rows=counts.rows if counts else None,
        stored_bytes=counts.stored_bytes if counts else None,
        added_bytes=counts.added_bytes if counts else None,
        holds_secret_key=manifest is not None and "secret-key" in manifest.secrets,
        verified_at=note.checked_at if note else None,
        findings=note.findings if note else None,
    )


def _job(row: BackupJob) -> BackupJobAnswer:
    fields = row.model_dump()
    fields["result"] = {name: value for name, value in row.result.items() if name in BackupJobResult.model_fields}
    return BackupJobAnswer.model_validate(fields)


@router.get("", responses=error_responses(BackupFolderUnset, BackupUnusable))
async def list_backups(context: CurrentContext) -> Envelope[BackupList]:
    """The backups of the folder that `AGENTEX_BACKUP_FOLDER` names.

    To restore one is the command `agentex backup restore`, because it needs an empty installation.
    """
    backups = ServerBackups(context.settings)
    items = [_answer(summary) for summary in await asyncio.to_thread(backups.list)]
    return Envelope(
        data=BackupList(folder=str(backups.root), encrypted=backups.encrypts, items=items, total=len(items))
    )


@router.post("", responses=_START_ERRORS)
async def create_backup(
    context: CurrentContext, principal: CurrentPrincipal, work: Writing
) -> Envelope[BackupJobAnswer]:
    """Begin a backup, which a worker makes while everything goes on; encrypted where a passphrase is set."""
    _ = ServerBackups(context.settings).root
    return Envelope(data=_job(await jobs.request(work, BackupJobKind.CREATE, by=principal.username)))


@router.get("/jobs")
async def list_backup_jobs(session: Reading) -> Envelope[BackupJobList]:
    """The last backups, checks and removals that were asked for here, and how far they are."""
    items = [_job(row) for row in await jobs.list_jobs(session)]
    return Envelope(data=BackupJobList(items=items, total=len(items)))


@router.get("/jobs/{job_id}", responses=error_responses(BackupJobNotFound))
async def read_backup_job(job_id: Text, session: Reading) -> Envelope[BackupJobAnswer]:
    """One of them."""
    return Envelope(data=_job(await jobs.get(session, job_id)))


@router.post("/jobs/{job_id}/cancel", responses=error_responses(BackupJobNotFound, Conflict))
async def cancel_backup_job(job_id: Text, work: Writing) -> Envelope[BackupJobAnswer]:
    """End one that waits or runs: no backup is made; a removal that has begun leaves that backup removed."""
    row = await jobs.get(work.session, job_id)
    await jobs.cancel(work, row)
    return Envelope(data=_job(row))


@router.post("/{backup_id}/verify", responses=_ACT_ERRORS)
async def verify_backup(
    backup_id: Text, context: CurrentContext, principal: CurrentPrincipal, work: Writing
) -> Envelope[BackupJobAnswer]:
    """Begin a check that reads everything the backup holds; `findings` of the list says how it ended."""
    return Envelope(data=await _begin(context, principal, work, BackupJobKind.VERIFY, backup_id))


@router.delete("/{backup_id}", responses=_ACT_ERRORS)
async def remove_backup(
    backup_id: Text, context: CurrentContext, principal: CurrentPrincipal, work: Writing
) -> Envelope[BackupJobAnswer]:
    """Begin to remove a backup and what only it holds; the others stay whole."""
    return Envelope(data=await _begin(context, principal, work, BackupJobKind.REMOVE, backup_id))


async def _begin(
    context: CurrentContext, principal: CurrentPrincipal, work: Writing, kind: BackupJobKind, backup_id: str
) -> BackupJobAnswer:
    await asyncio.to_thread(ServerBackups(context.settings).require, backup_id)
    return _job(await jobs.request(work, kind, by=principal.username, backup_id=backup_id))
