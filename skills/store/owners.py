"""What becomes of somebody's skills when their owner goes."""

from sqlalchemy import delete, func
from sqlmodel import col, select
from sqlmodel.ext.asyncio.session import AsyncSession

from core.auth.sharing import forget_subject
from core.db.unit_of_work import UnitOfWork
from kb_service.documents.quota import take_turn
from skills.models import Skill, SkillTriggerTest
from skills.slugs import free_slug
from skills.store import metadata as skill_metadata
from skills.store import publishing
from skills.store import service as skill_service


async def count(session: AsyncSession, owner_id: str) -> int:
    """How many skills somebody owns."""
    query = select(func.count()).select_from(Skill).where(col(Skill.owner_id) == owner_id)
    return (await session.exec(query)).one()


async def hand_over(work: UnitOfWork, owner_id: str, heir_id: str) -> None:
    """Make somebody the owner of all skills of another person.

    A slug that the heir has given already gets a number behind it.
    """
    session = work.session
    # Owners come before skills wherever both are taken.
    await take_turn(session, owner_id)
    # What the heir makes meanwhile must not get the same slug.
    await take_turn(session, heir_id)
    taken = {*(await session.exec(select(Skill.slug).where(Skill.owner_id == heir_id))).all()}
    skills = await _held(session, owner_id)
    # What is one's own is not shared with one.
    ids = [skill.id for skill in skills]
    await forget_subject(work, heir_id, kind=Skill.SHARE_KIND, resource_ids=ids)
    for skill in skills:
        slug = free_slug(skill.slug, taken)
        taken.add(slug)
        skill.slug, skill.owner_id = slug, heir_id
        # A slug's words are words to find a skill by.
        await skill_metadata.follow(work, skill, await publishing.basis_of(session, skill))
    await session.flush()


async def erase(work: UnitOfWork, owner_id: str) -> None:
    """Delete all skills of somebody, and the trigger tests that they made; doing it twice is one."""
    await take_turn(work.session, owner_id)
    for skill in await _held(work.session, owner_id):
        await skill_service.erase(work, skill)
    tests = delete(SkillTriggerTest).where(col(SkillTriggerTest.user_id) == owner_id)
    await work.session.exec(tests)


async def _held(session: AsyncSession, owner_id: str) -> list[Skill]:
    """All skills of somebody, the oldest first, kept until the transaction ends."""
    query = (
        select(Skill)
        .where(Skill.owner_id == owner_id)
        # As who counts the use of several takes them.
        .order_by(col(Skill.id))
        .with_for_update()
        .execution_options(populate_existing=True)
    )
    return sorted((await session.exec(query)).all(), key=lambda skill: skill.created_at)
