"""Erasure of deleted documents and knowledge bases, in an order that can stop anywhere."""

from collections.abc import Sequence
from typing import Any, NamedTuple, cast

from sqlalchemy import ColumnElement
from sqlmodel import col, select
from sqlmodel.sql.expression import Select

from core.db.now import database_now
from core.db.unit_of_work import unit_of_work
from core.errors.base import AgentexError
from core.logging import get_logger
from ingestion.context import WorkerContext
from kb_service.documents import actions as document_actions
from kb_service.knowledge_bases import service as knowledge_bases
from kb_service.models import Document, KnowledgeBase
from kb_service.vector_index.protocol import index_scope
from kb_service.work_queue.leases import LONGEST_LEASE, is_free

log = get_logger(__name__)

# Other writers wait for a transaction: 1,000 chunks take some 20 ms.
_DOCUMENTS_AT_ONCE = 100
_CHUNKS_AT_ONCE = 1000
_MAX_SIBLING_CHUNKS = 100
# Files are deleted one by one: progress survives a cancelled job on slow storage.
_SIBLINGS_AT_ONCE = 10


async def erase_document(context: WorkerContext, document_id: str) -> None:
    """Erase a deleted document; one in another worker's lease is left to the reconciler.

    Small deleted documents of its knowledge base are erased with it: a request to the index and a transaction cost as
    much for one as for all. Their own jobs then find nothing to do.
    """
    # A second job would choose the same siblings.
    async with context.erasing:
        deleted = await _deleted_documents(context, col(Document.id) == document_id)
        if not deleted:
            return
        deleted += await _deleted_documents(context, *_small_siblings(document_id), limit=_DOCUMENTS_AT_ONCE - 1)
        ids = [each.document_id for each in deleted]
        await context.spaces.delete_documents(ids)
        await _erase_files_and_rows(context, deleted[:1])
        for start in range(1, len(deleted), _SIBLINGS_AT_ONCE):
            await _try_erase_siblings(context, deleted[start : start + _SIBLINGS_AT_ONCE])
    log.info("documents.erased", document_id=document_id, documents=len(ids))


async def _try_erase_siblings(context: WorkerContext, deleted: Sequence["_DeletedDocument"]) -> None:
    try:
        await _erase_files_and_rows(context, deleted)
    except (AgentexError, OSError) as error:
        log.warning("documents.not_erased_beside", cause=type(error).__name__)


def _small_siblings(document_id: str) -> tuple[ColumnElement[bool], ...]:
    of_it = select(Document.knowledge_base_id).where(Document.id == document_id)
    return (
        col(Document.knowledge_base_id) == of_it.scalar_subquery(),
        col(Document.id) != document_id,
        col(Document.chunk_count) <= _MAX_SIBLING_CHUNKS,
    )


async def erase_knowledge_base(context: WorkerContext, knowledge_base_id: str) -> None:
    """Erase a deleted knowledge base: its documents first, its row when none is left; leased ones wait for the next
    run.
    """
    async with unit_of_work(context.database) as work:
        row = await work.session.get(KnowledgeBase, knowledge_base_id)
        if row is None or row.deleted_at is None:
            return
        # An upload may have passed the access check before the deletion and add its document after it.
        await knowledge_bases.delete_documents(work, knowledge_base_id)
    # Before the deletion of points: unleased documents get no new ones.
    mine = col(Document.knowledge_base_id) == knowledge_base_id
    deleted = await _deleted_documents(context, mine)
    for number in range(1, row.last_generation + 1):
        await context.spaces.delete_knowledge_base(index_scope(knowledge_base_id, number))
    for start in range(0, len(deleted), _DOCUMENTS_AT_ONCE):
        await _erase_files_and_rows(context, deleted[start : start + _DOCUMENTS_AT_ONCE])
    async with unit_of_work(context.database) as work:
        if (await work.session.exec(select(Document.id).where(mine).limit(1))).first() is not None:
            return
        row = await work.session.get(KnowledgeBase, knowledge_base_id)
        if row is not None:
            await work.session.delete(row)
    log.info("knowledge_base.erased", knowledge_base_id=knowledge_base_id, documents=len(deleted))


class _DeletedDocument(NamedTuple):
    document_id: str
    storage_key: str
    superseded_keys: list[str]


async def _deleted_documents(
    context: WorkerContext, *which: ColumnElement[bool], limit: int | None = None
) -> list[_DeletedDocument]:
    async with context.database.reading() as session:
        now = await database_now(session)
        columns: tuple[Any, ...] = (Document.id, Document.storage_key, Document.superseded_keys)
        query = cast("Select[*tuple[Any, ...]]", select(*columns)).where(
            *which, col(Document.deleted_at).is_not(None), is_free(now, now + LONGEST_LEASE)
        )
        return [_DeletedDocument(*row) for row in (await session.exec(query.limit(limit))).all()]


async def _erase_files_and_rows(context: WorkerContext, deleted: Sequence[_DeletedDocument]) -> None:
    for _, newest, superseded in deleted:
        for key in (newest, *superseded):
            await context.store.delete(key)
    ids = [each.document_id for each in deleted]
    is_gone = False
    while not is_gone:
        async with unit_of_work(context.database) as work:
            is_gone = await document_actions.delete_rows(work.session, ids, _CHUNKS_AT_ONCE)
