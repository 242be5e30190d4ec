"""How many skills one person keeps, and what becomes of them when their owner goes."""

import pytest

from core.accounts.access import Principal
from core.accounts.models import Share, User
from core.accounts.permissions import DEFAULT_ROLE
from core.database.engine import Database
from core.database.unit_of_work import unit_of_work
from core.errors import QuotaExceeded, SkillsFull
from kb_service.readers import Person
from skills import catalogue, library, owners
from skills.judging import judge
from skills.library import Desk, Update, Wanted
from skills.models import SkillFile
from skills.writing import Limits
from tests.fixtures.bare_rows import add_user
from tests.fixtures.skill_rows import add_skill
from tests.fixtures.skill_texts import REPORT

pytestmark = pytest.mark.anyio
ROOM = Limits(skills=2, bytes=10_000)


async def person(database: Database) -> User:
    async with unit_of_work(database) as work:
        return await add_user(work)


async def create(database: Database, owner: User, limits: Limits = ROOM) -> str:
    principal = Principal(owner.id, owner.username, DEFAULT_ROLE, frozenset())
    async with unit_of_work(database) as work:
        wanted = Wanted(await judge(REPORT.encode()))
        return (await library.create(Desk(work, principal, limits), wanted)).skill.id


async def slugs(database: Database, owner: User) -> list[str]:
    async with database.reading() as session:
        return [card.slug for card in await catalogue.readable(session, Person(owner.id))]


async def test_nobody_keeps_more_skills_than_are_allowed(database: Database):
    anna, ben = await person(database), await person(database)
    for _ in range(2):
        await create(database, anna)
    with pytest.raises(SkillsFull):
        await create(database, anna)
    assert len(await slugs(database, anna)) == 2
    await create(database, ben)


async def test_all_versions_and_files_count_against_the_bytes_that_are_allowed(database: Database):
    anna = await person(database)
    skill_id = await create(database, anna)
    principal = Principal(anna.id, anna.username, DEFAULT_ROLE, frozenset())

    async def put(size: int) -> None:
        async with unit_of_work(database) as work:
            files = [SkillFile("a.txt", bytes(size))]
            await library.update(Desk(work, principal, ROOM), skill_id, Update(files=files))

    await put(6_000)
    with pytest.raises(QuotaExceeded) as error:
        await put(5_000)
    assert error.value.details["limit_bytes"] == ROOM.bytes
    async with database.reading() as session:
        opened = await catalogue.open(session, Person(anna.id), skill_id)
    assert (opened.card.version, opened.files[0].size) == (2, 6_000)


async def test_heir_gets_the_skills_with_other_slugs_where_theirs_are_taken(database: Database):
    anna, ben = await person(database), await person(database)
    async with unit_of_work(database) as work:
        await add_skill(work, ben.id, "report")
        moved = await add_skill(work, anna.id, "report", served_version=1)
        await add_skill(work, anna.id, "other")
        share = Share(kind="skill", resource_id=moved.id, user_id=ben.id, access="read")
        work.session.add(share)
    async with unit_of_work(database) as work:
        await owners.hand_over(work, anna.id, ben.id)
    assert await slugs(database, ben) == ["other", "report", "report-2"]
    async with database.reading() as session:
        assert await owners.count(session, anna.id) == 0
        assert await session.get(Share, share.id) is None


async def test_erasing_somebodys_skills_leaves_those_of_others(database: Database):
    anna, ben = await person(database), await person(database)
    async with unit_of_work(database) as work:
        await add_skill(work, anna.id, "mine")
        await add_skill(work, ben.id, "his")
    for _ in range(2):
        async with unit_of_work(database) as work:
            await owners.erase(work, anna.id)
    assert (await slugs(database, anna), await slugs(database, ben)) == ([], ["his"])
