"""What becomes of somebody's skills when their owner goes."""

from sqlalchemy import func
from sqlmodel import col, select
from sqlmodel.ext.asyncio.session import AsyncSession

from core.accounts.sharing import forget_subject
from core.database.types import utc_now
from core.database.unit_of_work import UnitOfWork
from skills import library
from skills.slugs import numbered_slug
from skills.tables import Skill


async def count(session: AsyncSession, owner_id: str) -> int:
    """How many skills somebody owns."""
    query = select(func.count()).select_from(Skill).where(col(Skill.owner_id) == owner_id)
    return (await session.exec(query)).one()


async def hand_over(work: UnitOfWork, owner_id: str, heir_id: str) -> None:
    """Make somebody the owner of all skills of another person.

    A slug that the heir has given already gets a number behind it.
    """
    taken = {skill.slug for skill in await _all(work.session, heir_id)}
    skills = await _all(work.session, owner_id)
    # What is one's own is not shared with one.
    ids = [skill.id for skill in skills]
    await forget_subject(work, heir_id, kind=Skill.SHARE_KIND, resource_ids=ids)
    for skill in skills:
        slug, number = skill.slug, 1
        while slug in taken:
            number += 1
            slug = numbered_slug(skill.slug, number)
        taken.add(slug)
        skill.slug, skill.owner_id, skill.updated_at = slug, heir_id, utc_now()
        work.session.add(skill)
    await work.session.flush()


async def erase(work: UnitOfWork, owner_id: str) -> None:
    """Delete all skills of somebody; doing it twice is one."""
    for skill in await _all(work.session, owner_id):
        await library.erase(work, skill)


async def _all(session: AsyncSession, owner_id: str) -> list[Skill]:
    query = select(Skill).where(Skill.owner_id == owner_id).order_by(col(Skill.created_at))
    return [*(await session.exec(query)).all()]
