"""Numbers of knowledge bases and documents, counted by indexes alone."""

from sqlalchemy import func
from sqlmodel import col, select
from sqlmodel.ext.asyncio.session import AsyncSession

from kb_service.models import Document, DocumentStatus, KnowledgeBase


async def count_documents(session: AsyncSession) -> dict[str, int]:
    """Documents by status, with every status; those being erased do not count.

    All rows are counted along the status index and deleted ones along theirs: a condition on both would read the table.
    """
    counts = {status.value: 0 for status in DocumentStatus}
    status, number = Document.status, func.count()
    gone = col(Document.deleted_at).is_not(None)
    for name, count in (await session.exec(select(status, number).group_by(status))).all():
        counts[name] += count
    deleted = select(status, number).where(gone).group_by(status)
    for name, count in (await session.exec(deleted)).all():
        counts[name] -= count
    return counts


async def count_knowledge_bases(session: AsyncSession) -> int:
    """The number of knowledge bases that are not deleted."""
    query = select(func.count()).select_from(KnowledgeBase)
    return (await session.exec(query.where(col(KnowledgeBase.deleted_at).is_(None)))).one()
