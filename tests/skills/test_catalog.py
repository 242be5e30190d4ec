"""The catalogue of skills for somebody's agents: which ones, in which version, with which text."""

from typing import Any

import pytest

from core.auth.models import Share, User
from core.db.database import Database
from core.db.unit_of_work import unit_of_work
from core.errors.auth import SkillFileNotFound, SkillNotFound, SkillVersionNotFound
from kb_service.visibility import UserViewer
from skills.models import Skill, SkillVersion
from skills.store import catalog
from skills.store.usage import Usage, UsageKind, count_by_version, count_uses, sum_usages
from tests.fixtures.database.databases import statements_of
from tests.fixtures.database.rows import add_user
from tests.fixtures.skills.skill_rows import add_skill, add_version

pytestmark = pytest.mark.anyio


@pytest.fixture
async def people(database: Database) -> tuple[User, User]:
    async with unit_of_work(database) as work:
        return await add_user(work), await add_user(work)


async def slugs(database: Database, who: User) -> list[str]:
    async with database.reading() as session:
        return [card.slug for card in await catalog.list_readable(session, UserViewer(who.id))]


async def open_skill(database: Database, who: User, *named: Any) -> catalog.OpenedSkill:
    async with database.reading() as session:
        return await catalog.open_skill(session, UserViewer(who.id), *named)


async def share(database: Database, skill: Skill, access: str, **subject: str) -> None:
    async with unit_of_work(database) as work:
        work.session.add(Share(kind="skill", resource_id=skill.id, access=access, **subject))


async def test_own_public_and_shared_skills_are_offered_and_no_others(database: Database, people: tuple[User, User]):
    anna, ben = people
    async with unit_of_work(database) as work:
        await add_skill(work, anna.id, "mine")
        await add_skill(work, ben.id, "private", served_version=1)
        await add_skill(work, ben.id, "open", is_public=True, served_version=1)
        named = await add_skill(work, ben.id, "named", served_version=1)
        by_role = await add_skill(work, ben.id, "by-role", served_version=1)
    await share(database, named, "read", user_id=anna.id)
    await share(database, by_role, "read", role_id=anna.role_id)
    assert await slugs(database, anna) == ["by-role", "mine", "named", "open"]


@pytest.mark.parametrize("is_off", [True, False])
async def test_skill_that_is_off_or_not_read_is_not_offered(
    database: Database, people: tuple[User, User], is_off: bool
):
    anna, ben = people
    fields = {"enabled": False} if is_off else {"trusted": False}
    async with unit_of_work(database) as work:
        row = await add_skill(work, anna.id, "mine", **fields)
        (await work.session.get_one(SkillVersion, (row.id, 1))).unread = not is_off
    assert await slugs(database, anna) == []
    for version in (None, 1):
        with pytest.raises(SkillNotFound):
            await open_skill(database, anna, row.id, version)
    # Nor does it stand before another one of its slug.
    async with unit_of_work(database) as work:
        await add_skill(work, ben.id, "mine", is_public=True, served_version=1)
    assert (await open_skill(database, anna, "mine")).card.owner_id == ben.id


async def test_newest_version_that_was_read_is_offered_while_a_newer_one_is_unread(
    database: Database, people: tuple[User, User]
):
    anna, _ = people
    async with unit_of_work(database) as work:
        row = await add_skill(work, anna.id, "mine", trusted=False)
        await add_version(work, row, "second", published_at=None, public_at=None)
        await add_version(work, row, "brought", published_at=None, public_at=None, unread=True)
    assert (await open_skill(database, anna, row.id)).card.version == 2
    assert (await open_skill(database, anna, row.id, 1)).card.version == 1
    with pytest.raises(SkillVersionNotFound):
        await open_skill(database, anna, row.id, 3)


async def test_version_with_errors_is_not_offered_but_an_older_one_can_be_pinned(
    database: Database, people: tuple[User, User]
):
    anna, _ = people
    async with unit_of_work(database) as work:
        row = await add_skill(work, anna.id, "mine")
        await add_version(work, row, "broken", valid=False)
    assert await slugs(database, anna) == []
    with pytest.raises(SkillNotFound):
        await open_skill(database, anna, row.id)
    assert (await open_skill(database, anna, row.id, 1)).card.version == 1


