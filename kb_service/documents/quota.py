"""How many bytes of files a user keeps, and that nothing new leads beyond the quota."""

from dataclasses import dataclass

from sqlalchemy import func
from sqlmodel import col, select
from sqlmodel.ext.asyncio.session import AsyncSession

from core.auth.locks import lock_owner
from core.errors.requests import QuotaExceeded
from kb_service.models import Attachment, Document, DocumentStatus, KnowledgeBase, Transfer

_OPEN = (DocumentStatus.PENDING.value, DocumentStatus.PROCESSING.value)


@dataclass(frozen=True)
class StorageUsage:
    """What a user keeps.

    Args:
        used_bytes: size of the documents' files, of older revisions too until they are deleted, of
            what imports and copies under way are still to bring, and of the attached images.
        documents: how many they are.
        image_bytes: those of the attached images alone.
    """

    used_bytes: int
    documents: int
    image_bytes: int = 0


async def storage_usage(session: AsyncSession, owner_id: str) -> StorageUsage:
    """What a user keeps; what was deleted counts no more."""
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
    images = await _image_bytes(session, owner_id)
    used_bytes = int(used) + await _promised(session, owner_id) + images
    return StorageUsage(used_bytes, int(count), images)


async def _image_bytes(session: AsyncSession, owner_id: str) -> int:
    total = func.coalesce(func.sum(col(Attachment.size)), 0)
    query = select(total).where(col(Attachment.owner_id) == owner_id, col(Attachment.deleted_at).is_(None))
    return int((await session.exec(query)).one())


async def _promised(session: AsyncSession, owner_id: str) -> int:
    """Bytes that transfers under way have room for and did not bring yet."""
    brought = (
        select(func.coalesce(func.sum(col(Document.file_size)), 0))
        .where(col(Document.knowledge_base_id) == col(Transfer.knowledge_base_id), col(Document.deleted_at).is_(None))
        .scalar_subquery()
    )
    query = select(Transfer.original_bytes, brought).where(
        col(Transfer.owner_id) == owner_id, col(Transfer.status).in_(_OPEN)
    )
    return sum(max(0, size - int(there)) for size, there in (await session.exec(query)).all())


@dataclass
class QuotaAllowance:
    """What is left of a quota in a transaction that brings several files.

    Args:
        limit_bytes: most that the owner may keep.
        used_bytes: what they keep by now.
    """

    limit_bytes: int
    used_bytes: int

    def spend(self, bytes_: int) -> None:
        """Count what is about to be written, less what it takes the place of.

        Raises:
            QuotaExceeded: there is no room for it; it is not counted.
        """
        used = self.used_bytes + bytes_
        if used > self.limit_bytes:
            raise QuotaExceeded(used_bytes=used, limit_bytes=self.limit_bytes)
        self.used_bytes = used


async def lock_allowance(session: AsyncSession, owner_id: str, limit_bytes: int) -> QuotaAllowance:
    """Lock the owner and see what is left of the quota."""
    await lock_owner(session, owner_id)
    return QuotaAllowance(limit_bytes, (await storage_usage(session, owner_id)).used_bytes)


async def check_quota(session: AsyncSession, owner_id: str, *, limit_bytes: int) -> None:
    """Pass when what the transaction wrote keeps the quota; its caller holds :func:`lock_owner`.

    Args:
        session: the transaction's.
        owner_id: whose files count.
        limit_bytes: most that they may keep.

    Raises:
        QuotaExceeded: it does not; the transaction must not be committed.
    """
    await session.flush()
    storage = await storage_usage(session, owner_id)
    if storage.used_bytes > limit_bytes:
        raise QuotaExceeded(used_bytes=storage.used_bytes, limit_bytes=limit_bytes)
