"""aiosqlite connection that switches to its thread once per statement.

aiosqlite's own switches four times (cursor, statement, rows, close), and twice more for a read
transaction. Each switch wakes two threads, which takes longer than most statements.
"""

import sqlite3
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import aiosqlite
from sqlalchemy import Dialect, FromClause
from sqlalchemy.dialects.sqlite.base import SQLiteCompiler

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
    """SQLAlchemy's ``async_creator_fn``; awaiting the result opens the file."""
    opening = partial(open_file, path, timeout=timeout, check_same_thread=check_same_thread)
    return SqliteConnection(opening, _UNUSED_CHUNK)


def open_file(path: str, *, timeout: float, check_same_thread: bool) -> sqlite3.Connection:
    """A connection of Python's own driver with the settings that all of ours have."""
    # The driver's own transaction control starts too late for BEGIN IMMEDIATE.
    opened = sqlite3.connect(path, timeout=timeout, check_same_thread=check_same_thread, isolation_level=None)
    try:
        _enable_wal(opened, time.monotonic() + timeout)
        for setting in _SETTINGS:
            opened.execute(setting).close()
    except sqlite3.Error:
        opened.close()
        raise
    return opened


def enable_hints(dialect: Dialect) -> None:
    """Compile the hints of tables (``Select.with_hint``), which SQLAlchemy leaves out for SQLite."""
    dialect.statement_compiler = _HintCompiler


class _HintCompiler(SQLiteCompiler):
    def get_from_hint_text(self, table: FromClause, text: str | None) -> str | None:
        return text


def _enable_wal(opened: sqlite3.Connection, deadline: float) -> None:
    """Switch to WAL; SQLite itself does not wait when processes open a new file together."""
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
    """aiosqlite's connection without thread switches that change nothing.

    A read transaction begins with its first statement, and nobody waits for its end: the next
    statement on this connection waits in the same queue.
    """

    def __init__(self, connector: Callable[[], sqlite3.Connection], iter_chunk_size: int) -> None:
        super().__init__(connector, iter_chunk_size)
        # The thread must not keep the process from ending.
        self._thread.daemon = True
        self._is_reading = False
        self._must_begin = False
        # Whether a statement was executed since the last transaction ended.
        self._is_used = False

    def __del__(self) -> None:
        """Stop the thread if a task was cancelled while it prepared the connection."""
        if self._connection is not None:
            self.stop()  # pyright: ignore[reportUnknownMemberType] # untyped in the driver

    # The driver's is a coroutine that is a context manager too; SQLAlchemy uses it as that.
    def cursor(self) -> "SqliteCursor":  # pyright: ignore[reportIncompatibleMethodOverride]
        return SqliteCursor(self)

    def begin_reading(self) -> None:
        """Begin a read transaction together with the next statement."""
        self._is_reading = self._must_begin = True

    async def run(self, work: Callable[[sqlite3.Connection], "StatementResult"]) -> "StatementResult":
        must_begin, self._must_begin, self._is_used = self._must_begin, False, True
        run = partial(_execute, self._conn, work, must_begin=must_begin)
        return await self._execute(run)  # pyright: ignore[reportUnknownMemberType] # untyped in the driver

    async def commit(self) -> None:
        if self._is_used:
            await super().commit()
        self._end()

    async def rollback(self) -> None:
        if self._is_used and self._is_reading:
            self._tx.put_nowait((None, self._conn.rollback))  # pyright: ignore[reportUnknownMemberType] # a queue of the driver's
        elif self._is_used:
            await super().rollback()
        self._end()

    def _end(self) -> None:
        self._is_reading = self._must_begin = self._is_used = False


class StatementResult:
    """Rows and facts of an executed statement; its cursor is read and closed."""

    def __init__(self, cursor: sqlite3.Cursor) -> None:
        self.description = cursor.description
        self.rows: list[Any] = cursor.fetchall() if self.description else []
        self.rowcount, self.lastrowid = cursor.rowcount, cursor.lastrowid
        cursor.close()


class SqliteCursor:
    """Cursor that fetches all rows with its statement."""

    arraysize = 1
    description: Any = None
    rowcount = -1
    lastrowid: int | None = None

    def __init__(self, connection: SqliteConnection) -> None:
        self._connection = connection
        self._rows: list[Any] = []

    async def __aenter__(self) -> "SqliteCursor":
        """Nothing to open."""
        return self

    async def execute(self, operation: str, parameters: Sequence[Any] = ()) -> None:
        if operation == _READS:
            self._connection.begin_reading()
            return
        await self._run(lambda connection: StatementResult(connection.execute(operation, parameters)))

    async def executemany(self, operation: str, parameters: Sequence[Sequence[Any]]) -> None:
        await self._run(lambda connection: StatementResult(connection.executemany(operation, parameters)))

    async def fetchall(self) -> list[Any]:
        rows, self._rows = self._rows, []
        return rows

    async def close(self) -> None:
        """Nothing is open."""

    async def _run(self, work: Callable[[sqlite3.Connection], StatementResult]) -> None:
        result = await self._connection.run(work)
        self.description, self._rows = result.description, result.rows
        self.rowcount, self.lastrowid = result.rowcount, result.lastrowid


def _execute(
    connection: sqlite3.Connection, work: Callable[[sqlite3.Connection], StatementResult], *, must_begin: bool
) -> StatementResult:
    if must_begin:
        connection.execute(_READS)
    return work(connection)
