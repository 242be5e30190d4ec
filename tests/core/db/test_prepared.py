"""Prepared queries: the same result as SQLAlchemy's own."""

import pytest
from sqlalchemy import Boolean, bindparam, column, table
from sqlalchemy.dialects import sqlite
from sqlalchemy.exc import DBAPIError
from sqlmodel import col, select

from core.db.database import Database
from core.db.id_array import id_array
from core.db.prepared import PreparedQuery
from core.db.read_pool import ReadContext
from core.db.unit_of_work import unit_of_work
from core.errors.server import DatabaseUnavailable
from kb_service.models import KnowledgeBase
from tests.fixtures.database.rows import add_knowledge_base

pytestmark = pytest.mark.anyio

_ASKED = id_array("ids")
_ON = _ASKED.c.value == col(KnowledgeBase.id)
_QUERY = select(
    col(KnowledgeBase.id),
    col(KnowledgeBase.enabled),
    col(KnowledgeBase.retrieval),
    col(KnowledgeBase.created_at),
    col(KnowledgeBase.deleted_at),
    col(KnowledgeBase.deleted_at).is_(None),
).join(_ASKED, _ON)
_PREPARED = PreparedQuery(_QUERY)
_IDS = PreparedQuery(select(col(KnowledgeBase.id)).join(_ASKED, _ON))


async def test_rows_are_those_of_sqlalchemy_with_values_of_the_same_types(database: Database):
    async with unit_of_work(database) as work:
        first, second = [await add_knowledge_base(work) for _ in range(2)]
        first.retrieval = {"top_k": 3, "名": ["\u2028", None]}
        second.enabled = False
        ids = [first.id, second.id, "nobody's"]

    def both(reads: ReadContext) -> tuple[list[tuple[object, ...]], list[tuple[object, ...]]]:
        theirs = reads.connection.execute(_QUERY, {"ids": ids})
        return sorted(map(tuple, reads.rows(_PREPARED, ids))), sorted(map(tuple, theirs))

    ours, theirs = await database.read(both)
    assert ours == theirs
    assert {type(value) for row in ours for value in row} == {type(value) for row in theirs for value in row}
    assert {row[1] for row in ours} == {True, False}
    assert await database.read(lambda reads: reads.rows(_PREPARED, [])) == []


async def test_each_reading_sees_what_was_written_before_it(database: Database):
    """The driver's transaction ends with the reading that it was begun for."""
    ids: list[str] = []
    for count in range(1, 4):
        async with unit_of_work(database) as work:
            ids.append((await add_knowledge_base(work)).id)
        assert len(await database.read(lambda reads: reads.rows(_IDS, ids))) == count


@pytest.mark.parametrize("database_kind", ["sqlite"], indirect=True)
async def test_one_reading_sees_one_moment(database: Database):
    async with unit_of_work(database) as work:
        ids = [(await add_knowledge_base(work)).id]

    async def add() -> None:
        async with unit_of_work(database) as work:
            ids.append((await add_knowledge_base(work)).id)

    def work(reads: ReadContext) -> tuple[int, int]:
        before = len(reads.rows(_IDS, ids))
        reads.wait_for(add())
        return before, len(reads.rows(_IDS, ids))

    assert await database.read(work) == (1, 1)
    assert len(await database.read(lambda reads: reads.rows(_IDS, ids))) == 2


async def test_what_the_driver_refuses_is_told_without_what_was_asked_for(database: Database):
    nowhere = table("nowhere", column("id"), column("told", Boolean))
    asked = PreparedQuery(select(nowhere.c.id).join(_ASKED, _ASKED.c.value == nowhere.c.id))
    with pytest.raises((DatabaseUnavailable, DBAPIError)) as refused:
        await database.read(lambda reads: reads.rows(asked, ["a secret"]))
    error: BaseException | None = refused.value
    told = ""
    while error is not None:
        told += f"{error!r} {error}"
        error = error.__cause__
    assert "nowhere" in told
    assert "secret" not in told
    assert await database.read(lambda reads: reads.rows(_IDS, ["a secret"])) == []


def test_a_query_with_another_parameter_is_refused():
    query = select(col(KnowledgeBase.id)).join(_ASKED, _ON)
    query = query.where(col(KnowledgeBase.name) == bindparam("name"))
    with pytest.raises(ValueError, match="name"):
        PreparedQuery(query).compiled_for(sqlite.dialect())
