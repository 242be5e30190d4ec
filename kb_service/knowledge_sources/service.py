"""Knowledge sources of a knowledge base, as its owner manages them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import delete as delete_from
from sqlalchemy import func
from sqlmodel import col, select
from sqlmodel.ext.asyncio.session import AsyncSession

from core.auth.principal import Action, Principal
from core.db.now import database_now
from core.db.pagination import PageRequest, paginate
from core.db.unit_of_work import UnitOfWork
from core.errors.auth import KnowledgeSourceNotFound
from core.errors.conflicts import KnowledgeSourceNameTaken
from core.errors.requests import InvalidRequest
from kb_service.documents.actions import ActionName, apply_action_to_many
from kb_service.knowledge_bases import service as knowledge_bases
from kb_service.knowledge_sources import syncs
from kb_service.knowledge_sources.credentials import SealedCredentials, require_same_target
from kb_service.models import Document, KnowledgeSource, KnowledgeSourceItem

MOST_SOURCES = 100
"""Sources of one knowledge base."""
ITEM_SORT_FIELDS = ("updated_at", "name")


@dataclass(frozen=True)
class SourceDraft:
    """What a source is made of; ``settings`` are checked by its connector.

    Args:
        credentials: sealed ones; None for none.
        keeps_credentials: those that it has stay instead.
        target: the address (scheme, host and port) that credentials are sent to.
    """

    name: str
    connector: str
    settings: Mapping[str, Any]
    sync_every_minutes: int | None
    credentials: SealedCredentials | None = field(default=None, repr=False)
    keeps_credentials: bool = False
    target: str = ""


@dataclass(frozen=True)
class ItemListing:
    """One page of a source's items, and the total."""

    items: Sequence[KnowledgeSourceItem]
    total: int


async def list_sources(
    session: AsyncSession, principal: Principal, knowledge_base_id: str
) -> Sequence[KnowledgeSource]:
    """The sources of a knowledge base by name; only for its owner, because addresses may be confidential."""
    await knowledge_bases.get(session, principal, knowledge_base_id, Action.MANAGE)
    query = select(KnowledgeSource).where(KnowledgeSource.knowledge_base_id == knowledge_base_id)
    return (await session.exec(query.order_by(col(KnowledgeSource.name)))).all()


async def get(session: AsyncSession, principal: Principal, knowledge_base_id: str, source_id: str) -> KnowledgeSource:
    """A source of a knowledge base; only for its owner."""
    await knowledge_bases.get(session, principal, knowledge_base_id, Action.MANAGE)
    row = await session.get(KnowledgeSource, source_id)
    if row is None or row.knowledge_base_id != knowledge_base_id:
        raise KnowledgeSourceNotFound
    return row


async def create(work: UnitOfWork, principal: Principal, knowledge_base_id: str, draft: SourceDraft) -> KnowledgeSource:
    """Add a source and begin its first sync."""
    # The lock makes the checks of the name and the number hold.
    await knowledge_bases.get_for_update(work.session, principal, knowledge_base_id, Action.MANAGE)
    await _require_free_name(work.session, knowledge_base_id, draft.name)
    mine = select(func.count()).where(col(KnowledgeSource.knowledge_base_id) == knowledge_base_id)
    if (await work.session.exec(mine)).one() >= MOST_SOURCES:
        en, zh = f"A knowledge base has at most {MOST_SOURCES} sources", f"每个知识库最多有 {MOST_SOURCES} 个来源"
        raise InvalidRequest("name", en, zh)
    now = await database_now(work.session)
    row = KnowledgeSource(
        knowledge_base_id=knowledge_base_id,
        name=draft.name,
        connector=draft.connector,
        settings=dict(draft.settings),
        sealed_credentials=dict(draft.credentials) if draft.credentials else None,
        sync_every_minutes=draft.sync_every_minutes,
        due_at=next_due(now, draft.sync_every_minutes),
        created_at=now,
        updated_at=now,
    )
    work.session.add(row)
    await work.session.flush()
    await syncs.request(work, row)
    return row