async def test_readers_get_the_served_version_and_who_may_change_it_the_newest(
    database: Database, people: tuple[User, User]
):
    anna, ben = people
    async with unit_of_work(database) as work:
        row = await add_skill(work, ben.id, "open", is_public=True, served_version=1)
        await add_version(work, row, "pending", review="pending", published_at=None)
    assert (await open_skill(database, anna, row.id)).card.version == 1
    assert (await open_skill(database, ben, row.id)).card.version == 2
    with pytest.raises(SkillVersionNotFound):
        await open_skill(database, anna, row.id, 2)
    await share(database, row, "write", user_id=anna.id)
    assert (await open_skill(database, anna, row.id)).card.version == 2


async def test_skill_is_opened_by_slug_ones_own_first_or_by_owner_and_slug(
    database: Database, people: tuple[User, User]
):
    anna, ben = people
    async with unit_of_work(database) as work:
        await add_skill(work, ben.id, "report", is_public=True, served_version=1)
    assert (await open_skill(database, anna, "report")).card.owner == ben.username
    async with unit_of_work(database) as work:
        await add_skill(work, anna.id, "report")
    assert (await open_skill(database, anna, "report")).card.owner == anna.username
    assert (await open_skill(database, anna, f"{ben.username}/report")).card.owner_id == ben.id
    for absent in ("repor", f"{ben.username}/other", "/report/", ""):
        with pytest.raises(SkillNotFound):
            await open_skill(database, anna, absent)


async def test_opened_skill_has_its_model_and_files_are_read_by_the_paths_that_it_lists(
    database: Database, people: tuple[User, User]
):
    anna, _ = people
    async with unit_of_work(database) as work:
        row = await add_skill(work, anna.id, "mine")
        await add_version(work, row, "# SKILL: second")
    skill = await open_skill(database, anna, "mine", 2)
    assert (skill.body, skill.parsed.trigger_conditions) == ("# SKILL: second", ("now",))
    assert [(file.path, file.size) for file in skill.files] == [("references/a.md", 10)]
    async with database.reading() as session:
        ask = (session, UserViewer(anna.id), row.id)
        assert await catalog.read_file(*ask, "references/a.md", 1) == b"notes of 1"
        for path in ("references/../references/a.md", "a.md", "/references/a.md", ""):
            with pytest.raises(SkillFileNotFound):
                await catalog.read_file(*ask, path)


async def test_index_is_one_query_that_loads_no_content(database: Database, people: tuple[User, User]):
    anna, _ = people
    async with unit_of_work(database) as work:
        for number in range(20):
            await add_skill(work, anna.id, f"skill-{number}")
    async with database.reading() as session:
        with statements_of(database) as sent:
            assert len(await catalog.list_readable(session, UserViewer(anna.id))) == 20
    (query,) = [statement for statement in sent if statement.startswith("SELECT")]
    assert "parsed" not in query
    assert "skill_blob" not in query


async def test_uses_are_counted_by_version(database: Database, people: tuple[User, User]):
    async with unit_of_work(database) as work:
        row = await add_skill(work, people[0].id, "mine")
    for use, counts in (
        (UsageKind.OFFERED, {1: 3}),
        (UsageKind.OFFERED, {1: 1, 2: 5}),
        (UsageKind.DENIED, {2: 1}),
    ):
        async with unit_of_work(database) as work:
            await count_uses(work, use, {(row.id, version): n for version, n in counts.items()})
    async with database.reading() as session:
        found = await count_by_version(session, row.id)
    assert [(found[n].offered, found[n].denied) for n in (1, 2)] == [(4, 0), (5, 1)]
    together = sum_usages(found.values())
    assert (together.offered, together.loaded) == (9, 0)
    assert together.last_used_at == found[2].last_used_at
    assert sum_usages([]) == Usage()


async def test_uses_of_a_skill_that_is_gone_are_left_out(database: Database, people: tuple[User, User]):
    async with unit_of_work(database) as work:
        row = await add_skill(work, people[0].id, "mine")
    async with unit_of_work(database) as work:
        await count_uses(work, UsageKind.LOADED, {("gone", 1): 2, (row.id, 1): 3})
        await count_uses(work, UsageKind.LOADED, {("gone", 1): 2})
    async with database.reading() as session:
        assert (await count_by_version(session, row.id))[1].loaded == 3
        assert await count_by_version(session, "gone") == {}
