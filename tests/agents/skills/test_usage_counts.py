"""The counts of skills that were offered, written beside runs."""

import asyncio
from typing import Any

import pytest

from agents.skills import loader
from agents.skills.active import SkillVersionRef
from agents.skills.loader import ImpressionCounter
from core.db.database import Database
from core.db.unit_of_work import unit_of_work
from core.errors.server import DatabaseUnavailable
from skills.store.usage import count_by_version
from tests.fixtures.database.rows import add_user
from tests.fixtures.skills.stored_skills import REVIEW, put_skill

pytestmark = pytest.mark.anyio


@pytest.fixture
async def skill(database: Database) -> SkillVersionRef:
    async with unit_of_work(database) as work:
        owner = await add_user(work)
        row = await put_skill(work, owner.id, REVIEW)
    return SkillVersionRef(row.id, 1, "0" * 64)


async def impression_count(database: Database, skill: SkillVersionRef) -> int:
    async with database.reading() as session:
        return (await count_by_version(session, skill.id))[1].offered


async def test_what_was_counted_is_written_down_at_the_end(database: Database, skill: SkillVersionRef):
    counter = ImpressionCounter(database)
    running = asyncio.create_task(counter.run())
    await asyncio.sleep(0)
    counter.add([skill, SkillVersionRef("gone", 1, "0" * 64)])
    counter.add([skill])
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)
    assert await impression_count(database, skill) == 2


@pytest.mark.parametrize("broken_by", [DatabaseUnavailable, asyncio.CancelledError])
async def test_what_could_not_be_written_is_kept(
    database: Database,
    skill: SkillVersionRef,
    monkeypatch: pytest.MonkeyPatch,
    broken_by: type[BaseException],
):
    counter, real, broken = ImpressionCounter(database), loader.count_uses, asyncio.Event()

    async def fails_once(*given: Any) -> None:
        if not broken.is_set():
            broken.set()
            raise broken_by
        await real(*given)

    monkeypatch.setattr(loader, "count_uses", fails_once)
    monkeypatch.setattr(loader, "_PAUSE_SECONDS", 0.001)
    counter.add([skill])
    running = asyncio.create_task(counter.run())
    await broken.wait()
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)
    assert await impression_count(database, skill) == 1
