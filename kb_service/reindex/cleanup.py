"""SQL cleanup after a generation is retired."""

from sqlalchemy import delete as delete_from
from sqlmodel import and_, col, or_, select

from core.db.unit_of_work import UnitOfWork
from kb_service.models import Chunk, Document
from kb_service.reindex.service import get_for_update

# Deleting this many rows blocks SQLite's only writer for about 20 ms.
_BATCH = 500


async def delete_unused_chunks(work: UnitOfWork, knowledge_base_id: str) -> bool:
    """Delete a batch of chunk rows that nothing can show any more; returns whether more may be left."""
    is_used = and_(
        col(Document.id) == col(Chunk.document_id),
        or_(col(Document.active_revision) == col(Chunk.revision), col(Document.shadow_revision) == col(Chunk.revision)),
    )
    query = (
        select(Chunk.id)
        .where(col(Chunk.knowledge_base_id) == knowledge_base_id, ~select(Document.id).where(is_used).exists())
        .limit(_BATCH)
    )
    ids = (await work.session.exec(query)).all()
    await work.session.exec(delete_from(Chunk).where(col(Chunk.id).in_(ids)))
    return len(ids) == _BATCH


async def remove_retired(work: UnitOfWork, knowledge_base_id: str, number: int) -> None:
    """Record that nothing is left of a generation."""
    knowledge_base = await get_for_update(work.session, knowledge_base_id)
    if knowledge_base is not None:
        rest = [entry for entry in knowledge_base.retired if entry["generation"] != number]
        knowledge_base.retired = rest
        work.session.add(knowledge_base)
