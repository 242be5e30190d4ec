"""Failed attempts at a document: final, postponed or abandoned."""

import asyncio
from datetime import timedelta

from core.db.now import database_now
from core.db.types import utc_now
from core.db.unit_of_work import unit_of_work
from core.errors.base import AgentexError
from core.errors.server import EmbeddingsRefused, InvalidVector
from core.logging import get_logger
from ingestion.context import WorkerContext
from ingestion.parsers.errors import ParseFailure
from kb_service.documents import queries as document_queries
from kb_service.failures import describe_outage
from kb_service.models import Document, DocumentStatus
from kb_service.work_queue import leases
from kb_service.work_queue.leases import Lease

log = get_logger(__name__)

_PARSE_TRIES = 2
# Outages are waited out, but a document that causes one must not be retried forever.
_OUTAGE_TRIES = 100
_MAX_PAUSE = timedelta(seconds=60)
_FINAL_STATUSES = (DocumentStatus.CANCELLED, DocumentStatus.FAILED)

# Replaces an outage's next action after the last attempt.
_OUTAGE_TRIES_EXHAUSTED = {
    "next_action": "The document was tried {tries} times and is not tried by itself any more: ask your "
    "operator whether the server is well again, then retry it",
    "next_action_zh": "文档已尝试 {tries} 次，系统不再自动重试：请向管理员确认服务已恢复，然后手动重试",
}
POISON = {
    "reason": "poison",
    "message": "Processing stopped the worker several times",
    "next_action": "Save the file in another format, or retry after an upgrade",
    "message_zh": "处理该文档时工作进程多次中断",
    "next_action_zh": "请将文件另存为其他格式，或升级后重试",
}
_INTERNAL = {
    "reason": "internal_error",
    "message": "An internal error stopped the processing",
    "next_action": "Retry; if it fails again, report the time of the failure to your operator",
    "message_zh": "内部错误中断了处理",
    "next_action_zh": "请重试；若仍失败，请将失败时间告知管理员",
}
_MODEL_MISFIT = {
    "reason": "embedding_model_misfit",
    "message": "The embedding model sends other vectors than the server's settings say",
    "next_action": "Ask your operator to correct AGENTEX_EMBEDDING_MODELS, then retry",
    "message_zh": "嵌入模型返回的向量与服务器设置不符",
    "next_action_zh": "请联系管理员修正 AGENTEX_EMBEDDING_MODELS，然后重试",
}
_EMBEDDING_REFUSED = {
    "reason": "embedding_refused",
    "message": "The embedding model's endpoint refuses this document's text",
    "next_action": "Use smaller chunks or another embedding model, then retry",
    "message_zh": "嵌入模型的接口拒绝了该文档的文本",
    "next_action_zh": "请减小分块大小或更换嵌入模型，然后重试",
}
_FILE_MISSING = {
    "reason": "file_missing",
    "message": "The uploaded file is no longer in the server's storage",
    "next_action": "Upload the file again",
    "message_zh": "上传的文件已不在服务器存储中",
    "next_action_zh": "请重新上传该文件",
}
WORKER_LOST = {
    "reason": "worker_lost",
    "message": "The worker that had the document in hand stopped",
    "next_action": "Nothing: the document is tried again by itself",
    "message_zh": "处理该文档的工作进程已停止",
    "next_action_zh": "无需操作：系统会自动重试",
}


class LeaseLost(Exception):
    """Another worker has the document, or it was deleted, paused, cancelled or replaced."""


def is_outage(error: Exception) -> bool:
    """Whether part of the server is unavailable, through no fault of the document."""
    match error:
        case FileNotFoundError() | InvalidVector() | EmbeddingsRefused():
            return False
        case AgentexError():
            return error.status > AgentexError.status
        case _:
            return isinstance(error, OSError)


async def record_failure(context: WorkerContext, lease: Lease, document: Document, error: Exception) -> None:
    """Record an attempt's error on the row."""
    if not await _record(context, lease, document, error):
        # For example, an attempt at a replaced document sees a missing file.
        await _abandon(context, lease)


async def _record(context: WorkerContext, lease: Lease, document: Document, error: Exception) -> bool:
    match error:
        case LeaseLost():
            return False
        case ParseFailure():
            return await _record_parse_failure(context, lease, error)
        case FileNotFoundError():
            return await fail(context, lease, _FILE_MISSING)
        case InvalidVector():
            log.error("document.misfit", document_id=lease.document_id, error=error.details)
            return await fail(context, lease, _MODEL_MISFIT)
        case EmbeddingsRefused():
            return await fail(context, lease, _EMBEDDING_REFUSED)
        case _ if is_outage(error):
            return await _postpone(context, lease, document, error)
        case _:
            log.error("document.crashed", document_id=lease.document_id, exc_info=error)
            return await fail(context, lease, _INTERNAL)


