"""The lock under which a knowledge base changes its generation."""

from sqlmodel import col, select
from sqlmodel.ext.asyncio.session import AsyncSession

from kb_service.models import KnowledgeBase


async def lock(session: AsyncSession, knowledge_base_id: str) -> KnowledgeBase | None:
    """The knowledge base as it is now, kept so until the transaction ends; None once deleted.

    No document is added and no try completed meanwhile (``completing.complete`` holds the row, too).
    """
    query = (
        select(KnowledgeBase)
        .where(KnowledgeBase.id == knowledge_base_id, col(KnowledgeBase.deleted_at).is_(None))
        .with_for_update()
        .execution_options(populate_existing=True)
    )
    return (await session.exec(query)).first()
