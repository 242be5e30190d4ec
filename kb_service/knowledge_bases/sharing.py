"""Reading and changing the shares of a knowledge base."""

from collections.abc import Sequence

from sqlmodel import col, select
from sqlmodel.ext.asyncio.session import AsyncSession

from core.auth.principal import Action, Principal
from core.auth.sharing import ShareEntry, ShareSpec, authorize, list_shares, replace_share_list, visible_to
from core.db.unit_of_work import UnitOfWork
from core.errors.auth import KnowledgeBaseNotFound
from kb_service.knowledge_bases import service as knowledge_bases
from kb_service.knowledge_bases.service import SHARE_AUDIT_ACTIONS
from kb_service.models import KnowledgeBase


async def get_for_update(
    session: AsyncSession, principal: Principal, knowledge_base_id: str, action: Action
) -> KnowledgeBase:
    """Load a knowledge base through the gate and lock it until the transaction ends.

    Access is checked after the lock is acquired: the owner may have changed meanwhile.
    """
    query = (
        select(KnowledgeBase)
        .where(KnowledgeBase.id == knowledge_base_id, col(KnowledgeBase.deleted_at).is_(None))
        .with_for_update()
        .execution_options(populate_existing=True)
    )
    row = (await session.exec(query)).first()
    return await authorize(session, principal, action, row, KnowledgeBaseNotFound)


async def get_shares(session: AsyncSession, principal: Principal, knowledge_base_id: str) -> list[ShareEntry]:
    """Whom a knowledge base is shared with; only for its owner."""
    row = await knowledge_bases.get(session, principal, knowledge_base_id, Action.MANAGE)
    return await list_shares(session, row)


async def reload_visible(session: AsyncSession, principal: Principal, ids: Sequence[str]) -> Sequence[KnowledgeBase]:
    """Reload those of these knowledge bases that the caller still sees, in the given order."""
    columns = (col(KnowledgeBase.id), col(KnowledgeBase.owner_id), col(KnowledgeBase.is_public))
    query = select(KnowledgeBase).where(
        col(KnowledgeBase.id).in_(ids),
        visible_to(principal, KnowledgeBase.SHARE_KIND, *columns),
        col(KnowledgeBase.deleted_at).is_(None),
    )
    present = {row.id: row for row in (await session.exec(query)).all()}
    return [present[id_] for id_ in ids if id_ in present]


async def replace_shares(
    work: UnitOfWork,
    principal: Principal,
    knowledge_base_id: str,
    specs: Sequence[ShareSpec],
    version: str | None = None,
) -> list[ShareEntry]:
    """Share a knowledge base with exactly these people and roles; ``Conflict`` if ``version`` is outdated."""
    # Without the lock, two concurrent requests would both add the same entry.
    row = await get_for_update(work.session, principal, knowledge_base_id, Action.MANAGE)
    return await replace_share_list(work, row, specs, version, SHARE_AUDIT_ACTIONS)
