"""The order of the writers of one process on SQLite: first come, first served."""

import asyncio

import pytest
from anyio.lowlevel import checkpoint
from sqlalchemy import text

from core.db.database import Database
from core.errors.server import DatabaseUnavailable

WRITERS = 12


@pytest.fixture
async def database(tmp_path):
    opened = Database(f"sqlite+aiosqlite:///{tmp_path / 'turns.db'}")
    async with opened.writing() as session:
        await session.exec(text("CREATE TABLE line (number INTEGER)"))
    yield opened
    await opened.close()


async def write(database: Database, number: int) -> None:
    async with database.writing() as session:
        await session.exec(text("INSERT INTO line VALUES (:number)"), params={"number": number})


@pytest.mark.anyio
async def test_writers_of_one_process_go_in_the_order_they_came(database):
    async with database.writing() as session:
        await session.exec(text("INSERT INTO line VALUES (-1)"))
        waiting = [asyncio.create_task(write(database, number)) for number in range(WRITERS)]
        # Each task runs until it has to wait for its turn.
        for _ in range(WRITERS):
            await checkpoint()
    await asyncio.gather(*waiting)
    async with database.reading() as session:
        rows = await session.exec(text("SELECT number FROM line ORDER BY rowid"))
        assert [row.number for row in rows] == list(range(-1, WRITERS))


@pytest.mark.anyio
async def test_a_writer_inside_a_writer_is_refused_instead_of_waiting_for_ever(database, monkeypatch):
    monkeypatch.setattr("core.db.database._LOCKED_SECONDS", 0.05)
    async with database.writing():
        with pytest.raises(DatabaseUnavailable):
            await write(database, 1)
    await write(database, 2)
