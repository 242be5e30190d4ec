"""Imports and copies of knowledge bases as a repeatable job."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, replace
from datetime import timedelta
from functools import partial

from anyio import to_thread

from core.auth.authentication import principal_for_user
from core.auth.principal import Action
from core.db.unit_of_work import UnitOfWork, unit_of_work
from core.errors.auth import AccountDisabled, KnowledgeBaseNotFound, NotFound
from core.errors.base import AgentexError
from core.errors.requests import InvalidArchive, QuotaExceeded
from core.errors.server import EmbeddingModelNotServed
from core.logging import get_logger
from ingestion.attempts.lease_heartbeat import renew_while
from ingestion.context import WorkerContext
from ingestion.transfer_restore import DocumentRestorer, TransferDestination, TransferLost
from kb_service import questions
from kb_service.failures import describe_outage
from kb_service.knowledge_bases import service as knowledge_bases
from kb_service.models import KnowledgeBase, Transfer
from kb_service.questions import QuestionDraft
from kb_service.transfer import jobs as transfers
from kb_service.transfer.archive_format import DocumentContent
from kb_service.transfer.archive_reader import ArchiveReader, archive_limits
from kb_service.transfer.export_source import KnowledgeBaseSource, SourceStores
from kb_service.visibility import SYSTEM_VIEWER
from kb_service.work_queue.job_leases import JobLease

log = get_logger(__name__)

_OUTAGE_PAUSE = timedelta(seconds=5)

# An unfinished import can't be re-indexed.
_IMPORT_ANEW = {
    "next_action": "Ask your operator to configure the model again in AGENTEX_EMBEDDING_MODELS, or "
    "cancel this and import the file again: then its documents are embedded anew",
    "next_action_zh": "请联系管理员在 AGENTEX_EMBEDDING_MODELS 中重新配置该模型，"
    "或取消后重新导入文件，届时会重新嵌入文档",
}
_POISON = {
    "reason": "poison",
    "message": "The transfer stopped the worker several times",
    "next_action": "Try again after an upgrade, or with fewer documents",
    "message_zh": "传输过程中工作进程多次中断",
    "next_action_zh": "请升级后重试，或减少文档数量",
}
_INVALID = {
    "reason": "invalid_archive",
    "next_action": "Export the knowledge base again and import the new file",
    "message_zh": "文件内容无效",
    "next_action_zh": "请重新导出知识库并导入新文件",
}
_SOURCE_GONE = {
    "reason": "source_gone",
    "message": "The knowledge base to copy, or the file to import, is no longer there",
    "next_action": "Start again from one that is there",
    "message_zh": "要复制的知识库或要导入的文件已不存在",
    "next_action_zh": "请选择现有的知识库或文件重新开始",
}
_QUOTA = {
    "reason": "quota_exceeded",
    "message": "The files are more than the storage quota has room for",
    "next_action": "Delete documents, or ask your operator for a larger quota, and start again",
    "message_zh": "文件超出存储配额",
    "next_action_zh": "请删除一些文档或联系管理员提高配额，然后重新开始",
}
_INTERNAL = {
    "reason": "internal_error",
    "message": "An internal error stopped the transfer",
    "next_action": "Try again; if it fails again, report the time of the failure to your operator",
    "message_zh": "内部错误中断了传输",
    "next_action_zh": "请重试；若仍失败，请将失败时间告知管理员",
}


class _SourceGone(Exception):
    """The source of the transfer was deleted."""


@dataclass(frozen=True)
class _TransferSource:
    contents: Callable[[Callable[[str], bool]], AsyncGenerator[DocumentContent]]
    drafts: Callable[[], Awaitable[Sequence[QuestionDraft]]]
    document_count: int
    embedding_model: str


async def run_transfer(context: WorkerContext, transfer_id: str) -> None:
    """Run a waiting import or copy; idempotent, also across workers."""
    settings = context.settings
    async with unit_of_work(context.database) as work:
        row = await transfers.LEASES.acquire(work, transfer_id, owner=context.owner, seconds=settings.lease_seconds)
    if row is None:
        return
    lease = JobLease.of(row)
    try:
        if row.attempt > settings.ingest_attempts:
            await _fail(context, row, lease, _POISON)
            return
        await renew_while(
            _transfer(context, row, lease),
            partial(_renew, context, lease),
            seconds=settings.lease_seconds,
            lost=TransferLost,
        )
        await _remove_file(context, row)
        log.info("transfer.completed", transfer_id=row.id)
    except asyncio.CancelledError:
        async with unit_of_work(context.database) as work:
            await transfers.LEASES.release_for_retry(work, lease)
        raise
    except Exception as error:  # noqa: BLE001 - the edge of a job: every result is on the row
        await _record_failure(context, row, lease, error)


async def _record_failure(context: WorkerContext, row: Transfer, lease: JobLease, error: Exception) -> None:
    match error:
        case TransferLost():
            log.info("transfer.abandoned", transfer_id=row.id)
            async with unit_of_work(context.database) as work:
                await transfers.abandon(work, lease)
        case InvalidArchive():
            reason = str(error.details.get("error"))
            await _fail(context, row, lease, {**_INVALID, "message": reason})
        case QuotaExceeded():
            await _fail(context, row, lease, _QUOTA)
        case _SourceGone() | KnowledgeBaseNotFound() | FileNotFoundError():
            await _fail(context, row, lease, _SOURCE_GONE)
        case OSError():
            await _postpone(context, row, lease, error)
        case AgentexError() if error.status > AgentexError.status:
            await _postpone(context, row, lease, error)
        case _:
            log.error("transfer.crashed", transfer_id=row.id, exc_info=error)
            await _fail(context, row, lease, _INTERNAL)


async def _fail(context: WorkerContext, row: Transfer, lease: JobLease, failure: dict[str, str]) -> None:
    async with unit_of_work(context.database, context.queue.push) as work:
        is_ended = await transfers.fail(work, lease, failure)
    if not is_ended:
        log.info("transfer.abandoned", transfer_id=row.id)
        return
    await _remove_file(context, row)
    log.info("transfer.failed", transfer_id=row.id, reason=failure["reason"])


async def _postpone(context: WorkerContext, row: Transfer, lease: JobLease, error: Exception) -> None:
    log.warning("transfer.postponed", transfer_id=lease.id, cause=type(error).__name__)
    words = describe_outage(error).words
    if row.kind == transfers.IMPORT and isinstance(error, EmbeddingModelNotServed):
        words |= _IMPORT_ANEW
    async with unit_of_work(context.database) as work:
        await transfers.LEASES.reschedule(work, lease, words, pause=_OUTAGE_PAUSE)


async def _remove_file(context: WorkerContext, row: Transfer) -> None:
    if row.kind == transfers.IMPORT:
        await context.store.delete(row.source)


async def _renew(context: WorkerContext, lease: JobLease) -> bool:
    async with unit_of_work(context.database) as work:
        return await transfers.renew(work, lease, seconds=context.settings.lease_seconds)


async def _transfer(context: WorkerContext, row: Transfer, lease: JobLease) -> None:
    async with context.database.reading() as session:
        knowledge_base = await session.get(KnowledgeBase, row.knowledge_base_id)
    if knowledge_base is None:
        raise TransferLost

    async with _open_source(context, row) as source:
        done = 0

        async def guard(work: UnitOfWork) -> None:
            share = 100 * done // max(1, source.document_count)
            seconds = context.settings.lease_seconds
            is_renewed = await transfers.renew(work, lease, seconds=seconds, progress=min(99, share))
            if not is_renewed:
                raise TransferLost

        destination = TransferDestination(
            transfer_id=row.id,
            knowledge_base=knowledge_base,
            embeds_anew=knowledge_base.embedding_model != source.embedding_model,
            source_id=row.source if row.kind == transfers.COPY else None,
            guard=guard,
        )
        restorer = DocumentRestorer(context, destination)
        done_ids = await restorer.done_ids()
        done = len(done_ids)
        remaining = source.contents(lambda key: destination.document_id(key) not in done_ids)
        async with aclosing(remaining) as contents:
            async for content in contents:
                await restorer.add(content)
                done += 1
        await restorer.flush()
        drafts = await source.drafts()
        async with unit_of_work(context.database) as work:
            await guard(work)
            await _finish(work, row, destination, drafts)


async def _finish(
    work: UnitOfWork, row: Transfer, destination: TransferDestination, drafts: Sequence[QuestionDraft]
) -> None:
    knowledge_base = await work.session.get_one(KnowledgeBase, destination.knowledge_base.id)
    arrived = [
        replace(draft, restricted_to=[destination.document_id(key) for key in draft.restricted_to]) for draft in drafts
    ]
    try:
        await questions.add_questions(work, SYSTEM_VIEWER, knowledge_base, arrived)
    except KnowledgeBaseNotFound as error:
        raise TransferLost from error
    knowledge_base.enabled = True
    work.session.add(knowledge_base)
    await transfers.complete(work, JobLease.of(row))


@asynccontextmanager
async def _open_source(context: WorkerContext, row: Transfer) -> AsyncGenerator[_TransferSource]:
    if row.kind == transfers.COPY:
        yield await _live_source(context, row)
        return
    async with context.store.local_copy(row.source) as path:
        with path.open("rb") as file:
            limits = archive_limits(await context.live.now())
            archive = await to_thread.run_sync(ArchiveReader, file, limits)

            async def drafts() -> Sequence[QuestionDraft]:
                return archive.questions

            yield _TransferSource(
                contents=archive.contents,
                drafts=drafts,
                document_count=archive.counts.documents,
                embedding_model=archive.settings.embedding_model,
            )


async def _live_source(context: WorkerContext, row: Transfer) -> _TransferSource:
    # It may have been deleted or made private since the request.
    try:
        async with context.database.reading() as session:
            asking = await principal_for_user(session, row.owner_id)
            origin = await knowledge_bases.get(session, asking, row.source, Action.READ)
    except (NotFound, AccountDisabled) as error:
        raise _SourceGone from error
    live = KnowledgeBaseSource(SourceStores(context.database, context.store, context.spaces), asking, origin)
    return _TransferSource(
        contents=live.contents,
        drafts=live.drafts,
        document_count=(await live.extent()).documents,
        embedding_model=origin.embedding_model,
    )
