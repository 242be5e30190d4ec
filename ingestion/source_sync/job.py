"""Syncs of knowledge sources as a repeatable job."""

import asyncio
from datetime import timedelta

from core.auth.authentication import principal_for_user
from core.auth.permissions import Permission
from core.db.unit_of_work import unit_of_work
from core.errors.base import AgentexError
from core.logging import get_logger
from core.runtime_config.outbound import OutboundPolicy
from core.security.vault import SecretKeyMismatchError
from ingestion.attempts.lease_heartbeat import renew_while
from ingestion.attempts.lost_jobs import GRACE
from ingestion.connectors import connector_named, parse_credentials, parse_settings
from ingestion.connectors.base import (
    ConnectorCredentials,
    ConnectorEnvironment,
    ConnectorSettings,
    KnownItem,
    ReadFailure,
    SourceConnector,
    SourceUnavailable,
)
from ingestion.context import WorkerContext
from ingestion.parsers.choice import format_support
from ingestion.source_sync.caches import cache_folder
from ingestion.source_sync.item_lookup import ItemLookup
from ingestion.source_sync.permissions import permission_map
from ingestion.source_sync.preview import SyncPreview
from ingestion.source_sync.secret_rotation import SourceSecretRotation
from ingestion.source_sync.sync import SourceSync, SyncLost, SyncTask, refusal
from kb_service.failures import describe_outage
from kb_service.knowledge_sources import syncs
from kb_service.knowledge_sources.credentials import unseal
from kb_service.models import KnowledgeBase, KnowledgeSource, KnowledgeSourceSync, SyncStatus
from kb_service.work_queue.job_leases import JobLease

log = get_logger(__name__)

_OUTAGE_PAUSE = timedelta(seconds=5)
_POISON = ReadFailure(
    "poison",
    "The sync stopped the worker several times",
    "同步过程中工作进程多次中断",
    "Narrow the source to find what does it, and report it",
    "请缩小来源范围以找出原因，并反馈该问题",
)
_INTERNAL = ReadFailure(
    "internal_error",
    "An internal error stopped the sync",
    "内部错误中断了同步",
    "Try again; if it fails again, report the time of the failure to your operator",
    "请重试；若仍失败，请将失败时间告知管理员",
)
_KEY_LOST = ReadFailure(
    "key_lost",
    "The stored credentials can't be decrypted: they were sealed with another secret key",
    "无法解密已保存的凭据：它们是用另一个密钥加密的",
    "Give the credentials of this source again, or ask your operator for the old secret key",
    "请重新填写该来源的凭据，或请管理员恢复原来的密钥",
)
_ADMINISTRATORS_ONLY = ReadFailure(
    "administrators_only",
    "Only administrators may keep a knowledge base in step with this kind of source",
    "只有管理员可以使用此类来源",
    "Give the knowledge base to an administrator, or make its owner one",
    "请将知识库转交给管理员，或将其所有者设为管理员",
)


async def run_sync(context: WorkerContext, sync_id: str) -> None:
    """Run a waiting sync or preview; idempotent, also across workers.

    While the worker has enough of them it does nothing: the reconciler queues the job again.
    """
    if context.syncing.locked():
        return
    async with context.syncing:
        async with unit_of_work(context.database) as work:
            row = await syncs.LEASES.acquire(work, sync_id, owner=context.owner, seconds=context.settings.lease_seconds)
        if row is not None:
            await _run(context, row)


async def _run(context: WorkerContext, row: KnowledgeSourceSync) -> None:
    lease = JobLease.of(row)
    try:
        if row.attempt > context.settings.ingest_attempts:
            raise SourceUnavailable(_POISON)
        task = await _open(context, row, lease)
        sync = SyncPreview(context, task) if row.is_preview else SourceSync(context, task)
        await renew_while(sync.run(), sync.renew, seconds=context.settings.lease_seconds, lost=SyncLost)
    except asyncio.CancelledError:
        async with unit_of_work(context.database) as work:
            await syncs.LEASES.release_for_retry(work, lease)
        raise
    except Exception as error:  # noqa: BLE001 - the edge of a job: every result is on the row
        await _record_failure(context, lease, error)


