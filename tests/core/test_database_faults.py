"""A database that is not there, starts, hangs or is full is named as such, and errors stay silent
about what was to be written."""

import asyncio
import itertools
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import pytest
from sqlalchemy import TextClause, text
from sqlalchemy.exc import IntegrityError

from core.database.engine import Database
from core.errors import DatabaseFull, DatabaseUnavailable

Answer = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


async def hang_up(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    writer.close()


async def say_nothing(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while await reader.read(1024):
        pass
    writer.close()


async def start_up(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """What PostgreSQL says while it replays its log."""
    await reader.read(1024)
    fields = b"SFATAL\0C57P03\0Mthe database system is starting up\0\0"
    writer.write(b"E" + (len(fields) + 4).to_bytes(4, "big") + fields)
    await writer.drain()
    writer.close()


async def write(database: Database, statement: TextClause, values: dict[str, object]) -> None:
    async with database.writing() as session:
        await session.exec(statement, params=values)


async def fill(database: Database) -> None:
    """Write in one transaction until there is no room."""
    async with database.writing() as session:
        await session.exec(text("PRAGMA max_page_count = 20"))
        for number in itertools.count():
            values = {"words": f"{number} " * 5000}
            await session.exec(text("INSERT INTO line VALUES (:words)"), params=values)


@asynccontextmanager
async def served(answer: Answer) -> AsyncIterator[Database]:
    """A database whose server does nothing else than this."""
    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    database = Database(f"postgresql+asyncpg://nobody@127.0.0.1:{port}/none?ssl=disable")
    yield database
    await database.close()
    server.close()


@pytest.mark.anyio
@pytest.mark.parametrize("answer", [hang_up, say_nothing, start_up])
async def test_a_server_that_gives_no_connection_is_unavailable(answer, monkeypatch):
    monkeypatch.setattr("core.database.engine._CONNECT_SECONDS", 0.3)
    async with served(answer) as database, asyncio.timeout(10):
        with pytest.raises(DatabaseUnavailable):
            await database.ping()
        with pytest.raises(DatabaseUnavailable):
            await database.read(lambda _reads: None)
        with pytest.raises(DatabaseUnavailable):
            async with database.writing():
                pass


@pytest.mark.anyio
async def test_a_server_whose_name_is_unknown_is_unavailable():
    database = Database("postgresql+asyncpg://nobody@no-such-host.invalid/none")
    with pytest.raises(DatabaseUnavailable):
        await database.ping()


@pytest.mark.anyio
@pytest.mark.parametrize("database_kind", ["postgresql"], indirect=True)
async def test_connections_that_nobody_gives_back_do_not_hold_a_caller(
    database_url, database_kind, monkeypatch
):
    monkeypatch.setattr("core.database.engine._CONNECT_SECONDS", 2)
    database = Database(database_url)
    held = [await database.engine.connect() for _ in range(30)]
    with pytest.raises(DatabaseUnavailable):
        await database.ping()
    for connection in held:
        await connection.close()
    await database.ping()
    await database.close()


@pytest.mark.anyio
async def test_a_full_database_says_so_and_takes_writes_again_when_there_is_room(tmp_path):
    database = Database(f"sqlite+aiosqlite:///{tmp_path / 'full.db'}")
    async with database.writing() as session:
        await session.exec(text("CREATE TABLE line (words TEXT)"))
    with pytest.raises(DatabaseFull):
        await fill(database)
    async with database.writing() as session:
        await session.exec(text("PRAGMA max_page_count = 1000000"))
        await session.exec(text("INSERT INTO line VALUES ('kept')"))
    async with database.reading() as session:
        assert [row.words for row in await session.exec(text("SELECT * FROM line"))] == ["kept"]
    await database.close()


@pytest.mark.anyio
async def test_an_error_does_not_tell_what_was_to_be_written(database):
    async with database.writing() as session:
        await session.exec(text("CREATE TABLE line (words TEXT NOT NULL, number INTEGER NOT NULL)"))
    values = {"words": "the secret of the document", "number": None}
    insert = text("INSERT INTO line VALUES (:words, :number)")
    with pytest.raises(IntegrityError) as refused:
        await write(database, insert, values)
    assert "secret of the document" not in str(refused.value)
