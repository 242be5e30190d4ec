"""The next document by fair share: the rule alone, and on both databases."""

from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import insert

from core.db.database import Database
from core.db.types import new_id, utc_now
from core.db.unit_of_work import unit_of_work
from kb_service.models import Document
from kb_service.work_queue import scheduler
from kb_service.work_queue.scheduler import QueuedDocument, pick_next
from tests.fixtures.database.rows import add_document, add_knowledge_base
from tests.fixtures.knowledge.stored_documents import edit

START = datetime(2026, 1, 1, tzinfo=UTC)


def waiting(document: str, owner: str, minutes: int) -> QueuedDocument:
    return QueuedDocument(document, owner, START + timedelta(minutes=minutes), attempts=0)


A1, A2, B1, C1 = (
    waiting("a1", "a", 0),
    waiting("a2", "a", 1),
    waiting("b1", "b", 2),
    waiting("c1", "c", 3),
)


@pytest.mark.parametrize(
    ("held", "last_served", "following"),
    [
        ({}, {}, A1),
        ({"a": 1}, {}, B1),
        ({"a": 2, "b": 1}, {}, C1),
        ({"a": 1, "b": 1, "c": 1}, {"a": 1, "b": 3, "c": 2}, A1),
        ({}, {"a": 3, "b": 2, "c": 1}, C1),
        ({"b": 5, "c": 5}, {"a": 9}, A1),
    ],
)
def test_turn_goes_to_who_has_least_in_hand_then_to_who_waited_longest(
    held: dict[str, int], last_served: dict[str, int], following: QueuedDocument
):
    assert pick_next([C1, B1, A2, A1], held, last_served) == following


def test_nobody_is_next_when_nothing_waits():
    assert pick_next([], {"a": 1}, {}) is None


async def look(database: Database) -> set[str]:
    async with database.reading() as session:
        return {one.document_id for one in await scheduler.oldest_queued(session)}


@pytest.mark.anyio
async def test_oldest_due_document_of_each_knowledge_base_waits(database: Database):
    async with unit_of_work(database) as work:
        first, second = await add_knowledge_base(work), await add_knowledge_base(work)
    now = utc_now()

    async def add(kb_id: str, minutes: int, **fields: object) -> str:
        made = now - timedelta(minutes=minutes)
        given = {"knowledge_base_id": kb_id, "name": new_id(), "created_at": made, **fields}
        return await add_document(database, **given)

    assert await look(database) == set()
    await add(first.id, 90, status="completed")
    await add(first.id, 80, status="paused")
    await add(first.id, 70, deleted_at=now)
    await add(first.id, 60, retry_at=now + timedelta(minutes=1))
    await add(first.id, 55, lease_until=now + timedelta(minutes=1))
    expected = await add(first.id, 50)
    await add(first.id, 40)
    other = await add(second.id, 10)
    assert await look(database) == {expected, other}
    await edit(database, expected, status="processing", lease_until=now + timedelta(minutes=1))
    assert expected not in await look(database)
    async with database.reading() as session:
        assert await scheduler.active_per_owner(session) == {first.owner_id: 1}
    async with unit_of_work(database) as work:
        (await work.session.get_one(type(second), second.id)).paused = True
    assert other not in await look(database)


@pytest.mark.anyio
async def test_moments_beyond_any_lease_or_pause_come_from_a_clock_set_back(database: Database):
    ahead = utc_now() + timedelta(hours=1)
    document = await add_document(database, lease_until=ahead, retry_at=ahead)
    assert await look(database) == {document}


async def add_waiting(database: Database, knowledge_base_id: str, count: int) -> None:
    """Documents that wait in a knowledge base."""
    async with unit_of_work(database) as work:
        rows = [
            Document(
                knowledge_base_id=knowledge_base_id,
                name=f"{new_id()}.md",
                file_type="markdown",
                media_type="text/markdown",
                file_size=1,
                sha256="0" * 64,
                storage_key=new_id(),
            ).model_dump()
            for _ in range(count)
        ]
        await work.session.exec(insert(Document), params=rows)


async def steps_of_a_look(database: Database) -> int:
    """How many steps SQLite's machine takes: a measure of work that no load changes."""
    steps = 0

    def count() -> None:
        nonlocal steps
        steps += 1

    async with database.reading() as session:
        raw = await (await session.connection()).get_raw_connection()
        await raw.driver_connection.set_progress_handler(count, 1)
        try:
            await scheduler.oldest_queued(session)
            await scheduler.active_per_owner(session)
        finally:
            await raw.driver_connection.set_progress_handler(None, 0)
    return steps


@pytest.mark.anyio
@pytest.mark.parametrize("database_kind", ["sqlite"], indirect=True)
async def test_many_documents_do_not_make_the_look_dear(database: Database):
    async with unit_of_work(database) as work:
        bases = [(await add_knowledge_base(work)).id for _ in range(2)]
    for kb_id in bases:
        await add_waiting(database, kb_id, 10)
    few = await steps_of_a_look(database)
    await add_waiting(database, bases[0], 2000)
    assert len(await look(database)) == 2
    assert await steps_of_a_look(database) < 1.5 * few
