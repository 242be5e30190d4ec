"""The wait for locks that others hold: a few seconds, including the wait for the write lock."""

import asyncio
import sqlite3
import time
from contextlib import closing

import pytest
from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncConnection
from sqlmodel import select

from core.db.database import Database
from core.db.unit_of_work import unit_of_work
from core.errors.server import DatabaseUnavailable
from kb_service.models import KnowledgeBase
from tests.fixtures.database.rows import add_knowledge_base

pytestmark = pytest.mark.anyio
# Five are promised (invariant I15 of the reference); the machine may be busy.
_SECONDS = 7


async def add(database: Database) -> None:
    async with unit_of_work(database) as work:
        await add_knowledge_base(work)


async def outcome(database: Database, after: float) -> tuple[type[BaseException] | None, float]:
    await asyncio.sleep(after)
    started = time.monotonic()
    try:
        await add(database)
    except DatabaseUnavailable as error:
        return type(error), time.monotonic() - started
    return None, time.monotonic() - started


@pytest.mark.parametrize("database_kind", ["sqlite"], indirect=True)
async def test_writers_of_a_locked_file_are_told_in_seconds_one_after_the_other(
    database: Database,
):
    await add(database)
    with closing(sqlite3.connect(str(database.engine.url.database), isolation_level=None)) as lock:
        lock.execute("BEGIN EXCLUSIVE")
        told = await asyncio.gather(*(outcome(database, after) for after in (0, 1, 2, 3)))
        lock.execute("ROLLBACK")
    assert {error for error, _ in told} == {DatabaseUnavailable}
    assert max(seconds for _, seconds in told) < _SECONDS
    # Connections that waited for less are as patient as the others again.
    with closing(sqlite3.connect(str(database.engine.url.database), isolation_level=None)) as lock:
        lock.execute("BEGIN EXCLUSIVE")
        waiting = [asyncio.create_task(add(database)) for _ in range(3)]
        await asyncio.sleep(1.5)
        lock.execute("ROLLBACK")
        await asyncio.gather(*waiting)


@pytest.mark.parametrize("database_kind", ["postgresql"], indirect=True)
async def test_a_locked_table_is_an_error_in_seconds_and_then_as_it_was(database: Database):
    await add(database)
    async with database.engine.connect() as lock:
        await lock.execute(text("LOCK TABLE knowledge_base IN ACCESS EXCLUSIVE MODE"))
        told = await asyncio.gather(*(outcome(database, 0) for _ in range(2)))
        started = time.monotonic()
        with pytest.raises(DatabaseUnavailable):
            async with database.reading() as session:
                await session.exec(select(KnowledgeBase.id))
        assert time.monotonic() - started < _SECONDS
        await lock.rollback()
    assert {error for error, _ in told} == {DatabaseUnavailable}
    assert max(seconds for _, seconds in told) < _SECONDS
    await add(database)


@pytest.mark.parametrize("database_kind", ["postgresql"], indirect=True)
async def test_a_connection_that_the_server_ends_is_an_error_and_the_next_one_works(
    database: Database,
):
    async def add_while_ended(other: AsyncConnection) -> None:
        async with unit_of_work(database) as work:
            connection = await work.session.connection()
            mine = (await connection.execute(text("SELECT pg_backend_pid()"))).scalar_one()
            await other.execute(text("SELECT pg_terminate_backend(:pid)"), {"pid": mine})
            await add_knowledge_base(work)

    for _ in range(2):
        async with database.engine.connect() as other:
            with pytest.raises(DatabaseUnavailable):
                await add_while_ended(other)
        await add(database)
