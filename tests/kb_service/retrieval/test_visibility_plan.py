"""The query plan of the visibility check: an index, without the pages of the texts."""

import pytest
from sqlalchemy import text

from core.db.database import Database
from core.db.read_pool import ReadContext
from kb_service.retrieval.visibility import DocumentScope, VisibilityResult, check_visibility

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize("database_kind", ["sqlite"], indirect=True)
async def test_vouching_reads_no_row_of_a_chunk(database: Database):
    statements: list[str] = []

    def work(reads: ReadContext) -> list[str]:
        driver = reads.connection.connection.driver_connection
        assert driver is not None
        driver.set_trace_callback(statements.append)
        check_visibility(reads, [str(number) for number in range(200)], DocumentScope({"kb": 1}))
        driver.set_trace_callback(None)
        plan = reads.connection.execute(text(f"EXPLAIN QUERY PLAN {statements[-1]}"))
        return [row[-1] for row in plan]

    steps = await database.read(work)
    assert any(step.startswith("SEARCH chunk USING COVERING INDEX") for step in steps), steps


async def test_document_seen_in_two_revisions_makes_the_answer_outdated():
    first = VisibilityResult(revisions={"a": 1, "b": 3})
    assert not first.joined(VisibilityResult(revisions={"b": 3, "c": 7})).is_moved
    assert first.joined(VisibilityResult(revisions={"b": 4})).is_moved
    assert first.joined(VisibilityResult(is_moved=True)).is_moved
