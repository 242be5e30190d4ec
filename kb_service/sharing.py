"""Sharing a knowledge base: with whom it is shared, and changing that."""

from collections.abc import Sequence

from sqlmodel import col, select
from sqlmodel.ext.asyncio.session import AsyncSession

from core.accounts.access import Action, Principal
from core.accounts.sharing import Shared, Wanted, list_shares, replace_shares
from core.audit import AuditAction, Target, note
from core.database.unit_of_work import UnitOfWork
from kb_service import knowledge_bases
from kb_service.models import KnowledgeBase


async def shares_of(
    session: AsyncSession, principal: Principal, knowledge_base_id: str
) -> list[Shared]:
    """Whom a knowledge base is shared with; its owner's to know.

    Raises:
        KnowledgeBaseNotFound: there is none, or not for this caller.
        OwnerOnly: it is somebody else's.
    """
    row = await knowledge_bases.get(session, principal, knowledge_base_id, Action.MANAGE)
    return await list_shares(session, row)


async def share(
    work: UnitOfWork, principal: Principal, knowledge_base_id: str, wanted: Sequence[Wanted]
) -> list[Shared]:
    """Share a knowledge base with exactly these people and roles, from now on.

    Raises:
        KnowledgeBaseNotFound: there is none, or not for this caller.
        OwnerOnly: it is somebody else's.
        InvalidRequest: too many, the same one twice, the owner, or nobody of this name.
    """
    session = work.session
    row = await knowledge_bases.get(session, principal, knowledge_base_id, Action.MANAGE)
    # Two requests at a time would both add what neither finds.
    await session.exec(
        select(KnowledgeBase.id).where(col(KnowledgeBase.id) == row.id).with_for_update()
    )
    before = _named(await list_shares(session, row))
    await replace_shares(work, row, wanted)
    shares = await list_shares(session, row)
    after = _named(shares)
    target = Target(row.SHARE_KIND, row.id)
    gained = {who: access for who, access in after.items() if before.get(who) != access}
    if gained:
        note(session, AuditAction.KNOWLEDGE_BASE_SHARED, target, details=gained)
    lost = {who: access for who, access in before.items() if who not in after}
    if lost:
        note(session, AuditAction.KNOWLEDGE_BASE_UNSHARED, target, details=lost)
    return shares


def _named(shares: Sequence[Shared]) -> dict[str, str]:
    """How far, by who: user or role, and the name."""
    return {
        f"user {one.user.username}" if one.user else f"role {one.role.name if one.role else ''}": (
            one.access.value
        )
        for one in shares
    }
