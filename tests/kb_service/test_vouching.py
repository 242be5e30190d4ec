"""Vouching for hits reads an index, not the pages that texts lie on."""

import pytest
from sqlalchemy import text

from core.database.engine import Database
from kb_service.retrieval.vouching import Scope, Vouched, vouch

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize("database_kind", ["sqlite"], indirect=True)
async def test_vouching_reads_no_row_of_a_chunk(database: Database):
    statements: list[str] = []
    async with database.reading() as session:
        connection = await session.connection()
        driver = (await connection.get_raw_connection()).driver_connection
        assert driver is not None
        await driver.set_trace_callback(statements.append)
        ids = [str(number) for number in range(200)]
        await connection.run_sync(vouch, ids, Scope({"kb": 1}))
        await driver.set_trace_callback(None)
        asked = statements[-1]
        plan = await connection.execute(text(f"EXPLAIN QUERY PLAN {asked}"))
        steps = [row[-1] for row in plan]
    assert any(step.startswith("SEARCH chunk USING COVERING INDEX") for step in steps), steps


async def test_document_seen_in_two_revisions_makes_the_answer_outdated():
    first = Vouched(revisions={"a": 1, "b": 3})
    assert not first.joined(Vouched(revisions={"b": 3, "c": 7})).is_moved
    assert first.joined(Vouched(revisions={"b": 4})).is_moved
    assert first.joined(Vouched(is_moved=True)).is_moved
