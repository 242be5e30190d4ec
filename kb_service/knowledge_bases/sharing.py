"""Sharing a knowledge base: with whom it is shared, and changing that."""

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
    """Load a knowledge base through the gate, and keep it as it is until the transaction ends.

    Who waits for the lock is judged by what the row is then: another owner's, or gone.

    Raises:
        KnowledgeBaseNotFound: there is none, or not for this caller.
        ReadOnly: the caller may see it but not change it.
        OwnerOnly: the caller may change it, but not share or delete it.
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
    """Whom a knowledge base is shared with; its owner's to know.

    Raises:
        KnowledgeBaseNotFound: there is none, or not for this caller.
        OwnerOnly: it is somebody else's.
    """
    row = await knowledge_bases.get(session, principal, knowledge_base_id, Action.MANAGE)
    return await list_shares(session, row)


async def reload_visible(session: AsyncSession, principal: Principal, ids: Sequence[str]) -> Sequence[KnowledgeBase]:
    """Those of some knowledge bases that the caller sees now, as they are now, in their order."""
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
    """Share a knowledge base with exactly these people and roles, from now on.

    Args:
        work: the transaction.
        principal: who asks.
        knowledge_base_id: which one.
        wanted: people and roles.
        version: of the list that the caller read; None for whatever it is now.

    Raises:
        Conflict: the list is not that of this version any more.
        KnowledgeBaseNotFound: there is none, or not for this caller.
        OwnerOnly: it is somebody else's.
        InvalidRequest: too many, the same one twice, the owner, or nobody of this name.
    """
    # Two requests at a time would both add what neither finds.
    row = await get_for_update(work.session, principal, knowledge_base_id, Action.MANAGE)
    return await replace_share_list(work, row, specs, version, SHARE_AUDIT_ACTIONS)
