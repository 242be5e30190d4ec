"""Documents by a part of their name, across knowledge bases."""

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import func
from sqlmodel import col, select
from sqlmodel.ext.asyncio.session import AsyncSession

from core.auth import sharing
from core.auth.principal import Principal
from core.db.name_part import contains_ignoring_case
from core.db.pagination import PageRequest, paginate
from kb_service.models import Document, KnowledgeBase
from kb_service.visibility import visible_to

SORT_FIELDS = ("updated_at", "created_at", "name")


@dataclass(frozen=True)
class NamedDocumentListing:
    """One page of documents with their knowledge bases, and the total."""

    items: Sequence[tuple[Document, KnowledgeBase]]
    total: int


async def find_documents(
    session: AsyncSession, principal: Principal, part: str, page: PageRequest
) -> NamedDocumentListing:
    """One page of the documents that the caller can read and whose name has a part, in upper or lower case."""
    base_columns = (col(KnowledgeBase.id), col(KnowledgeBase.owner_id), col(KnowledgeBase.is_public))
    conditions = (
        col(KnowledgeBase.id) == col(Document.knowledge_base_id),
        sharing.visible_to(principal, KnowledgeBase.SHARE_KIND, *base_columns),
        col(KnowledgeBase.deleted_at).is_(None),
        visible_to(principal),
        col(Document.deleted_at).is_(None),
        contains_ignoring_case(col(Document.name), part),
    )
    query = paginate(
        select(Document, KnowledgeBase).where(*conditions),
        page,
        columns={
            "updated_at": col(Document.updated_at),
            "created_at": col(Document.created_at),
            "name": col(Document.name),
        },
        tie=col(Document.id),
    )
    total = select(func.count()).select_from(Document).join(KnowledgeBase, conditions[0]).where(*conditions[1:])
    return NamedDocumentListing((await session.exec(query)).all(), (await session.exec(total)).one())
