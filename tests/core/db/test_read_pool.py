"""Reads by a plain function: isolation, threads, failures."""

import asyncio
import sqlite3
import threading
from contextlib import closing
from pathlib import Path

import psutil
import pytest
from sqlalchemy import text
from sqlalchemy.exc import DBAPIError
from sqlmodel import select

from core.db.database import Database
from core.db.read_pool import ReadContext
from core.db.unit_of_work import unit_of_work
from core.errors.server import DatabaseUnavailable
from kb_service.models import KnowledgeBase
from tests.fixtures.database.rows import add_knowledge_base

pytestmark = pytest.mark.anyio


def ids(reads: ReadContext) -> set[str]:
    return set(reads.connection.execute(select(KnowledgeBase.id)).scalars())


async def add(database: Database) -> str:
    async with unit_of_work(database) as work:
        return (await add_knowledge_base(work)).id


async def test_a_plain_function_reads_rows(database: Database):
    assert await database.read(ids) == set()
    id_ = await add(database)
    assert await database.read(ids) == {id_}


async def test_it_waits_for_something_of_the_event_loop(database: Database):
    await add(database)

    def work(reads: ReadContext) -> tuple[int, int, int]:
        before = len(ids(reads))
        return before, reads.wait_for(asyncio.sleep(0.01, 7)), len(ids(reads))

    assert await database.read(work) == (1, 7, 1)


async def test_what_it_waits_for_fails_in_its_hands(database: Database):
    async def fail() -> None:
        await asyncio.sleep(0)
        raise ZeroDivisionError

    def work(reads: ReadContext) -> str:
        try:
            reads.wait_for(fail())
        except ZeroDivisionError:
            return "caught"
        return "nothing happened"

    assert await database.read(work) == "caught"
    with pytest.raises(ZeroDivisionError):
        await database.read(lambda reads: reads.wait_for(fail()))


@pytest.mark.parametrize("database_kind", ["sqlite"], indirect=True)
async def test_it_sees_one_moment_of_a_file_and_holds_up_no_event_loop(database: Database):
    first = await add(database)

    def work(reads: ReadContext) -> tuple[set[str], set[str], str]:
        before = ids(reads)
        # The event loop writes meanwhile: it is not in this function's way, nor the other way round.
        reads.wait_for(add(database))
        return before, ids(reads), threading.current_thread().name

    before, after, thread = await database.read(work)
    assert before == after == {first}
    assert thread != threading.current_thread().name
    assert len(await database.read(ids)) == 2


@pytest.mark.parametrize("database_kind", ["sqlite"], indirect=True)
async def test_it_can_not_write(database: Database):
    await add(database)
    deletion = text("DELETE FROM knowledge_base")
    for reading in (database.read, database.look_up):
        with pytest.raises((DatabaseUnavailable, DBAPIError)):
            await reading(lambda reads: reads.connection.execute(deletion).rowcount)
    assert len(await database.read(ids)) == 1


async def test_what_it_waits_for_ends_with_who_asked(database: Database):
    await add(database)
    begun, ended = asyncio.Event(), asyncio.Event()

    async def wait() -> None:
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    reading = asyncio.create_task(database.read(lambda reads: reads.wait_for(wait())))
    async with asyncio.timeout(10):
        await begun.wait()
        reading.cancel()
        with pytest.raises(asyncio.CancelledError):
            await reading
        await ended.wait()
    assert len(await database.read(ids)) == 1


async def test_many_at_once_all_get_their_answer(database: Database):
    id_ = await add(database)
    assert await asyncio.gather(*(database.read(ids) for _ in range(40))) == [{id_}] * 40


async def test_a_look_up_waits_for_no_other_read(database: Database):
    id_ = await add(database)
    released = asyncio.Event()
    waiting = [asyncio.create_task(database.read(lambda reads: reads.wait_for(released.wait()))) for _ in range(9)]
    async with asyncio.timeout(10):
        assert await database.look_up(ids) == {id_}
        released.set()
        await asyncio.gather(*waiting)


async def test_a_file_that_is_no_database_is_named_as_unavailable(tmp_path: Path):
    (tmp_path / "lines.db").write_text("no database, but long enough to be taken for one" * 100)
    database = Database(f"sqlite+aiosqlite:///{tmp_path / 'lines.db'}")
    with pytest.raises(DatabaseUnavailable):
        await database.read(ids)
    await database.close()


@pytest.mark.parametrize("database_kind", ["sqlite"], indirect=True)
async def test_it_reads_a_file_that_others_make_larger_and_smaller(database: Database):
    """What a connection has mapped of the file is not what the file is."""
    kept = await add(database)
    sizes = text("SELECT length(bytes) FROM filler")
    with closing(sqlite3.connect(file_of(database), isolation_level=None)) as other:
        for size in (5000, 7000):
            other.execute(
                "CREATE TABLE filler AS WITH RECURSIVE number(n) AS"
                " (SELECT 1 UNION ALL SELECT n + 1 FROM number WHERE n < 300)"
                " SELECT zeroblob(?) AS bytes FROM number",
                (size,),
            )
            other.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            found = await database.read(lambda reads: reads.connection.execute(sizes).scalars().all())
            assert found == [size] * 300
            for statement in ("DROP TABLE filler", "VACUUM", "PRAGMA wal_checkpoint(TRUNCATE)"):
                other.execute(statement)
            assert await database.read(ids) == {kept}


@pytest.mark.parametrize("database_kind", ["sqlite"], indirect=True)
async def test_who_reads_when_the_database_is_closed_reads_on_and_leaves_nothing_open(
    database: Database,
):
    await add(database)
    begun, goes_on = threading.Event(), threading.Event()

    def work(reads: ReadContext) -> int:
        found = len(ids(reads))
        begun.set()
        goes_on.wait(10)
        return found + len(ids(reads))

    reading = asyncio.create_task(database.read(work))
    await asyncio.to_thread(begun.wait, 10)
    await database.read(ids)
    await database.close()
    assert file_of(database) in open_files()
    goes_on.set()
    assert await reading == 2
    assert file_of(database) not in open_files()


def file_of(database: Database) -> str:
    return str(database.engine.url.database)


def open_files() -> set[str]:
    return {file.path for file in psutil.Process().open_files()}