async def _open(context: WorkerContext, row: KnowledgeSourceSync, lease: JobLease) -> SyncTask:
    async with context.database.reading() as session:
        source = await session.get(KnowledgeSource, row.source_id)
        base = await session.get(KnowledgeBase, source.knowledge_base_id) if source else None
        if source is None or base is None or base.deleted_at is not None:
            raise SyncLost
        # It acts for whoever owns the knowledge base now.
        owner = await principal_for_user(session, base.owner_id)
    owner.require(Permission.KB_WRITE)
    connector_type = connector_named(source.connector)
    if connector_type.ADMINISTRATORS_ONLY and not owner.is_administrator:
        raise SourceUnavailable(_ADMINISTRATORS_ONLY)
    settings = await context.live.now()

    # What such a connector does not list any more is kept, and may be many times what it lists.
    lookup = ItemLookup(context.database, source.id, row.id, reads_all=connector_type.LISTS_EVERYTHING)

    async def find_known(key: str) -> KnownItem | None:
        item = await lookup.find(key)
        return item.known_item if item is not None and item.has_document else None

    source_settings = parse_settings(connector_type, source.settings)
    environment = ConnectorEnvironment(
        guard=OutboundPolicy(context.live).guards.everybody,
        folders=settings.source_folders,
        hidden_folder=settings.data_dir,
        max_bytes=settings.max_upload_bytes,
        find_known=find_known,
        support=format_support(settings),
        credentials=_credentials(context, source, connector_type, source_settings),
        cache_folder=cache_folder(settings, source.id),
        max_cache_bytes=settings.max_source_cache_bytes,
        reader_modules=settings.llama_index_readers,
        max_memory_bytes=settings.parse_memory_bytes,
        rotation=SourceSecretRotation(context, source.id, source_settings.credentials_target),
    )
    async with context.database.reading() as session:
        permissions = await permission_map(session, source_settings)
    connector = connector_type(source_settings, environment)
    return SyncTask(row, lease, source, lookup, owner, settings, connector, permissions)


def _credentials(
    context: WorkerContext, source: KnowledgeSource, connector: type[SourceConnector], settings: ConnectorSettings
) -> ConnectorCredentials | None:
    try:
        values = unseal(context.source_vault, source.sealed_credentials, settings.credentials_target)
    except SecretKeyMismatchError as error:
        raise SourceUnavailable(_KEY_LOST) from error
    return parse_credentials(connector, values)


async def _record_failure(context: WorkerContext, lease: JobLease, error: Exception) -> None:
    match error:
        case SyncLost():
            log.info("source_sync.abandoned", sync_id=lease.id)
        case SourceUnavailable():
            await _fail(context, lease, error.failure)
        case AgentexError() if error.status < AgentexError.status:
            await _fail(context, lease, refusal(error))
        case AgentexError() | OSError():
            await _postpone(context, lease, error)
        case _:
            log.error("source_sync.crashed", sync_id=lease.id, exc_info=error)
            await _fail(context, lease, _INTERNAL)


async def _fail(context: WorkerContext, lease: JobLease, failure: ReadFailure) -> None:
    async with unit_of_work(context.database) as work:
        await syncs.end(work, lease, SyncStatus.FAILED, failure=failure.words)
    log.info("source_sync.failed", sync_id=lease.id, reason=failure.reason)


async def _postpone(context: WorkerContext, lease: JobLease, error: Exception) -> None:
    log.warning("source_sync.postponed", sync_id=lease.id, cause=type(error).__name__)
    async with unit_of_work(context.database) as work:
        await syncs.LEASES.reschedule(work, lease, describe_outage(error).words, pause=_OUTAGE_PAUSE)


async def queue_syncs(context: WorkerContext) -> int:
    """Begin the syncs that are due, and queue waiting ones whose job was lost; returns the number of new jobs."""
    async with context.database.reading() as session:
        is_due = await syncs.has_due(session)
        waiting = await syncs.LEASES.stale(session, GRACE)
    if not (is_due or waiting):
        return 0
    queued = await context.queue.queued_keys()
    async with unit_of_work(context.database, context.queue.push) as work:
        await syncs.request_due(work)
        for sync_id, attempt in waiting:
            if syncs.sync_key(sync_id, attempt) not in queued:
                syncs.enqueue(work, sync_id, attempt)
        await syncs.delete_old(work)
        return len(work.jobs)
