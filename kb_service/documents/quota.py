"""How many bytes of files a user keeps, and that an upload does not lead beyond the quota."""

from dataclasses import dataclass

from sqlalchemy import func
from sqlmodel import col, select
from sqlmodel.ext.asyncio.session import AsyncSession

from core.accounts.models import User
from core.errors import QuotaExceeded
from kb_service.models import Document, KnowledgeBase


@dataclass(frozen=True)
class Storage:
    """What the knowledge bases of a user hold.

    Args:
        used_bytes: size of the files, of older revisions too until they are deleted.
        documents: how many they are.
    """

    used_bytes: int
    documents: int


async def storage_of(session: AsyncSession, owner_id: str) -> Storage:
    """What the knowledge bases of a user hold; what was deleted counts no more."""
    bytes_ = func.coalesce(func.sum(col(Document.file_size) + col(Document.superseded_bytes)), 0)
    query = (
        select(bytes_, func.count(col(Document.id)))
        .join(KnowledgeBase, col(KnowledgeBase.id) == col(Document.knowledge_base_id))
        .where(
            col(KnowledgeBase.owner_id) == owner_id,
            col(KnowledgeBase.deleted_at).is_(None),
            col(Document.deleted_at).is_(None),
        )
    )
    used, count = (await session.exec(query)).one()
    return Storage(int(used), int(count))


async def take_turn(session: AsyncSession, owner_id: str) -> None:
    """Let the uploads of one user pass the quota one after the other.

    On SQLite the transaction is the only writer anyway.
    """
    query = select(User.id).where(User.id == owner_id).with_for_update(key_share=True)
    await session.exec(query)


async def check(session: AsyncSession, owner_id: str, *, limit_bytes: int) -> None:
    """Pass when what the transaction wrote keeps the quota; its caller had :func:`take_turn`.

    Raises:
        QuotaExceeded: it does not; the transaction must not be committed.
    """
    await session.flush()
    storage = await storage_of(session, owner_id)
    if storage.used_bytes > limit_bytes:
        raise QuotaExceeded(used_bytes=storage.used_bytes, limit_bytes=limit_bytes)
