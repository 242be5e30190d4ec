"""Erases what was deleted: points, file, chunks, rows, in an order that can stop anywhere."""

from sqlmodel import col, select

from core.database.clock import database_now
from core.database.unit_of_work import unit_of_work
from core.logging import get_logger
from ingestion.workbench import Workbench
from kb_service import documents, knowledge_bases, leases
from kb_service.models import Document, KnowledgeBase
from kb_service.vector_index.protocol import index_scope

log = get_logger(__name__)


async def erase_document(bench: Workbench, document_id: str) -> None:
    """Erase a deleted document; while a worker still holds it, the reconciler comes back."""
    async with bench.database.reading() as session:
        query = select(Document).where(
            Document.id == document_id, col(Document.deleted_at).is_not(None)
        )
        document = (await session.exec(query)).first()
        now = await database_now(session)
    if document is None or leases.is_held(document, now):
        return
    for space in bench.spaces.values():
        await space.index.delete_document(document_id)
    for key in (document.storage_key, *document.superseded_keys):
        await bench.store.delete(key)
    async with unit_of_work(bench.database) as work:
        await documents.delete_chunks(work.session, document_id)
        row = await work.session.get(Document, document_id)
        if row is not None:
            await work.session.delete(row)
    log.info("document.erased", document_id=document_id)


async def erase_knowledge_base(bench: Workbench, knowledge_base_id: str) -> None:
    """Erase a deleted knowledge base: its documents first, its row when none is left."""
    async with unit_of_work(bench.database) as work:
        row = await work.session.get(KnowledgeBase, knowledge_base_id)
        if row is None or row.deleted_at is None:
            return
        # An upload can pass the gate at the moment of the deletion and add its document after it.
        await knowledge_bases.delete_documents(work, knowledge_base_id)
        query = select(Document.id).where(Document.knowledge_base_id == knowledge_base_id)
        document_ids = (await work.session.exec(query)).all()
    for document_id in document_ids:
        await erase_document(bench, document_id)
    left = select(Document.id).where(Document.knowledge_base_id == knowledge_base_id).limit(1)
    async with bench.database.reading() as session:
        if (await session.exec(left)).first() is not None:
            return
    for space in bench.spaces.values():
        for number in range(1, row.last_generation + 1):
            await space.index.delete_knowledge_base(index_scope(knowledge_base_id, number))
    async with unit_of_work(bench.database) as work:
        row = await work.session.get(KnowledgeBase, knowledge_base_id)
        if row is not None:
            await work.session.delete(row)
    log.info("knowledge_base.erased", knowledge_base_id=knowledge_base_id)
