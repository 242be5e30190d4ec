"""Rows of a source's items, and the documents that they belong to."""

from collections.abc import Mapping, Sequence
from hashlib import sha256
from typing import Any

from sqlalchemy import JSON, ColumnElement, bindparam, delete, func, update
from sqlmodel import col, select
from sqlmodel.ext.asyncio.session import AsyncSession

from kb_service.models import Document, KnowledgeSourceItem

StoredRow = tuple[KnowledgeSourceItem, Document | None]
"""An item, and its document if that is there."""


def key_hash(key: str) -> str:
    """The part of an item's primary key that its key gives."""
    return sha256(key.encode()).hexdigest()


def has_document() -> ColumnElement[bool]:
    """Joins an item with its document, unless that was deleted."""
    return (col(Document.id) == col(KnowledgeSourceItem.document_id)) & col(Document.deleted_at).is_(None)


async def find(session: AsyncSession, source_id: str, key: str) -> StoredRow | None:
    """An item by its key."""
    query = (
        select(KnowledgeSourceItem, Document)
        .outerjoin(Document, has_document())
        .where(KnowledgeSourceItem.source_id == source_id, KnowledgeSourceItem.key_hash == key_hash(key))
    )
    return (await session.exec(query)).first()


async def find_moved(
    session: AsyncSession, source_id: str, sync_id: str, digest: str
) -> tuple[KnowledgeSourceItem, Document] | None:
    """An item that this sync has not met, whose document has these contents and goes with it."""
    query = (
        select(KnowledgeSourceItem, Document)
        .join(Document, has_document())
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
        .outerjoin(Document, has_document())
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
    query = select(func.count()).select_from(KnowledgeSourceItem).join(Document, has_document()).where(*conditions)
    return (await session.exec(query)).one()


async def mark_seen(
    session: AsyncSession, source_id: str, sync_id: str, hashes: Sequence[str], *, keeps_failures: bool = False
) -> None:
    """Note that a sync has met items, which are as they were; on request also why they could not be read."""
    if not hashes:
        return
    values: dict[str, Any] = {"seen_in": sync_id} if keeps_failures else {"seen_in": sync_id, "failure": None}
    statement = (
        update(KnowledgeSourceItem)
        .where(col(KnowledgeSourceItem.source_id) == source_id, col(KnowledgeSourceItem.key_hash).in_(hashes))
        .values(**values)
    )
    await session.exec(statement, execution_options={"synchronize_session": False})


async def adopt_states(session: AsyncSession, source_id: str, states: Mapping[str, Mapping[str, Any]]) -> None:
    """Keep what a connector wants to know of items at the next sync, by hash."""
    if not states:
        return
    statement = (
        update(KnowledgeSourceItem)
        .where(col(KnowledgeSourceItem.source_id) == source_id, col(KnowledgeSourceItem.key_hash) == bindparam("hash"))
        .values(state=bindparam("new_state", type_=JSON))
    )
    rows = [{"hash": hash_, "new_state": dict(state)} for hash_, state in states.items()]
    await (await session.connection()).execute(statement, rows)


async def forget_failures(session: AsyncSession, source_id: str, sync_id: str) -> None:
    """Forget why items could not be read that a sync has not met, and those items that never became a document."""
    is_unmet = (col(KnowledgeSourceItem.source_id) == source_id) & (col(KnowledgeSourceItem.seen_in) != sync_id)
    options = {"synchronize_session": False}
    unread = delete(KnowledgeSourceItem).where(is_unmet, col(KnowledgeSourceItem.document_id).is_(None))
    await session.exec(unread, execution_options=options)
    await session.exec(update(KnowledgeSourceItem).where(is_unmet).values(failure=None), execution_options=options)
