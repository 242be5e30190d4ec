"""Database facade: engine, sessions and read functions on SQLite or PostgreSQL."""

import asyncio
import time
from collections.abc import AsyncGenerator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import TypeVar

from sqlalchemy import Connection, event, text
from sqlalchemy.engine.interfaces import DBAPIConnection
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine, create_async_engine
from sqlalchemy.pool import ConnectionPoolEntry, QueuePool
from sqlmodel.ext.asyncio.session import AsyncSession

from core.db import sqlite
from core.db.errors import raise_on_timeout, translate_connect_errors, translate_errors
from core.db.read_pool import ReadContext, ReadPool, event_loop_context
from core.db.write_lock import WriteLock
from core.errors.server import DatabaseUnavailable
from core.settings import Settings

_T = TypeVar("_T")
_READ_ONLY = "agentex_read_only"
# For the write lock and SQLite's own locks together; after that the caller gets an error to retry on.
_LOCKED_SECONDS = 4.0
# A write lock that came this soon leaves all of it.
_SOON_SECONDS = 0.5
_LEAST_SECONDS = 0.2

LOCK_SECONDS = "agentex_lock_seconds"
"""Execution option: how long a write transaction waits for locks."""

# No statement of ours takes this long; a frozen server does.
_COMMAND_SECONDS = 60
# A silent server or an exhausted pool must not hold a request for longer.
_CONNECT_SECONDS = 4
# The functions also compute, which more threads would not speed up.
_MOST_READERS = 8
_MOST_LOOKUPS = 4
# Together a second.
_LAST_SESSIONS_CHECKS, _LAST_SESSIONS_PAUSE = 100, 0.01


class Database:
    """One engine per process and the two kinds of session on it, by a SQLAlchemy URL with an async driver."""

    def __init__(self, url: str) -> None:
        self.is_sqlite = url.startswith("sqlite")
        self.engine = _create_engine(url, self.is_sqlite)
        self._reading = self.engine.execution_options(**{_READ_ONLY: True})
        self._write_lock = WriteLock(_file_of(self.engine)) if self.is_sqlite else None
        file = _file_of(self.engine) if self.is_sqlite else None
        self._read_pool = self._lookup_pool = None
        if file is not None:
            self._read_pool = ReadPool(file, _LOCKED_SECONDS, most_threads=_MOST_READERS, is_mapped=True)
            self._lookup_pool = ReadPool(file, _LOCKED_SECONDS, most_threads=_MOST_LOOKUPS, is_mapped=False)

    @asynccontextmanager
    async def reading(self) -> AsyncGenerator[AsyncSession]:
        """A short session that only reads."""
        with translate_errors():
            async with AsyncSession(self._reading, expire_on_commit=False) as session:
                with translate_connect_errors():
                    await session.connection()
                yield session

    @asynccontextmanager
    async def snapshot(self) -> AsyncGenerator[AsyncConnection]:
        """A connection whose statements all see one state, for as long as it is open; no writer waits for it.

        Meanwhile SQLite's write-ahead log can't be shortened, and PostgreSQL keeps replaced rows.
        """
        engine = self._reading
        if not self.is_sqlite:
            engine = engine.execution_options(isolation_level="REPEATABLE READ", postgresql_readonly=True)
        with translate_errors():
            async with AsyncExitStack() as stack:
                with translate_connect_errors():
                    connection = await stack.enter_async_context(engine.connect())
                    await stack.enter_async_context(connection.begin())
                    # The state is that of the first statement that reads a table.
                    catalogue = "sqlite_master" if self.is_sqlite else "pg_catalog.pg_class"
                    await connection.execute(text(f"SELECT 1 FROM {catalogue} LIMIT 1"))  # noqa: S608 - of these two
                yield connection

    async def read(self, work: Callable[[ReadContext], _T]) -> _T:
        """Run a plain function that only reads, with one connection.

        For a SQLite file it runs on a thread, otherwise on the event loop between its statements,
        so it must not compute for long.
        """
        return await self._read(self._read_pool, work)

    async def look_up(self, work: Callable[[ReadContext], _T]) -> _T:
        """Run a plain function that only reads a few rows by their keys, and waits for nothing else.

        Its threads are others than those of ``read``: an authentication must not wait for searches.
        """
        return await self._read(self._lookup_pool, work)

    async def _read(self, pool: ReadPool | None, work: Callable[[ReadContext], _T]) -> _T:
        with translate_errors():
            if pool is not None:
                return await pool.read(work)
            async with AsyncExitStack() as stack:
                with translate_connect_errors():
                    connection = await stack.enter_async_context(self._reading.connect())
                return await connection.run_sync(lambda inner: work(event_loop_context(inner)))

    @asynccontextmanager
    async def writing(self, *, urgent: bool = False, patience: float = _LOCKED_SECONDS) -> AsyncGenerator[AsyncSession]:
        """A session inside one transaction: committed at the end, rolled back on an exception.

        Only the unit of work opens it.

        Args:
            urgent: on SQLite, wait for at most one other writer of this process.
            patience: seconds to wait for the write lock and SQLite's own locks together.
        """
        started = time.monotonic()
        async with self._hold_write_lock(urgent, patience):
            left = patience - (time.monotonic() - started)
            with translate_errors():
                session = AsyncSession(self._waiting_for(left), expire_on_commit=False)
                async with session, session.begin():
                    with translate_connect_errors():
                        await session.connection()
                    yield session

    def _waiting_for(self, seconds: float) -> AsyncEngine:
        if self._write_lock is None or seconds > _LOCKED_SECONDS - _SOON_SECONDS:
            return self.engine
        return self.engine.execution_options(**{LOCK_SECONDS: max(seconds, _LEAST_SECONDS)})

    @asynccontextmanager
    async def _hold_write_lock(self, urgent: bool, patience: float) -> AsyncGenerator[None]:
        if self._write_lock is None:
            yield
            return
        async with AsyncExitStack() as stack:
            try:
                await stack.enter_async_context(self._write_lock.acquire(patience, urgent=urgent))
            except (TimeoutError, OSError) as error:
                raise DatabaseUnavailable from error
            yield

    async def ping(self) -> None:
        async with self.reading() as session:
            await (await session.connection()).execute(text("SELECT 1"))

    async def close(self) -> None:
        """Close all connections; sessions that are about to end are waited for, others lose theirs."""
        await self._wait_for_sessions()
        await self.engine.dispose()
        for pool in (self._read_pool, self._lookup_pool):
            if pool is not None:
                pool.close()
        if self._write_lock is not None:
            self._write_lock.close()

    async def _wait_for_sessions(self) -> None:
        pool = self.engine.pool
        for _ in range(_LAST_SESSIONS_CHECKS):
            if not isinstance(pool, QueuePool) or not pool.checkedout():
                break
            await asyncio.sleep(_LAST_SESSIONS_PAUSE)