async def update(
    work: UnitOfWork, principal: Principal, knowledge_base_id: str, source_id: str, draft: SourceDraft
) -> KnowledgeSource:
    """Replace a source's name, settings, schedule and, unless they are kept, credentials; its connector stays."""
    await knowledge_bases.get_for_update(work.session, principal, knowledge_base_id, Action.MANAGE)
    row = await get(work.session, principal, knowledge_base_id, source_id)
    if draft.connector != row.connector:
        en, zh = "A source keeps its connector: make another source", "来源的连接器不可更改：请另建来源"
        raise InvalidRequest("connector", en, zh)
    if draft.name != row.name:
        await _require_free_name(work.session, knowledge_base_id, draft.name)
    if draft.keeps_credentials:
        require_same_target(row.sealed_credentials, draft.target)
    else:
        row.sealed_credentials = dict(draft.credentials) if draft.credentials else None
    now = await database_now(work.session)
    row.name, row.settings = draft.name, dict(draft.settings)
    row.sync_every_minutes, row.updated_at = draft.sync_every_minutes, now
    row.due_at = next_due(now, draft.sync_every_minutes)
    work.session.add(row)
    return row


async def delete(
    work: UnitOfWork, principal: Principal, knowledge_base_id: str, source_id: str, *, with_documents: bool
) -> int:
    """Forget a source, and on request delete the documents that it brought.

    Returns:
        The number of deleted documents.
    """
    await knowledge_bases.get_for_update(work.session, principal, knowledge_base_id, Action.MANAGE)
    row = await get(work.session, principal, knowledge_base_id, source_id)
    document_ids: Sequence[str] = ()
    if with_documents:
        query = (
            select(Document.id)
            .join(KnowledgeSourceItem, col(KnowledgeSourceItem.document_id) == col(Document.id))
            .where(
                KnowledgeSourceItem.source_id == row.id,
                col(KnowledgeSourceItem.is_owner).is_(True),
                col(Document.deleted_at).is_(None),
            )
        )
        document_ids = (await work.session.exec(query)).all()
        await apply_action_to_many(work, principal, ActionName.DELETE, knowledge_base_id, document_ids)
    # A worker on it loses its sync, and stops at its next write.
    await work.session.exec(delete_from(KnowledgeSource).where(col(KnowledgeSource.id) == row.id))
    return len(document_ids)


async def get_for_update(
    work: UnitOfWork, principal: Principal, knowledge_base_id: str, source_id: str
) -> KnowledgeSource:
    """A source of a knowledge base, which stays locked until the transaction ends."""
    await knowledge_bases.get_for_update(work.session, principal, knowledge_base_id, Action.MANAGE)
    return await get(work.session, principal, knowledge_base_id, source_id)


async def count_documents(session: AsyncSession, source_ids: Sequence[str]) -> Mapping[str, int]:
    """How many documents each source has brought; sources without any are left out."""
    query = (
        select(KnowledgeSourceItem.source_id, func.count())
        .join(Document, col(Document.id) == col(KnowledgeSourceItem.document_id))
        .where(col(KnowledgeSourceItem.source_id).in_(source_ids), col(Document.deleted_at).is_(None))
        .group_by(col(KnowledgeSourceItem.source_id))
    )
    return dict((await session.exec(query)).all())


async def list_items(
    session: AsyncSession, source: KnowledgeSource, page: PageRequest, *, is_failed: bool
) -> ItemListing:
    """One page of a source's items, on request only those that the last sync could not read."""
    conditions = [col(KnowledgeSourceItem.source_id) == source.id]
    if is_failed:
        conditions.append(col(KnowledgeSourceItem.failure).is_not(None))
    columns = {"name": col(KnowledgeSourceItem.name), "updated_at": col(KnowledgeSourceItem.updated_at)}
    query = select(KnowledgeSourceItem).where(*conditions)
    query = paginate(query, page, columns=columns, tie=col(KnowledgeSourceItem.key_hash))
    total = select(func.count()).select_from(KnowledgeSourceItem).where(*conditions)
    return ItemListing((await session.exec(query)).all(), (await session.exec(total)).one())


def next_due(now: datetime, every_minutes: int | None) -> datetime | None:
    """When a source is to be synchronized next; None for a source without a schedule."""
    return None if every_minutes is None else now + timedelta(minutes=every_minutes)


async def _require_free_name(session: AsyncSession, knowledge_base_id: str, name: str) -> None:
    same = (KnowledgeSource.knowledge_base_id == knowledge_base_id, KnowledgeSource.name == name)
    if (await session.exec(select(KnowledgeSource.id).where(*same))).first() is not None:
        raise KnowledgeSourceNameTaken(field="name", name=name)
