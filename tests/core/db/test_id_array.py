"""Queries by any number of ids, as one statement for each database."""

import pytest
from sqlmodel import col, select

from core.db.database import Database
from core.db.id_array import id_array
from core.db.unit_of_work import unit_of_work
from kb_service.models import KnowledgeBase
from tests.fixtures.database.rows import add_knowledge_base

pytestmark = pytest.mark.anyio

_ASKED = id_array("ids")
_QUERY = select(col(KnowledgeBase.id)).join(_ASKED, _ASKED.c.value == col(KnowledgeBase.id))


async def find_ids(database: Database, *ids: str) -> list[str]:
    async with database.reading() as session:
        return sorted((await session.exec(_QUERY, params={"ids": list(ids)})).all())


async def test_rows_are_found_by_their_ids_whatever_their_number(database: Database):
    async with unit_of_work(database) as work:
        first, second = [(await add_knowledge_base(work)).id for _ in range(2)]
    others = [f"nobody's {number}" for number in range(5000)]
    assert await find_ids(database) == []
    assert await find_ids(database, first) == [first]
    assert await find_ids(database, first, *others, second) == sorted([first, second])
    # A table, not a set: nothing looks for repeats.
    assert await find_ids(database, first, first) == [first, first]


@pytest.mark.parametrize("odd", ["'", '"', "\\", "],[", "知识库", "a,b", "{}", "%", "null"])
async def test_odd_ids_are_just_ids(database: Database, odd: str):
    async with unit_of_work(database) as work:
        row = await add_knowledge_base(work)
    assert await find_ids(database, odd) == []
    assert await find_ids(database, odd, row.id) == [row.id]


@pytest.mark.parametrize("database_kind", ["sqlite"], indirect=True)
async def test_an_index_is_used(database: Database):
    async with database.reading() as session:
        connection = await session.connection()
        asked = str(_QUERY.add_columns(col(KnowledgeBase.name)).compile(dialect=connection.dialect))
        plan = await connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {asked}", ('["a"]',))
        steps = [row[-1] for row in plan]
    assert any(step.startswith("SEARCH knowledge_base USING INDEX") for step in steps), steps
