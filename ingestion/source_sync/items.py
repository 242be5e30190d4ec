"""Rows of a source's items, and the documents that they belong to."""

from collections.abc import Sequence
from hashlib import sha256

from sqlalchemy import ColumnElement, delete, func, update
from sqlmodel import col, select
from sqlmodel.ext.asyncio.session import AsyncSession

from core.db.database import Database
from kb_service.models import Document, KnowledgeSourceItem

StoredRow = tuple[KnowledgeSourceItem, Document | None]
"""An item, and its document if that is there."""


def key_hash(key: str) -> str:
    """The part of an item's primary key that its key gives."""
    return sha256(key.encode()).hexdigest()


def _is_theirs() -> ColumnElement[bool]:
    return (col(Document.id) == col(KnowledgeSourceItem.document_id)) & col(Document.deleted_at).is_(None)


async def find(session: AsyncSession, source_id: str, key: str) -> StoredRow | None:
    """An item by its key."""
    query = (
        select(KnowledgeSourceItem, Document)
        .outerjoin(Document, _is_theirs())
        .where(KnowledgeSourceItem.source_id == source_id, KnowledgeSourceItem.key_hash == key_hash(key))
    )
    return (await session.exec(query)).first()


class ItemLookup:
    """Finds the items of a source; the last one is remembered, because a connector asks for it before the sync does."""

    def __init__(self, database: Database, source_id: str) -> None:
        self._database = database
        self._source_id = source_id
        self._last: tuple[str, StoredRow | None] = ("", None)

    async def find(self, key: str) -> StoredRow | None:
        """An item by its key."""
        if self._last[0] != key:
            async with self._database.reading() as session:
                self._last = key, await find(session, self._source_id, key)
        return self._last[1]


async def find_moved(
    session: AsyncSession, source_id: str, sync_id: str, digest: str
) -> tuple[KnowledgeSourceItem, Document] | None:
    """An item that this sync has not met, whose document has these contents and goes with it."""
    query = (
        select(KnowledgeSourceItem, Document)
        .join(Document, _is_theirs())
        .where(
            KnowledgeSourceItem.source_id == source_id,
            KnowledgeSourceItem.seen_in != sync_id,
            col(KnowledgeSourceItem.is_owner).is_(True),
            Document.sha256 == digest,
        )
        .order_by(col(KnowledgeSourceItem.key))
        .limit(1)
    )
    return (await session.exec(query)).first()


async def gone(session: AsyncSession, source_id: str, sync_id: str, limit: int) -> Sequence[StoredRow]:
    """Items that a complete sync has not met."""
    query = (
        select(KnowledgeSourceItem, Document)
        .outerjoin(Document, _is_theirs())
        .where(KnowledgeSourceItem.source_id == source_id, KnowledgeSourceItem.seen_in != sync_id)
        .order_by(col(KnowledgeSourceItem.key_hash))
        .limit(limit)
    )
    return (await session.exec(query)).all()


async def count(session: AsyncSession, source_id: str, *, but_seen_in: str | None = None) -> int:
    """How many items have a document; on request only those that a sync has not met."""
    conditions = [col(KnowledgeSourceItem.source_id) == source_id]
    if but_seen_in is not None:
        conditions.append(col(KnowledgeSourceItem.seen_in) != but_seen_in)
    query = select(func.count()).select_from(KnowledgeSourceItem).join(Document, _is_theirs()).where(*conditions)
    return (await session.exec(query)).one()


async def mark_seen(session: AsyncSession, source_id: str, sync_id: str, hashes: Sequence[str]) -> None:
    """Note that a sync has met unchanged items."""
    statement = (
        update(KnowledgeSourceItem)
        .where(col(KnowledgeSourceItem.source_id) == source_id, col(KnowledgeSourceItem.key_hash).in_(hashes))
        .values(seen_in=sync_id, failure=None)
    )
    await session.exec(statement, execution_options={"synchronize_session": False})


async def forget_failures(session: AsyncSession, source_id: str, sync_id: str) -> None:
    """Forget why items could not be read that a sync has not met, and those items that never became a document."""
    is_unmet = (col(KnowledgeSourceItem.source_id) == source_id) & (col(KnowledgeSourceItem.seen_in) != sync_id)
    options = {"synchronize_session": False}
    unread = delete(KnowledgeSourceItem).where(is_unmet, col(KnowledgeSourceItem.document_id).is_(None))
    await session.exec(unread, execution_options=options)
    await session.exec(update(KnowledgeSourceItem).where(is_unmet).values(failure=None), execution_options=options)
