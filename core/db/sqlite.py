"""A connection to SQLite that crosses to its thread once per statement.

The driver's own crosses four times (cursor, statement, rows, end of the cursor), and twice more for
a transaction that reads. Each crossing wakes two threads, which takes longer than most statements.
"""

import sqlite3
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import aiosqlite

_READS = "BEGIN"
_WAL = "PRAGMA journal_mode=WAL"
_PAUSE_SECONDS = 0.02
_SETTINGS = (
    # FULL: an acknowledged commit survives a power cut, not only a crash.
    "PRAGMA synchronous=FULL",
    "PRAGMA foreign_keys=ON",
)
_UNUSED_CHUNK = 64


def connect(path: str, *, timeout: float, check_same_thread: bool) -> "SqliteConnection":
    """What SQLAlchemy calls as ``async_creator_fn``; awaiting the answer opens the file.

    Args:
        path: the file.
        timeout: seconds to wait for another's lock.
        check_same_thread: whether only its own thread may close it.
    """

    opening = partial(open_file, path, timeout=timeout, check_same_thread=check_same_thread)
    return SqliteConnection(opening, _UNUSED_CHUNK)


def open_file(path: str, *, timeout: float, check_same_thread: bool) -> sqlite3.Connection:
    """A connection of Python's own driver with the settings of all of ours.

    Args:
        path: the file.
        timeout: seconds to wait for another's lock.
        check_same_thread: whether only its own thread may use it.

    Raises:
        sqlite3.Error: it can't be opened, or it stays locked.
    """
    # The driver's own transaction control starts too late for BEGIN IMMEDIATE.
    opened = sqlite3.connect(
        path, timeout=timeout, check_same_thread=check_same_thread, isolation_level=None
    )
    try:
        _enable_wal(opened, time.monotonic() + timeout)
        for setting in _SETTINGS:
            opened.execute(setting).close()
    except sqlite3.Error:
        opened.close()
        raise
    return opened


def _enable_wal(opened: sqlite3.Connection, deadline: float) -> None:
    """Write ahead; SQLite does not wait by itself where processes open a new file together."""
    while True:
        try:
            opened.execute(_WAL).close()
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode != sqlite3.SQLITE_BUSY or time.monotonic() > deadline:
                raise
            time.sleep(_PAUSE_SECONDS)
        else:
            return


class SqliteConnection(aiosqlite.Connection):
    """The driver's connection with other cursors, and without crossings that change nothing.

    A transaction that reads begins with its first statement and ends while nobody waits: what
    comes next on this connection waits in the same queue.

    Args:
        connector: opens the file, on the thread.
        iter_chunk_size: the driver's own.
    """

    def __init__(self, connector: Callable[[], sqlite3.Connection], iter_chunk_size: int) -> None:
        super().__init__(connector, iter_chunk_size)
        # It must not keep the process from ending.
        self._thread.daemon = True
        self._is_reading = False
        self._must_begin = False
        # Whether a statement was carried out since the last end of a transaction.
        self._is_used = False

    def __del__(self) -> None:
        """Close what a task left that was cancelled while it made the connection ready."""
        if self._connection is not None:
            self.stop()  # pyright: ignore[reportUnknownMemberType] # untyped in the driver

    # The driver's is a coroutine that is a context manager too; SQLAlchemy uses it as that.
    def cursor(self) -> "SqliteCursor":  # pyright: ignore[reportIncompatibleMethodOverride]
        """A cursor whose statements take one crossing each."""
        return SqliteCursor(self)

    def begin_reading(self) -> None:
        """Begin a transaction that only reads, together with the next statement."""
        self._is_reading = self._must_begin = True

    async def carry_out(
        self, work: Callable[[sqlite3.Connection], "StatementResult"]
    ) -> "StatementResult":
        """Do work with the connection on its thread."""
        must_begin, self._must_begin, self._is_used = self._must_begin, False, True
        begun = partial(_execute, self._conn, work, must_begin=must_begin)
        return await self._execute(begun)  # pyright: ignore[reportUnknownMemberType] # untyped in the driver

    async def commit(self) -> None:
        """Commit, if there is anything to commit."""
        if self._is_used:
            await super().commit()
        self._end()

    async def rollback(self) -> None:
        """Roll back, if there is anything to roll back."""
        if self._is_used and self._is_reading:
            self._tx.put_nowait((None, self._conn.rollback))  # pyright: ignore[reportUnknownMemberType] # a queue of the driver's
        elif self._is_used:
            await super().rollback()
        self._end()

    def _end(self) -> None:
        self._is_reading = self._must_begin = self._is_used = False


class StatementResult:
    """What is left of a statement.

    Args:
        cursor: that was used; it is closed when its rows are read.
    """

    def __init__(self, cursor: sqlite3.Cursor) -> None:
        self.description = cursor.description
        self.rows: list[Any] = cursor.fetchall() if self.description else []
        self.rowcount, self.lastrowid = cursor.rowcount, cursor.lastrowid
        cursor.close()


class SqliteCursor:
    """Has all rows when its statement is done; nothing is read a part at a time.

    Args:
        connection: whose cursor it is.
    """

    arraysize = 1
    description: Any = None
    rowcount = -1
    lastrowid: int | None = None

    def __init__(self, connection: SqliteConnection) -> None:
        self._connection = connection
        self._rows: list[Any] = []

    async def __aenter__(self) -> "SqliteCursor":
        """Nothing is to be opened."""
        return self

    async def execute(self, operation: str, parameters: Sequence[Any] = ()) -> None:
        """Carry out one statement."""
        if operation == _READS:
            self._connection.begin_reading()
            return
        await self._keep(
            lambda connection: StatementResult(connection.execute(operation, parameters))
        )

    async def executemany(self, operation: str, parameters: Sequence[Sequence[Any]]) -> None:
        """Carry out one statement with each of these."""
        await self._keep(
            lambda connection: StatementResult(connection.executemany(operation, parameters))
        )

    async def fetchall(self) -> list[Any]:
        """The rows that were not fetched yet."""
        rows, self._rows = self._rows, []
        return rows

    async def close(self) -> None:
        """Nothing is open any more."""

    async def _keep(self, work: Callable[[sqlite3.Connection], StatementResult]) -> None:
        outcome = await self._connection.carry_out(work)
        self.description, self._rows = outcome.description, outcome.rows
        self.rowcount, self.lastrowid = outcome.rowcount, outcome.lastrowid


def _execute(
    connection: sqlite3.Connection,
    work: Callable[[sqlite3.Connection], StatementResult],
    *,
    must_begin: bool,
) -> StatementResult:
    if must_begin:
        connection.execute(_READS)
    return work(connection)
