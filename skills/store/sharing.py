"""Sharing of skills, which also serves or withdraws them."""

from collections.abc import Sequence

from sqlmodel.ext.asyncio.session import AsyncSession

from core.auth.principal import Action, Principal
from core.auth.sharing import ShareEntry, ShareSpec, list_shares, replace_share_list
from core.db.unit_of_work import UnitOfWork
from skills.store import access as skill_access
from skills.store import metadata as skill_metadata
from skills.store import publishing


async def list_skill_shares(session: AsyncSession, principal: Principal, skill_id: str) -> list[ShareEntry]:
    """The shares of the caller's own skill."""
    view = await skill_access.get(session, principal, skill_id, Action.MANAGE)
    return await list_shares(session, view.skill)


async def replace_skill_shares(
    work: UnitOfWork, principal: Principal, skill_id: str, specs: Sequence[ShareSpec], version: str | None = None
) -> list[ShareEntry]:
    """Share the caller's own skill, as :func:`core.auth.sharing.replace_share_list` does."""
    session = work.session
    skill = (await skill_access.get_for_update(session, principal, skill_id, Action.MANAGE)).skill
    was_open = await publishing.is_open(session, skill)
    shares = await replace_share_list(work, skill, specs, version, publishing.SHARE_AUDIT_ACTIONS)
    is_open = skill.is_public or bool(shares)
    if is_open and not was_open:
        await publishing.publish(work, skill)
    if is_open is not was_open:
        await skill_metadata.follow_version(work, skill, await publishing.catalog_version(session, skill))
    return shares
