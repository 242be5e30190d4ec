"""Imports that fail half way, and import plans beside concurrent changes."""

import asyncio

import pytest

from core.auth.models import User
from core.auth.permissions import DEFAULT_ROLE
from core.auth.principal import Principal
from core.db.database import Database
from core.db.unit_of_work import unit_of_work
from skills.packages.reader import PackagedSkill
from skills.store.versions import SkillLimits
from skills.transfer import import_service
from skills.transfer.import_service import ConflictPolicy, ImportedSkill, IncomingSkill, SkillImportOutcome
from tests.fixtures.database.rows import add_user
from tests.fixtures.skills.skill_texts import REPORT

pytestmark = pytest.mark.anyio
ROOM = SkillLimits(skills=5, bytes=20_000)
NEW_VERSION = ConflictPolicy.NEW_VERSION


@pytest.fixture
async def anna(database: Database) -> Principal:
    async with unit_of_work(database) as work:
        user: User = await add_user(work)
    return Principal(user.id, user.username, DEFAULT_ROLE, frozenset())


async def incoming(*texts: str) -> list[IncomingSkill]:
    return [await import_service.prepare("report.md", PackagedSkill("", text.encode(), files=())) for text in texts]


def without_ids(skills: list[ImportedSkill | None]) -> list[tuple[str, str, int] | None]:
    return [skill and (skill.slug, skill.name, skill.version) for skill in skills]


async def test_each_outcome_tells_of_the_skill_as_it_was_left(database: Database, anna: Principal):
    texts = (REPORT, f"{REPORT}3. Send it\n", f"{REPORT}3. {'Send it. ' * 2000}\n", REPORT)
    brought = await incoming(*texts)
    async with database.reading() as session:
        plan = await import_service.plan_import(session, anna, ROOM, brought, NEW_VERSION)
    done = await import_service.import_all(database, anna, ROOM, brought, NEW_VERSION)
    wanted = [
        SkillImportOutcome.CREATED,
        SkillImportOutcome.NEW_VERSION,
        SkillImportOutcome.REFUSED,
        SkillImportOutcome.NEW_VERSION,
    ]
    assert [result.outcome for result in plan] == [result.outcome for result in done] == wanted
    told = without_ids([result.skill for result in done])
    assert told == without_ids([result.skill for result in plan])
    assert [answer and answer[2] for answer in told] == [1, 2, None, 3]
    assert {result.skill.id for result in plan if result.skill} == {None}
    assert len({result.skill.id for result in done if result.skill}) == 1


async def test_plan_names_what_is_there_and_nothing_that_only_would_be(database: Database, anna: Principal):
    other = REPORT.replace("Daily report", "Other report")
    (there,) = await import_service.import_all(database, anna, ROOM, await incoming(REPORT), NEW_VERSION)
    brought = await incoming(REPORT, other, other)
    async with database.reading() as session:
        plan = await import_service.plan_import(session, anna, ROOM, brought, ConflictPolicy.SKIP)
    assert [result.outcome for result in plan] == [
        SkillImportOutcome.SKIPPED,
        SkillImportOutcome.CREATED,
        SkillImportOutcome.SKIPPED,
    ]
    assert there.skill is not None
    assert [result.skill and result.skill.id for result in plan] == [there.skill.id, None, None]


async def test_of_two_imports_at_once_the_second_finds_what_the_first_has_made(database: Database, anna: Principal):
    texts = (REPORT, f"{REPORT}3. Send it\n")
    both = [import_service.import_all(database, anna, ROOM, await incoming(text), NEW_VERSION) for text in texts]
    done = [answer for (answer,) in await asyncio.gather(*both)]
    assert {result.outcome for result in done} == {
        SkillImportOutcome.CREATED,
        SkillImportOutcome.NEW_VERSION,
    }
    assert {result.skill.slug for result in done if result.skill} == {"daily-report"}
