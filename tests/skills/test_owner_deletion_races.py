"""Changes of skills while their owner is deleted, without deadlocks."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

import pytest
from sqlmodel import select

from core.auth.models import User
from core.auth.permissions import DEFAULT_ROLE
from core.auth.principal import Action, Principal
from core.db.database import Database
from core.db.unit_of_work import UnitOfWork, unit_of_work
from core.errors.auth import NotFound
from skills.models import Skill, SkillTriggerTest
from skills.selection import trigger_tests
from skills.selection.trigger_tests import Rates, TriggerReport
from skills.store import access as skill_access
from skills.store import publishing
from skills.store import service as skill_service
from skills.store.publishing import Decision, ReviewVerdict
from skills.store.service import SkillContext, SkillUpdate
from skills.store.usage import UsageKind, count_uses
from skills.store.versions import FileEdit, SkillLimits, with_file
from tests.fixtures.database.rows import add_user
from tests.fixtures.skills.skill_rows import add_skill, add_version

pytestmark = pytest.mark.anyio
on_postgresql = pytest.mark.parametrize("database_kind", ["postgresql"], indirect=True)
NOTHING = Rates(0, None, None)
REPORT = TriggerReport(1, None, 1, 0, NOTHING, NOTHING, NOTHING, {}, ())


@dataclass(frozen=True)
class Scene:
    """A skill whose newest version is an unread import, its owner, and who may inherit it."""

    database: Database
    skill: Skill
    owner: User
    heir: User

    @property
    def principal(self) -> Principal:
        return Principal(self.owner.id, self.owner.username, DEFAULT_ROLE, frozenset())


@pytest.fixture
async def scene(database: Database) -> Scene:
    async with unit_of_work(database) as work:
        owner, heir = await add_user(work), await add_user(work)
        skill = await add_skill(work, owner.id, "report", trusted=False)
        await add_version(work, skill, "brought", unread=True)
    return Scene(database, skill, owner, heir)


async def reviewed(scene: Scene) -> None:
    async with unit_of_work(scene.database) as work:
        ruling = ReviewVerdict(Decision.APPROVE, version=2)
        await publishing.review(work, scene.principal, scene.skill.id, ruling)


async def changed(scene: Scene) -> None:
    async with unit_of_work(scene.database) as work:
        context = SkillContext(work, scene.principal, SkillLimits(skills=9, bytes=10**6))
        update = SkillUpdate(with_file(FileEdit("a.txt", b"a")))
        await skill_service.update(context, scene.skill.id, update)


async def tested(scene: Scene) -> None:
    async with unit_of_work(scene.database) as work:
        await trigger_tests.save_report(work, scene.skill.id, scene.owner.id, REPORT)


async def retired(work: UnitOfWork, scene: Scene) -> None:
    """The account's row, held as a change of its name holds it."""
    await work.session.exec(select(User).where(User.id == scene.owner.id).with_for_update())


@on_postgresql
@pytest.mark.parametrize("act", [reviewed, changed, tested])
async def test_skill_is_worked_on_while_its_owner_is_erased(scene: Scene, act: Callable[[Scene], Awaitable[None]]):
    async with unit_of_work(scene.database) as work:
        await retired(work, scene)
        acting = asyncio.ensure_future(act(scene))
        await asyncio.wait({acting}, timeout=0.5)
        await skill_service.erase_owned_by(work, scene.owner.id)
    outcome = (await asyncio.gather(acting, return_exceptions=True))[0]
    assert outcome is None or isinstance(outcome, NotFound)
    async with scene.database.reading() as session:
        assert (await session.exec(select(Skill))).all() == []
        assert (await session.exec(select(SkillTriggerTest))).all() == []


@on_postgresql
@pytest.mark.parametrize("act", [reviewed, changed])
async def test_skill_is_worked_on_while_it_gets_another_owner(scene: Scene, act: Callable[[Scene], Awaitable[None]]):
    async with unit_of_work(scene.database) as work:
        await skill_service.hand_over(work, scene.owner.id, scene.heir.id)
        acting = asyncio.ensure_future(act(scene))
        await asyncio.wait({acting}, timeout=0.5)
        await retired(work, scene)
    outcome = (await asyncio.gather(acting, return_exceptions=True))[0]
    assert isinstance(outcome, NotFound)
    async with scene.database.reading() as session:
        assert (await session.exec(select(Skill.owner_id))).all() == [scene.heir.id]


@on_postgresql
async def test_uses_are_counted_while_a_skill_is_changed(scene: Scene):
    async def counted() -> None:
        async with unit_of_work(scene.database) as work:
            await count_uses(work, UsageKind.LOADED, {(scene.skill.id, 1): 1})

    async with unit_of_work(scene.database) as work:
        await skill_access.get_for_update_with_owner(work.session, scene.principal, scene.skill.id, Action.WRITE)
        async with asyncio.timeout(20):
            await counted()


async def test_trigger_tests_go_with_who_made_them(scene: Scene):
    await tested(scene)
    async with unit_of_work(scene.database) as work:
        await trigger_tests.save_report(work, scene.skill.id, scene.heir.id, REPORT)
    async with unit_of_work(scene.database) as work:
        await skill_service.erase_owned_by(work, scene.heir.id)
        kept = (await work.session.exec(select(SkillTriggerTest.user_id))).all()
    assert kept == [scene.owner.id]
