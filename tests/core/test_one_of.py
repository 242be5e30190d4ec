"""Asking for rows by any number of ids, in one statement for each database."""

import pytest
from sqlalchemy import not_
from sqlmodel import col, select

from core.database.engine import Database
from core.database.one_of import one_of
from core.database.unit_of_work import unit_of_work
from kb_service.models import KnowledgeBase
from tests.fixtures.bare_rows import add_knowledge_base

pytestmark = pytest.mark.anyio

_HAS_ID = one_of(col(KnowledgeBase.id), "ids")


async def found(database: Database, condition, *ids: str) -> set[str]:
    async with database.reading() as session:
        query = select(col(KnowledgeBase.id)).where(condition)
        return set((await session.exec(query, params={"ids": list(ids)})).all())


async def test_rows_are_found_by_their_ids_whatever_their_number(database: Database):
    async with unit_of_work(database) as work:
        first, second = [(await add_knowledge_base(work)).id for _ in range(2)]
    others = [f"nobody's {number}" for number in range(5000)]
    assert await found(database, _HAS_ID) == set()
    assert await found(database, _HAS_ID, first) == {first}
    assert await found(database, _HAS_ID, first, *others, second, first) == {first, second}
    assert await found(database, not_(_HAS_ID), first) == {second}
    named = _HAS_ID & (col(KnowledgeBase.id) != first)
    assert await found(database, named, first, second) == {second}


@pytest.mark.parametrize("odd", ["'", '"', "\\", "],[", "知识库", "a,b", "{}", "%", "null"])
async def test_odd_ids_are_just_ids(database: Database, odd: str):
    async with unit_of_work(database) as work:
        row = await add_knowledge_base(work)
    assert await found(database, _HAS_ID, odd) == set()
    assert await found(database, _HAS_ID, odd, row.id) == {row.id}


@pytest.mark.parametrize("database_kind", ["sqlite"], indirect=True)
async def test_an_index_is_used(database: Database):
    async with database.reading() as session:
        connection = await session.connection()
        query = select(col(KnowledgeBase.name)).where(_HAS_ID)
        asked = str(query.compile(dialect=connection.dialect))
        plan = await connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {asked}", ('["a"]',))
        steps = [row[-1] for row in plan]
    assert any(step.startswith("SEARCH knowledge_base USING INDEX") for step in steps), steps