async def _abandon(context: WorkerContext, lease: Lease) -> None:
    log.info("document.abandoned", document_id=lease.document_id)
    async with context.database.reading() as session:
        row = await session.get(Document, lease.document_id)
    # Already erased: only this attempt knows of its later writes.
    orphaned = [lease.revision] if row is None else _orphan_revisions(row, lease)
    await _remove_points(context, lease.document_id, orphaned)
    async with unit_of_work(context.database) as work:
        await leases.release(work, lease)


def _orphan_revisions(row: Document, lease: Lease) -> list[int]:
    unshown = document_queries.unused_revisions(row)
    if row.status in _FINAL_STATUSES:
        return unshown
    return [lease.revision] if row.revision > lease.revision and lease.revision in unshown else []


async def remove_orphan_points(context: WorkerContext, document_id: str) -> None:
    """Remove the points of a cancelled document that no search shows.

    A worker that holds its lease does so itself; if it died, the reconciler calls this, again after
    VectorIndexUnavailable. The points of a retry or a new file belong to another revision and stay.
    """
    async with context.database.reading() as session:
        row = await session.get(Document, document_id)
        now = await database_now(session)
    if row is None or row.status not in _FINAL_STATUSES or leases.is_held(row, now):
        return
    await _remove_points(context, row.id, document_queries.unused_revisions(row))
    async with unit_of_work(context.database) as work:
        await leases.clear(work, row)


async def _remove_points(context: WorkerContext, document_id: str, revisions: list[int]) -> None:
    if revisions:
        await context.spaces.delete_documents([document_id], revisions=revisions)


async def fail_as_poison(context: WorkerContext, lease: Lease) -> bool:
    """Fail a document that was claimed too often; this claim does not count as an attempt."""
    return await fail(context, lease, POISON, attempt=lease.attempt - 1)


async def fail(context: WorkerContext, lease: Lease, failure: dict[str, str], *, attempt: int | None = None) -> bool:
    """Fail a document with a message for its owner; False when the lease was lost."""
    await _remove_unshown_points(context, lease)
    async with unit_of_work(context.database) as work:
        if not await leases.fail(work, lease, failure, attempt=attempt):
            return False
    log.info("document.failed", document_id=lease.document_id, reason=failure["reason"])
    return True


async def _remove_unshown_points(context: WorkerContext, lease: Lease) -> None:
    """Remove the points of a failed attempt, which crowd out others; later they may be another worker's."""
    seconds = context.settings.lease_seconds
    async with unit_of_work(context.database) as work:
        if not await leases.renew(work, [lease], seconds=seconds):
            return
        document = await work.session.get_one(Document, lease.document_id)
    try:
        async with asyncio.timeout(seconds / 2):
            await _remove_points(context, document.id, document_queries.unused_revisions(document))
    except (AgentexError, TimeoutError) as error:
        log.warning("document.not_cleared", document_id=lease.document_id, error=type(error).__name__)


async def _record_parse_failure(context: WorkerContext, lease: Lease, failure: ParseFailure) -> bool:
    words = {
        "reason": failure.reason.value,
        "message": failure.message,
        "next_action": failure.next_action,
        "message_zh": failure.message_zh,
        "next_action_zh": failure.next_action_zh,
    }
    if failure.retryable and lease.attempt < _PARSE_TRIES:
        async with unit_of_work(context.database) as work:
            retry_at = utc_now() + timedelta(seconds=1)
            return await leases.reschedule(work, lease, words, retry_at=retry_at, attempt=lease.attempt)
    return await fail(context, lease, words)


def _outage_count(document: Document) -> int:
    return int((document.failure or {}).get("tries", "0"))


async def _postpone(context: WorkerContext, lease: Lease, document: Document, error: Exception) -> bool:
    tries = _outage_count(document) + 1
    log.warning("document.postponed", document_id=lease.document_id, cause=type(error).__name__)
    words = {**describe_outage(error).words, "tries": str(tries)}
    if tries >= _OUTAGE_TRIES:
        last = {key: text.format(tries=tries) for key, text in _OUTAGE_TRIES_EXHAUSTED.items()}
        return await fail(context, lease, {**words, **last})
    pause = min(timedelta(seconds=2 ** min(tries, 6)), _MAX_PAUSE)
    async with unit_of_work(context.database) as work:
        return await leases.reschedule(work, lease, words, retry_at=utc_now() + pause, attempt=lease.attempt - 1)