def open_database(settings: Settings) -> Database:
    """The database of the settings; creates the data folder for SQLite."""
    if settings.database_url is None:
        settings.data_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
    return Database(settings.effective_database_url)


def _create_engine(url: str, is_sqlite: bool) -> AsyncEngine:
    # Parameters are document text, names and hashes: an error must not carry them into a log.
    if not is_sqlite:
        engine = create_async_engine(
            url,
            hide_parameters=True,
            pool_pre_ping=True,
            pool_size=10,
            max_overflow=20,
            pool_timeout=_CONNECT_SECONDS,
            connect_args={"timeout": _CONNECT_SECONDS, "command_timeout": _COMMAND_SECONDS},
        )
        event.listen(engine.sync_engine, "connect", _limit_locks)
        event.listen(engine.sync_engine, "handle_error", raise_on_timeout)
        return engine
    engine = create_async_engine(
        url,
        hide_parameters=True,
        # Kept: each has a thread and four pragmas, which every burst would set up again.
        pool_size=15,
        max_overflow=0,
        connect_args={"timeout": _LOCKED_SECONDS, "async_creator_fn": sqlite.connect},
    )
    sqlite.enable_hints(engine.dialect)
    event.listen(engine.sync_engine, "begin", _begin_sqlite)
    return engine


def _file_of(engine: AsyncEngine) -> Path | None:
    """The file of a SQLite database; None for one in memory."""
    name = engine.url.database
    return Path(name) if name and name != ":memory:" else None


def _begin_sqlite(connection: Connection) -> None:
    options = connection.get_execution_options()
    if options.get(_READ_ONLY, False):
        connection.exec_driver_sql("BEGIN")
        return
    seconds = options.get(LOCK_SECONDS)
    if seconds is not None:
        _wait_for_locks(connection, seconds)
    try:
        # A writer that starts as a reader can fail half way when another writer was faster.
        connection.exec_driver_sql("BEGIN IMMEDIATE")
    finally:
        if seconds is not None:
            _wait_for_locks(connection, _LOCKED_SECONDS)


def _wait_for_locks(connection: Connection, seconds: float) -> None:
    connection.exec_driver_sql(f"PRAGMA busy_timeout={round(1000 * seconds)}")


def _limit_locks(connection: DBAPIConnection, _record: ConnectionPoolEntry) -> None:
    # Set here and not as a parameter of the connection: poolers refuse those that they don't know.
    cursor = connection.cursor()
    cursor.execute(f"SET lock_timeout = {round(1000 * _LOCKED_SECONDS)}")
    cursor.close()
    # It began a transaction, whose end would take this back.
    connection.commit()
