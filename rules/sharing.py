"""Sharing of rules with people and roles."""

from collections.abc import Sequence

from sqlmodel.ext.asyncio.session import AsyncSession

from core.audit.log import AuditAction
from core.auth.locks import lock_owner
from core.auth.principal import Action, Principal
from core.auth.sharing import ShareAuditActions, ShareEntry, ShareSpec, list_shares, replace_share_list
from core.db.unit_of_work import UnitOfWork
from rules import access

_AUDIT_ACTIONS = ShareAuditActions(AuditAction.RULE_SHARED, AuditAction.RULE_UNSHARED)


async def list_rule_shares(session: AsyncSession, principal: Principal, rule_id: str) -> list[ShareEntry]:
    """The shares of the caller's own rule."""
    return await list_shares(session, (await access.get(session, principal, rule_id, Action.MANAGE)).rule)


async def replace_rule_shares(
    work: UnitOfWork, principal: Principal, rule_id: str, specs: Sequence[ShareSpec], version: str | None = None
) -> list[ShareEntry]:
    """Share the caller's own rule, as :func:`core.auth.sharing.replace_share_list` does."""
    # Changes of the list come one after the other.
    await lock_owner(work.session, principal.user_id)
    rule = (await access.get(work.session, principal, rule_id, Action.MANAGE)).rule
    return await replace_share_list(work, rule, specs, version, _AUDIT_ACTIONS)
