"""The skill store: quota of a person, and skills whose owner is deleted."""

import asyncio

import pytest
from sqlmodel import select

from core.auth.models import Share, User
from core.auth.permissions import DEFAULT_ROLE
from core.auth.principal import Principal
from core.db.database import Database
from core.db.unit_of_work import unit_of_work
from core.errors.auth import SkillNotFound
from core.errors.conflicts import SkillsFull
from core.errors.requests import QuotaExceeded
from kb_service.visibility import UserViewer
from skills.models import Skill, SkillTerm
from skills.store import access as skill_access
from skills.store import catalog, listing, publishing
from skills.store import service as skill_service
from skills.store.service import NewSkill, SkillContext, SkillUpdate
from skills.store.versions import FileEdit, SkillLimits, with_content, with_file
from skills.validation import validate
from tests.fixtures.database.databases import statements_of
from tests.fixtures.database.rows import add_user
from tests.fixtures.skills.skill_rows import add_skill
from tests.fixtures.skills.skill_texts import REPORT, REVIEW

pytestmark = pytest.mark.anyio
ROOM = SkillLimits(skills=2, bytes=40_000)


async def person(database: Database) -> User:
    async with unit_of_work(database) as work:
        return await add_user(work)


async def create(database: Database, owner: User, limits: SkillLimits = ROOM) -> str:
    principal = Principal(owner.id, owner.username, DEFAULT_ROLE, frozenset())
    async with unit_of_work(database) as work:
        wanted = NewSkill(await validate(REPORT.encode()))
        return (await skill_service.create(SkillContext(work, principal, limits), wanted)).skill.id


async def slugs(database: Database, owner: User) -> list[str]:
    async with database.reading() as session:
        return [card.slug for card in await catalog.list_readable(session, UserViewer(owner.id))]


async def test_nobody_keeps_more_skills_than_are_allowed(database: Database):
    anna, ben = await person(database), await person(database)
    for _ in range(2):
        await create(database, anna)
    with pytest.raises(SkillsFull):
        await create(database, anna)
    assert len(await slugs(database, anna)) == 2
    await create(database, ben)


async def test_free_slug_is_found_in_one_look_however_many_are_taken(database: Database):
    anna = await person(database)
    sent: list[int] = []
    for _ in range(6):
        with statements_of(database) as statements:
            await create(database, anna, SkillLimits(skills=10, bytes=10**6))
        sent.append(len(statements))
    assert sent == sent[:1] * 6
    assert await slugs(database, anna) == [
        "daily-report",
        *(f"daily-report-{n}" for n in range(2, 7)),
    ]


async def test_all_versions_and_files_count_against_the_bytes_that_are_allowed(database: Database):
    anna = await person(database)
    skill_id = await create(database, anna)
    principal = Principal(anna.id, anna.username, DEFAULT_ROLE, frozenset())

    async def put(size: int) -> None:
        async with unit_of_work(database) as work:
            update = SkillUpdate(with_file(FileEdit("a.txt", bytes(size))))
            await skill_service.update(SkillContext(work, principal, ROOM), skill_id, update)

    await put(24_000)
    with pytest.raises(QuotaExceeded) as error:
        await put(20_000)
    assert error.value.details["limit_bytes"] == ROOM.bytes
    async with database.reading() as session:
        opened = await catalog.open_skill(session, UserViewer(anna.id), skill_id)
    assert (opened.card.version, opened.files[0].size) == (2, 24_000)


async def test_versions_count_against_the_bytes_even_where_nothing_in_them_is_new(
    database: Database,
):
    anna = await person(database)
    skill_id = await create(database, anna)
    principal = Principal(anna.id, anna.username, DEFAULT_ROLE, frozenset())

    async def put(content: str) -> None:
        async with unit_of_work(database) as work:
            update = SkillUpdate(with_content(content.encode()))
            await skill_service.update(SkillContext(work, principal, ROOM), skill_id, update)

    async def go_on() -> None:
        for _ in range(50):
            await put(REVIEW)
            await put(REPORT)

    with pytest.raises(QuotaExceeded):
        await go_on()


async def test_heir_gets_the_skills_with_other_slugs_where_theirs_are_taken(database: Database):
    anna, ben = await person(database), await person(database)
    async with unit_of_work(database) as work:
        await add_skill(work, ben.id, "report")
        moved = await add_skill(work, anna.id, "report", served_version=1)
        await add_skill(work, anna.id, "other")
        share = Share(kind="skill", resource_id=moved.id, user_id=ben.id, access="read")
        work.session.add(share)
    async with unit_of_work(database) as work:
        await skill_service.hand_over(work, anna.id, ben.id)
    assert await slugs(database, ben) == ["other", "report", "report-2"]
    async with database.reading() as session:
        assert await skill_service.count(session, anna.id) == 0
        assert await session.get(Share, share.id) is None


async def test_heirs_skills_are_found_by_their_new_slugs(database: Database):
    anna, ben = await person(database), await person(database)
    async with unit_of_work(database) as work:
        await add_skill(work, ben.id, "report")
        moved = await add_skill(work, anna.id, "report")
    async with unit_of_work(database) as work:
        await skill_service.hand_over(work, anna.id, ben.id)
        words = select(SkillTerm.term).where(SkillTerm.skill_id == moved.id)
        found = set((await work.session.exec(words)).all())
        await listing.index_skill(work, await work.session.get_one(Skill, moved.id), ["now"])
        assert found == set((await work.session.exec(words)).all()) != set()


@pytest.mark.parametrize("database_kind", ["postgresql"], indirect=True)
async def test_heir_who_makes_a_skill_at_that_moment_keeps_its_slug(database: Database):
    anna, ben = await person(database), await person(database)
    async with unit_of_work(database) as work:
        await add_skill(work, anna.id, "daily-report")

    async def hand_over() -> None:
        async with unit_of_work(database) as work:
            await skill_service.hand_over(work, anna.id, ben.id)

    async with unit_of_work(database) as work:
        principal = Principal(ben.id, ben.username, DEFAULT_ROLE, frozenset())
        wanted = NewSkill(await validate(REPORT.encode()))
        await skill_service.create(SkillContext(work, principal, ROOM), wanted)
        handing_over = asyncio.create_task(hand_over())
        await asyncio.wait({handing_over}, timeout=0.5)
    await handing_over
    assert await slugs(database, ben) == ["daily-report", "daily-report-2"]


async def test_skill_that_is_deleted_while_it_is_read_is_not_there(database: Database):
    anna = await person(database)
    async with unit_of_work(database) as work:
        skill = await add_skill(work, anna.id, "mine")
        version = await publishing.get_version_by_number(work.session, skill, 1)
    async with unit_of_work(database) as work:
        await skill_service.erase_owned_by(work, anna.id)
    async with database.reading() as session:
        for read in (skill_access.read_content, skill_access.read_files):
            with pytest.raises(SkillNotFound):
                await read(session, version)


async def test_erasing_somebodys_skills_leaves_those_of_others(database: Database):
    anna, ben = await person(database), await person(database)
    async with unit_of_work(database) as work:
        await add_skill(work, anna.id, "mine")
        await add_skill(work, ben.id, "his")
    for _ in range(2):
        async with unit_of_work(database) as work:
            await skill_service.erase_owned_by(work, anna.id)
    assert (await slugs(database, anna), await slugs(database, ben)) == ([], ["his"])
