"""Reconciliation of the queue, the index and the files with SQL."""

from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from datetime import datetime, timedelta

from sqlalchemy import case
from sqlmodel import col, select
from sqlmodel.sql.expression import SelectOfScalar

from core.db.now import database_now
from core.db.types import is_id, utc_now
from core.db.unit_of_work import unit_of_work
from core.errors.base import AgentexError
from core.errors.server import EmbeddingModelUnusable
from core.logging import get_logger
from ingestion.attempts.failures import WORKER_LOST, remove_orphan_points
from ingestion.context import WorkerContext
from kb_service.documents import jobs as document_jobs
from kb_service.documents import queries as document_queries
from kb_service.knowledge_bases import service as knowledge_bases
from kb_service.models import Document, DocumentStatus, KnowledgeBase
from kb_service.transfer import jobs as transfers
from kb_service.vector_index.protocol import IndexedDocument, VectorIndex
from kb_service.work_queue import leases
from kb_service.work_queue.leases import OPEN_STATUSES

log = get_logger(__name__)

_BATCH = 500
# Younger rows are still handled by their own jobs.
_GRACE = timedelta(seconds=3)


async def requeue_lost(context: WorkerContext) -> int:
    """Expire lost workers' leases and requeue missing erase jobs, returning their number; waiting documents are polled
    for.
    """
    await context.queue.sweep()
    await context.queue.release_abandoned()
    await _expire_leases(context)
    now = utc_now()
    async with context.database.reading() as session:
        documents_deleted = (await session.exec(_deleted_before(now - _GRACE))).all()
        deleted = select(KnowledgeBase).where(col(KnowledgeBase.deleted_at) < now - _GRACE)
        knowledge_bases_deleted = (await session.exec(deleted)).all()
        uncleared = await leases.orphaned(session)
    for document_id in uncleared[:_BATCH]:
        try:
            await remove_orphan_points(context, document_id)
        except AgentexError as error:
            # Its index is down: retried in the next round, without delaying the others.
            log.warning("reconciler.not_cleared", document_id=document_id, code=error.code)
    if not (documents_deleted or knowledge_bases_deleted):
        return 0
    return await _enqueue_missing(context, documents_deleted, knowledge_bases_deleted)


def _deleted_before(moment: datetime) -> SelectOfScalar[str]:
    """Documents deleted one by one: a deleted knowledge base erases its own."""
    return (
        select(Document.id)
        .join(KnowledgeBase, col(KnowledgeBase.id) == col(Document.knowledge_base_id))
        .where(col(Document.deleted_at) < moment, col(KnowledgeBase.deleted_at).is_(None))
    )


async def _expire_leases(context: WorkerContext) -> None:
    async with context.database.reading() as session:
        steady = context.clock.is_steady(await database_now(session))
    if not steady:
        # A clock was changed: running workers must renew their leases first.
        return
    async with unit_of_work(context.database) as work:
        lost = await leases.expire_leases(work, WORKER_LOST)
    if lost:
        log.warning("reconciler.leases_expired", documents=lost)
        context.wake.set()


async def _enqueue_missing(context: WorkerContext, deleted: Sequence[str], gone: Sequence[KnowledgeBase]) -> int:
    queued = await context.queue.queued_keys()
    not_erased = [id_ for id_ in deleted if document_jobs.erase_key(id_) not in queued]
    not_gone = [row for row in gone if knowledge_bases.erase_key(row.id) not in queued]
    async with unit_of_work(context.database, context.queue.push) as work:
        for document_id in not_erased[:_BATCH]:
            document_jobs.enqueue_erase(work, document_id)
        for row in not_gone[:_BATCH]:
            knowledge_bases.enqueue_erase(work, row.id)
        count = len(work.jobs)
    if count:
        log.info("reconciler.requeued", jobs=count)
    return count


_PROCESSING_STATUSES = (*OPEN_STATUSES, DocumentStatus.PAUSED)
_SHOWN = select(
    Document.id,
    Document.active_revision,
    Document.shadow_revision,
    case((col(Document.status).in_(_PROCESSING_STATUSES), col(Document.revision))),
)


class OrphanSweep:
    """Removes points and files without a row; expensive, for rare runs.

    A file is written before its row, so it is removed only when two sweeps in a row find no row. Files whose names are
    no ids are kept: a bucket may contain other things.
    """

    def __init__(self, context: WorkerContext) -> None:
        self._context = context
        self._suspects: set[str] = set()

    async def run(self) -> tuple[int, int]:
        """Sweep once; returns how many documents' points and how many files were removed."""
        indexed: list[tuple[VectorIndex, Sequence[IndexedDocument]]] = []
        for space in self._context.spaces.values():
            # An index that the engine could not open is swept later.
            with suppress(EmbeddingModelUnusable):
                indexed.append((space.index, await space.index.documents()))
        stored = set(await self._context.store.keys())
        async with self._context.database.reading() as session:
            needed_revisions = {id_: revisions for id_, *revisions in (await session.exec(_SHOWN)).all()}
            keys = await document_queries.storage_keys(session) | await transfers.pending_import_keys(session)
        points = 0
        for index, entries in indexed:
            points += await _sweep_points(index, entries, needed_revisions)
        unknown = {key for key in stored if is_id(key)} - keys
        files = unknown & self._suspects
        for key in files:
            await self._context.store.delete(key)
        self._suspects = unknown - files
        if points or files:
            log.info("reconciler.swept", documents=points, files=len(files))
        return points, len(files)


async def _sweep_points(
    index: VectorIndex, entries: Sequence[IndexedDocument], needed_revisions: Mapping[str, Collection[int | None]]
) -> int:
    """Remove the points of revisions that are not searched, waiting for a cut-over or being made."""
    unknown = [entry for entry in entries if entry.revision not in needed_revisions.get(entry.document_id, ())]
    for entry in unknown:
        await index.delete_documents([entry.document_id], revisions=[entry.revision])
    return len({entry.document_id for entry in unknown})
