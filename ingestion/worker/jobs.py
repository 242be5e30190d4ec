"""The jobs of this package; adding one is a coroutine and a line here."""

from core.redis.jobs import JobPayload, QueueJob
from ingestion.attempts.failures import clear_document
from ingestion.context import Workbench
from ingestion.reindex import work_on
from ingestion.transfer import carry_out
from ingestion.worker.deletion import erase_document, erase_knowledge_base
from kb_service.documents.jobs import CLEAR_JOB, ERASE_JOB, INGEST_JOB
from kb_service.knowledge_bases import service as knowledge_bases
from kb_service.reindex.service import REINDEX_JOB
from kb_service.transfer import jobs as transfers


async def _wake(bench: Workbench, _payload: JobPayload) -> None:
    bench.wake.set()


async def _clear_document(bench: Workbench, payload: JobPayload) -> None:
    await clear_document(bench, str(payload["document_id"]))


async def _erase_document(bench: Workbench, payload: JobPayload) -> None:
    await erase_document(bench, str(payload["document_id"]))


async def _erase_knowledge_base(bench: Workbench, payload: JobPayload) -> None:
    await erase_knowledge_base(bench, str(payload["knowledge_base_id"]))


async def _reindex(bench: Workbench, payload: JobPayload) -> None:
    await work_on(bench, str(payload["knowledge_base_id"]))


async def _transfer(bench: Workbench, payload: JobPayload) -> None:
    await carry_out(bench, str(payload["transfer_id"]))


# Every part of the work has a limit of its own, and what is cut off here begins anew: this only
# must be longer than several of the largest documents on a slow machine.
_INGEST_SECONDS = 24 * 3600

JOBS: tuple[QueueJob, ...] = (
    QueueJob(INGEST_JOB, _wake, timeout=10),
    QueueJob(CLEAR_JOB, _clear_document, timeout=60),
    QueueJob(ERASE_JOB, _erase_document, timeout=120),
    QueueJob(knowledge_bases.ERASE_JOB, _erase_knowledge_base, timeout=900),
    QueueJob(REINDEX_JOB, _reindex, timeout=900),
    QueueJob(transfers.JOB, _transfer, timeout=_INGEST_SECONDS),
)
