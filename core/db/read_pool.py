"""Pool of threads and connections that run whole read functions against a SQLite file."""

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
from core.db.sqlite import enable_hints, open_file

_T = TypeVar("_T")
_W = TypeVar("_W")
_BEGIN = "BEGIN"
_ONLY_READS = "PRAGMA query_only=ON"
# A search looks up two hundred rows all over the file: among 100,000 chunks that takes half the time
# if pages are not copied into a cache first (docs/decisions/0068). The memory is the system's.
_MAPPED = f"PRAGMA mmap_size={2**30}"


class _Wait(Protocol):
    def __call__(self, awaitable: Awaitable[_T], /) -> _T: ...


class ReadContext:
    """Connection of one read function, valid until that function returns.

    Args:
        connection: in a transaction of its own.
        wait_for: waits for an awaitable of the event loop; the transaction stays open meanwhile.
    """

    def __init__(self, connection: Connection, wait_for: _Wait) -> None:
        self.connection = connection
        self.wait_for = wait_for

    def rows(self, prepared: PreparedQuery, strings: Sequence[str]) -> Sequence[Sequence[Any]]:
        """All rows of a prepared query for a list of strings."""
        return self.connection.execute(prepared.query, {prepared.parameter: strings}).all()


class _Reader(NamedTuple):
    """SQLAlchemy's connection and the driver's inside it."""

    connection: Connection
    driver: sqlite3.Connection


class _FileReadContext(ReadContext):
    def __init__(self, reader: _Reader, wait_for: _Wait) -> None:
        super().__init__(reader.connection, wait_for)
        self._driver = reader.driver

    def rows(self, prepared: PreparedQuery, strings: Sequence[str]) -> Sequence[Sequence[Any]]:
        compiled = prepared.compiled_for(self.connection.dialect)
        with _translate_driver_errors(compiled.text):
            rows = self._driver.execute(compiled.text, (compiled.bind(strings),)).fetchall()
        return compiled.convert(rows)


class ReadPool:
    """Threads that read a SQLite file.

    The event loop's connections switch to a thread and back for each statement, which takes longer
    than the statement. Here a whole function switches once (docs/decisions/0064).

    Args:
        timeout: seconds to wait for locks.
        most_threads: started as needed.
        is_mapped: whether the file is mapped into memory.
    """

    def __init__(self, path: Path, timeout: float, *, most_threads: int, is_mapped: bool) -> None:
        settings = (_ONLY_READS, _MAPPED) if is_mapped else (_ONLY_READS,)
        self._engine = create_engine(
            "sqlite://",
            creator=partial(_open_reader, str(path), timeout, settings),
            # Connections are kept here: checking them out of a pool takes as long as a statement.
            poolclass=NullPool,
            hide_parameters=True,
        )
        enable_hints(self._engine.dialect)
        # Last in, first out: the last one used has most of the file in its cache.
        self._idle: list[_Reader] = []
        self._is_open = True
        self._threads = ThreadPoolExecutor(most_threads, thread_name_prefix="reader")

    async def read(self, work: Callable[[ReadContext], _T]) -> _T:
        """Run a read function on a thread.

        A cancelled caller does not wait for its end; what the function awaits is cancelled too.
        """
        loop = asyncio.get_running_loop()
        bridge = _LoopBridge(loop)
        call = partial(self._run, work, bridge.wait_for)
        try:
            return await loop.run_in_executor(self._threads, call)
        except asyncio.CancelledError:
            bridge.cancel()
            raise

    def close(self) -> None:
        """Close the connections; each thread ends with its current function."""
        self._is_open = False
        # Not waited for: a thread may itself be waiting for the event loop.
        self._threads.shutdown(wait=False, cancel_futures=True)
        self._close_idle()

    def _run(self, work: Callable[[ReadContext], _T], wait_for: _Wait) -> _T:
        reader = self._get_reader()
        try:
            with _translate_driver_errors(_BEGIN):
                reader.driver.execute(_BEGIN).close()
            return work(_FileReadContext(reader, wait_for))
        finally:
            reader.connection.rollback()
            # SQLAlchemy does not know of the transaction if the function only used the driver.
            reader.driver.rollback()
            self._idle.append(reader)
            if not self._is_open:
                self._close_idle()

    def _get_reader(self) -> _Reader:
        try:
            return self._idle.pop()
        except IndexError:
            with translate_connect_errors():
                connection = self._engine.connect()
            driver = connection.connection.driver_connection
            return _Reader(connection, cast("sqlite3.Connection", driver))

    def _close_idle(self) -> None:
        with suppress(IndexError):
            while True:
                self._idle.pop().connection.close()


class _LoopBridge:
    """Lets a thread await on the event loop until the thread's own caller is cancelled."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._cancelled = False
        self._awaited: Future[Any] | None = None

    def wait_for(self, awaitable: Awaitable[_W]) -> _W:
        future = asyncio.run_coroutine_threadsafe(_await(awaitable), self._loop)
        self._awaited = future
        if self._cancelled:
            future.cancel()
        return future.result()

    def cancel(self) -> None:
        self._cancelled = True
        if self._awaited is not None:
            self._awaited.cancel()


def event_loop_context(connection: Connection) -> ReadContext:
    """Context for ``AsyncConnection.run_sync``, whose statements wait on the event loop."""
    return ReadContext(connection, await_only)


def _open_reader(path: str, timeout: float, settings: Sequence[str]) -> sqlite3.Connection:
    connection = open_file(path, timeout=timeout, check_same_thread=False)
    for setting in settings:
        connection.execute(setting).close()
    return connection


async def _await(awaitable: Awaitable[_T]) -> _T:
    return await awaitable


@contextmanager
def _translate_driver_errors(statement: str) -> Generator[None]:
    """Turn the driver's errors into SQLAlchemy's, without the parameters."""
    try:
        yield
    except sqlite3.Error as error:
        raise DBAPIError.instance(statement, None, error, sqlite3.Error, hide_parameters=True) from error
