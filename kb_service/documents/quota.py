"""Storage usage of users, and their quota."""

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
    """Storage that a user occupies, in bytes; ``image_bytes`` are part of ``used_bytes``.

    Older revisions count until they are deleted; so does what running imports and copies have yet to bring.
    """

    used_bytes: int
    documents: int
    image_bytes: int = 0


async def storage_usage(session: AsyncSession, owner_id: str) -> StorageUsage:
    """Storage that a user occupies; deleted documents do not count."""
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
    """Bytes reserved for running transfers and not yet written."""
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
    """What is left of a quota in a transaction that writes several files."""

    limit_bytes: int
    used_bytes: int

    def spend(self, bytes_: int) -> None:
        """Count bytes to be written, less those that they replace; raises ``QuotaExceeded`` without counting."""
        used = self.used_bytes + bytes_
        if used > self.limit_bytes:
            raise QuotaExceeded(used_bytes=used, limit_bytes=self.limit_bytes)
        self.used_bytes = used


async def lock_allowance(session: AsyncSession, owner_id: str, limit_bytes: int) -> QuotaAllowance:
    """Lock the owner and compute what is left of the quota."""
    await lock_owner(session, owner_id)
    return QuotaAllowance(limit_bytes, (await storage_usage(session, owner_id)).used_bytes)


async def check_quota(session: AsyncSession, owner_id: str, *, limit_bytes: int) -> None:
    """Raise ``QuotaExceeded`` if the transaction's writes exceed it; the caller holds :func:`lock_owner`."""
    await session.flush()
    storage = await storage_usage(session, owner_id)
    if storage.used_bytes > limit_bytes:
        raise QuotaExceeded(used_bytes=storage.used_bytes, limit_bytes=limit_bytes)
