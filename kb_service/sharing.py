"""Sharing a knowledge base: with whom it is shared, and changing that."""

import hashlib
from collections.abc import Mapping, Sequence

from pydantic import JsonValue
from sqlmodel import col, select
from sqlmodel.ext.asyncio.session import AsyncSession

from core.accounts.access import Action, Principal
from core.accounts.sharing import Shared, Wanted, admit, list_shares, replace_shares, visible_to
from core.audit import AuditAction, Target, note
from core.database.unit_of_work import UnitOfWork
from core.errors import Conflict, KnowledgeBaseNotFound
from kb_service import knowledge_bases
from kb_service.models import KnowledgeBase

_VERSION_DIGITS = 16
_CHANGED = "The shares were changed since they were read: read them again"


async def hold(
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
    found = (await session.exec(query)).first()
    return await admit(session, principal, action, found, KnowledgeBaseNotFound)


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


async def still_visible(
    session: AsyncSession, principal: Principal, ids: Sequence[str]
) -> Sequence[KnowledgeBase]:
    """Those of some knowledge bases that the caller sees now, as they are now, in their order."""
    columns = (col(KnowledgeBase.id), col(KnowledgeBase.owner_id), col(KnowledgeBase.is_public))
    query = select(KnowledgeBase).where(
        col(KnowledgeBase.id).in_(ids),
        visible_to(principal, KnowledgeBase.SHARE_KIND, *columns),
        col(KnowledgeBase.deleted_at).is_(None),
    )
    present = {row.id: row for row in (await session.exec(query)).all()}
    return [present[id_] for id_ in ids if id_ in present]


def version_of(shares: Sequence[Shared]) -> str:
    """What a list of shares is told from another one by."""
    said = sorted(f"{who} {access}" for who, access in named(shares).items())
    return hashlib.sha256("\n".join(said).encode()).hexdigest()[:_VERSION_DIGITS]


async def share(
    work: UnitOfWork,
    principal: Principal,
    knowledge_base_id: str,
    wanted: Sequence[Wanted],
    version: str | None = None,
) -> list[Shared]:
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
    session = work.session
    # Two requests at a time would both add what neither finds.
    row = await hold(session, principal, knowledge_base_id, Action.MANAGE)
    present = await list_shares(session, row)
    if version not in (None, found := version_of(present)):
        raise Conflict(field="version", error=_CHANGED, version=found)
    before = named(present)
    await replace_shares(work, row, wanted)
    shares = await list_shares(session, row)
    after = named(shares)
    target = Target(row.SHARE_KIND, row.id)
    gained = {who: access for who, access in after.items() if before.get(who) != access}
    if gained:
        note(session, AuditAction.KNOWLEDGE_BASE_SHARED, target, details=_told(gained))
    lost = {who: access for who, access in before.items() if who not in after}
    if lost:
        note(session, AuditAction.KNOWLEDGE_BASE_UNSHARED, target, details=_told(lost))
    return shares


def _told(shares: Mapping[str, str]) -> dict[str, JsonValue]:
    # As a list: a name that is a key would be redacted where it looks like a secret's.
    return {"shares": [{"who": who, "access": access} for who, access in shares.items()]}


def named(shares: Sequence[Shared]) -> dict[str, str]:
    """How far, by who: user or role, and the name; for the audit log."""
    return {
        f"user {one.user.username}" if one.user else f"role {one.role.name if one.role else ''}": (
            one.access.value
        )
        for one in shares
    }
