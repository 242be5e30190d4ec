"""Faults of a database that is away, starting, hanging or full, without its data in error texts."""

import asyncio
import itertools
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress

import pytest
from sqlalchemy import TextClause, make_url, text
from sqlalchemy.exc import IntegrityError
from sqlmodel.ext.asyncio.session import AsyncSession

from core.db.database import Database
from core.errors.server import DatabaseFull, DatabaseUnavailable

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
async def serving(answer: Answer) -> AsyncIterator[Database]:
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
    monkeypatch.setattr("core.db.database._CONNECT_SECONDS", 0.3)
    async with serving(answer) as database, asyncio.timeout(10):
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


async def ask_twice(
    opened: Callable[[], AbstractAsyncContextManager[AsyncSession]], between: Callable[[], None]
) -> None:
    async with asyncio.timeout(10), opened() as session:
        await session.exec(text("SELECT 1"))
        between()
        await session.exec(text("SELECT 1"))


class StandingStill:
    """A way to a PostgreSQL server on which, from some moment on, nothing arrives any more."""

    def __init__(self, url: str) -> None:
        self._url = make_url(url)
        self._goes_on = asyncio.Event()
        self._goes_on.set()
        self._ways: set[asyncio.Task[None]] = set()

    @asynccontextmanager
    async def database(self) -> AsyncIterator[Database]:
        server = await asyncio.start_server(self._begin, "127.0.0.1", 0)
        here = self._url.set(host="127.0.0.1", port=server.sockets[0].getsockname()[1], query={"ssl": "disable"})
        database = Database(here.render_as_string(hide_password=False))
        try:
            yield database
        finally:
            self.go_on()
            await database.close()
            server.close()
            await asyncio.gather(*self._ways)

    def stop(self) -> None:
        self._goes_on.clear()

    def go_on(self) -> None:
        self._goes_on.set()

    def _begin(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._ways.add(asyncio.create_task(self._serve(reader, writer)))

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        folder = self._url.query.get("host")
        if folder is not None:
            there = await asyncio.open_unix_connection(f"{folder}/.s.PGSQL.{self._port()}")
        else:
            there = await asyncio.open_connection(self._url.host, self._port())
        pairs = ((reader, there[1]), (there[0], writer))
        relays = [asyncio.create_task(self._relay(*pair)) for pair in pairs]
        try:
            await asyncio.wait(relays, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for relay in relays:
                relay.cancel()
            for _, end in pairs:
                end.close()
                with suppress(OSError):
                    await end.wait_closed()

    def _port(self) -> object:
        return self._url.query.get("port") or self._url.port or 5432

    async def _relay(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError):
            while block := await reader.read(65536):
                await self._goes_on.wait()
                writer.write(block)
                await writer.drain()


@pytest.mark.anyio
@pytest.mark.parametrize("database_kind", ["postgresql"], indirect=True)
async def test_a_server_that_stands_still_in_the_middle_is_unavailable(database_url, database_kind, monkeypatch):
    monkeypatch.setattr("core.db.database._COMMAND_SECONDS", 0.5)
    monkeypatch.setattr("core.db.database._CONNECT_SECONDS", 0.5)
    way = StandingStill(database_url)
    async with way.database() as database:
        await database.ping()
        way.stop()
        for ask in (database.ping(), database.read(lambda _reads: None)):
            with pytest.raises(DatabaseUnavailable):
                async with asyncio.timeout(10):
                    await ask
        with pytest.raises(DatabaseUnavailable):
            async with asyncio.timeout(10), database.writing() as session:
                await session.exec(text("SELECT 1"))


@pytest.mark.anyio
@pytest.mark.parametrize("database_kind", ["postgresql"], indirect=True)
async def test_a_server_that_stops_in_a_transaction_is_unavailable(database_url, database_kind, monkeypatch):
    monkeypatch.setattr("core.db.database._COMMAND_SECONDS", 0.5)
    way = StandingStill(database_url)
    async with way.database() as database:
        for opened in (database.reading, database.writing):
            with pytest.raises(DatabaseUnavailable):
                await ask_twice(opened, way.stop)
            way.go_on()
        await database.ping()


@pytest.mark.anyio
@pytest.mark.parametrize("database_kind", ["postgresql"], indirect=True)
async def test_connections_that_nobody_gives_back_do_not_hold_a_caller(database_url, database_kind, monkeypatch):
    monkeypatch.setattr("core.db.database._CONNECT_SECONDS", 2)
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
