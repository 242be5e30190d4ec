"""The worker's registry of jobs."""

from collections.abc import Awaitable, Callable

from core.redis.jobs import JobPayload, QueueJob
from ingestion.attempts.failures import remove_orphan_points
from ingestion.backup_jobs import run_backup_job
from ingestion.context import WorkerContext
from ingestion.reindex import run_reindex
from ingestion.source_sync.job import run_sync
from ingestion.transfer import run_transfer
from ingestion.worker.deletion import erase_document, erase_knowledge_base
from kb_service.backup.jobs import BACKUP_JOB
from kb_service.documents.jobs import CLEAR_JOB, ERASE_JOB, INGEST_JOB
from kb_service.knowledge_bases import service as knowledge_bases
from kb_service.knowledge_sources.syncs import SYNC_JOB
from kb_service.reindex.service import REINDEX_JOB
from kb_service.transfer import jobs as transfers


async def _wake(context: WorkerContext, _payload: JobPayload) -> None:
    context.wake.set()


def _with_id(
    act: Callable[[WorkerContext, str], Awaitable[None]], key: str
) -> Callable[[WorkerContext, JobPayload], Awaitable[None]]:
    async def run(context: WorkerContext, payload: JobPayload) -> None:
        await act(context, str(payload[key]))

    return run


# Each part of the work has its own limit, and a cancelled job starts again: this only must exceed several of the
# largest documents on a slow machine.
_INGEST_SECONDS = 24 * 3600

JOBS: tuple[QueueJob, ...] = (
    QueueJob(INGEST_JOB, _wake, timeout=10),
    QueueJob(CLEAR_JOB, _with_id(remove_orphan_points, "document_id"), timeout=60),
    QueueJob(ERASE_JOB, _with_id(erase_document, "document_id"), timeout=120),
    QueueJob(knowledge_bases.ERASE_JOB, _with_id(erase_knowledge_base, "knowledge_base_id"), timeout=900),
    QueueJob(REINDEX_JOB, _with_id(run_reindex, "knowledge_base_id"), timeout=900),
    QueueJob(transfers.TRANSFER_JOB, _with_id(run_transfer, "transfer_id"), timeout=_INGEST_SECONDS),
    QueueJob(BACKUP_JOB, _with_id(run_backup_job, "job_id"), timeout=_INGEST_SECONDS),
    QueueJob(SYNC_JOB, _with_id(run_sync, "sync_id"), timeout=_INGEST_SECONDS),
)
