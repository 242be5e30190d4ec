"""Reading in one go: plain functions with one connection, on a thread where the database is a file."""

import asyncio
import sqlite3
from collections.abc import Awaitable, Callable, Generator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, Protocol, TypeVar, cast

from sqlalchemy import Connection, NullPool, create_engine
from sqlalchemy.exc import DBAPIError
from sqlalchemy.util import await_only

from core.db.errors import translate_connect_errors
from core.db.prepared import PreparedQuery
from core.db.sqlite import open_file

_T = TypeVar("_T")
_W = TypeVar("_W")
# Made as they are needed. What reads here also computes, which more threads would not speed up.
_MOST_THREADS = 8
_BEGIN = "BEGIN"
_ONLY_READS = "PRAGMA query_only=ON"
# A search looks up two hundred rows all over the file: among 100,000 chunks that takes half the time
# where a page is not copied into a cache first (docs/decisions/0068). The memory is the system's.
_MAPPED = f"PRAGMA mmap_size={2**30}"


class _Wait(Protocol):
    def __call__(self, awaitable: Awaitable[_T], /) -> _T: ...


class ReadContext:
    """What a plain function reads with; for that function alone, and not after its end.

    Args:
        connection: to read from, in a transaction of its own.
        wait_for: waits for something of the event loop's; its transaction stays open meanwhile.
    """

    def __init__(self, connection: Connection, wait_for: _Wait) -> None:
        self.connection = connection
        self.wait_for = wait_for

    def rows(self, prepared: PreparedQuery, strings: Sequence[str]) -> Sequence[Sequence[Any]]:
        """All rows that a prepared query has for a list of strings."""
        return self.connection.execute(prepared.query, {prepared.parameter: strings}).all()


class _Reader(NamedTuple):
    """A connection to a file, and the driver's in it."""

    connection: Connection
    driver: sqlite3.Connection


class _FileReadContext(ReadContext):
    """Asks the driver itself where nothing else is needed."""

    def __init__(self, reader: _Reader, wait_for: _Wait) -> None:
        super().__init__(reader.connection, wait_for)
        self._driver = reader.driver

    def rows(self, prepared: PreparedQuery, strings: Sequence[str]) -> Sequence[Sequence[Any]]:
        """See ``ReadContext.rows``."""
        written = prepared.written(self.connection.dialect)
        with _translate_driver_errors(written.text):
            rows = self._driver.execute(written.text, (written.bound(strings),)).fetchall()
        return written.values(rows)


class ReadPool:
    """Threads that read a SQLite file.

    The event loop's connections cross to a thread and back for each statement, and a statement
    takes less time than that. Here a whole function crosses once.

    Args:
        path: the file.
        timeout: seconds to wait for another's lock.
    """

    def __init__(self, path: Path, timeout: float) -> None:
        opening = partial(_open_reader, str(path), timeout)
        self._engine = create_engine(
            "sqlite://",
            creator=opening,
            # They are kept here: a pool's way of handing them out takes as long as a statement.
            poolclass=NullPool,
            hide_parameters=True,
        )
        # The one used last is taken first: it knows most of the file.
        self._unused: list[_Reader] = []
        self._is_open = True
        self._threads = ThreadPoolExecutor(_MOST_THREADS, thread_name_prefix="reader")

    async def read(self, work: Callable[[ReadContext], _T]) -> _T:
        """Do this work on a thread.

        Who is cancelled does not wait for its end; what it waits for is cancelled, too.
        """
        loop = asyncio.get_running_loop()
        bridge = _LoopBridge(loop)
        call = partial(self._carried_out, work, bridge.wait_for)
        try:
            return await loop.run_in_executor(self._threads, call)
        except asyncio.CancelledError:
            bridge.break_off()
            raise

    def close(self) -> None:
        """Close the connections, and end each thread with its work."""
        self._is_open = False
        # Not waited for: it may itself wait for the event loop.
        self._threads.shutdown(wait=False, cancel_futures=True)
        self._close_unused()

    def _carried_out(self, work: Callable[[ReadContext], _T], wait_for: _Wait) -> _T:
        reader = self._taken()
        try:
            with _translate_driver_errors(_BEGIN):
                reader.driver.execute(_BEGIN).close()
            return work(_FileReadContext(reader, wait_for))
        finally:
            reader.connection.rollback()
            # SQLAlchemy knows of a transaction only where it was asked something.
            reader.driver.rollback()
            self._unused.append(reader)
            if not self._is_open:
                self._close_unused()

    def _taken(self) -> _Reader:
        try:
            return self._unused.pop()
        except IndexError:
            with translate_connect_errors():
                connection = self._engine.connect()
            driver = connection.connection.driver_connection
            return _Reader(connection, cast("sqlite3.Connection", driver))

    def _close_unused(self) -> None:
        with suppress(IndexError):
            while True:
                self._unused.pop().connection.close()


class _LoopBridge:
    """Lets a thread wait for the event loop until whoever waits for the thread is gone."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._broken = False
        self._awaited: Future[Any] | None = None

    def wait_for(self, awaitable: Awaitable[_W]) -> _W:
        future = asyncio.run_coroutine_threadsafe(_awaited(awaitable), self._loop)
        self._awaited = future
        if self._broken:
            future.cancel()
        return future.result()

    def break_off(self) -> None:
        self._broken = True
        if self._awaited is not None:
            self._awaited.cancel()


def event_loop_context(connection: Connection) -> ReadContext:
    """For a connection whose statements wait on the event loop (``AsyncConnection.run_sync``)."""
    return ReadContext(connection, await_only)


def _open_reader(path: str, timeout: float) -> sqlite3.Connection:
    opened = open_file(path, timeout=timeout, check_same_thread=False)
    for setting in (_ONLY_READS, _MAPPED):
        opened.execute(setting).close()
    return opened


async def _awaited(awaitable: Awaitable[_T]) -> _T:
    return await awaitable


@contextmanager
def _translate_driver_errors(statement: str) -> Generator[None]:
    """Turn the driver's errors into those of SQLAlchemy, without what was asked about."""
    try:
        yield
    except sqlite3.Error as error:
        raise DBAPIError.instance(
            statement, None, error, sqlite3.Error, hide_parameters=True
        ) from error
