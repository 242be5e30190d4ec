"""The SQLite connection with one thread switch per statement: transactions."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from sqlalchemy import text
from sqlalchemy.exc import IntegrityError
from sqlmodel.ext.asyncio.session import AsyncSession

from core.db.database import Database

pytestmark = pytest.mark.anyio
_COUNT = text("SELECT count(*) FROM line")
_ADD = text("INSERT INTO line (words) VALUES (:words) RETURNING id")


@pytest.fixture
async def database(tmp_path: Path) -> AsyncIterator[Database]:
    """A file with one table; one connection, so that each session gets the last one's."""
    database = Database(f"sqlite+aiosqlite:///{tmp_path / 'lines.db'}")
    async with database.writing() as session:
        connection = await session.connection()
        await connection.execute(text("CREATE TABLE line (id INTEGER PRIMARY KEY, words TEXT UNIQUE)"))
    yield database
    await database.close()


@asynccontextmanager
async def traced(database: Database) -> AsyncGenerator[list[str]]:
    """Every statement that the database's one idle connection is told meanwhile."""
    statements: list[str] = []
    async with database.reading() as session:
        driver = (await (await session.connection()).get_raw_connection()).driver_connection
        assert driver is not None
        await driver.set_trace_callback(statements.append)
    yield statements
    # What the last session left in the queue is done before this.
    await driver.set_trace_callback(None)


async def add(session: AsyncSession, words: str) -> int:
    connection = await session.connection()
    return (await connection.execute(_ADD, {"words": words})).scalar_one()


async def add_both(database: Database, first: str, second: str) -> None:
    async with database.writing() as session:
        await add(session, first)
        await add(session, second)


async def count(session: AsyncSession) -> int:
    return (await (await session.connection()).execute(_COUNT)).scalar_one()


async def test_reading_session_is_one_transaction_from_its_first_statement(database: Database):
    async with traced(database) as statements, database.reading() as session:
        assert statements == []
        await count(session)
        await count(session)
    assert statements == ["BEGIN", _COUNT.text, _COUNT.text, "ROLLBACK"]


async def test_reading_session_without_statements_tells_the_database_nothing(database: Database):
    async with traced(database) as statements, database.reading():
        pass
    assert statements == []


async def test_writing_session_begins_at_once_and_commits_once(database: Database):
    async with traced(database) as statements, database.writing() as session:
        await session.connection()
        assert statements == ["BEGIN IMMEDIATE"]
        await add(session, "one")
    assert statements[-1] == "COMMIT"
    assert len(statements) == 3


async def test_reader_sees_one_moment_and_the_next_reader_the_next(database: Database):
    async with database.reading() as session:
        before = await count(session)
        async with database.writing() as writing:
            await add(writing, "meanwhile")
        assert await count(session) == before
    async with database.reading() as session:
        assert await count(session) == before + 1


async def test_refused_statement_leaves_nothing_and_a_usable_connection(database: Database):
    async with database.writing() as session:
        await add(session, "one")
    with pytest.raises(IntegrityError):
        await add_both(database, "two", "one")
    async with database.reading() as session:
        assert await count(session) == 1


async def test_many_rows_at_once_are_counted(database: Database):
    lines = [{"words": str(number)} for number in range(300)]
    async with database.writing() as session:
        connection = await session.connection()
        added = await connection.execute(text("INSERT INTO line (words) VALUES (:words)"), lines)
        assert added.rowcount == 300
        assert await add(session, "one more") == 301


async def test_reader_that_commits_what_it_wrote_has_written_it(database: Database):
    async with database.reading() as session:
        await add(session, "not meant to be")
        await session.commit()
    async with database.reading() as session:
        assert await count(session) == 1


async def test_cancelled_reader_keeps_no_transaction_open(database: Database):
    slow = text("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 3000000) SELECT max(i) FROM n")

    async def read() -> None:
        async with database.reading() as session:
            await count(session)
            started.set()
            await (await session.connection()).execute(slow)

    started = asyncio.Event()
    reading = asyncio.create_task(read())
    await started.wait()
    reading.cancel()
    with pytest.raises(asyncio.CancelledError):
        await reading
    async with database.writing() as session:
        await add(session, "one")
    async with database.reading() as session:
        assert await count(session) == 1
