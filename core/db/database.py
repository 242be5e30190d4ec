"""The connection to the database, SQLite or PostgreSQL, and its sessions."""

import time
from collections.abc import AsyncGenerator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import TypeVar

from sqlalchemy import Connection, event, text
from sqlalchemy.engine.interfaces import DBAPIConnection
from sqlalchemy.ext.asyncio import AsyncEngine, create_async_engine
from sqlalchemy.pool import ConnectionPoolEntry
from sqlmodel.ext.asyncio.session import AsyncSession

from core.db import sqlite
from core.db.errors import raise_on_timeout, translate_connect_errors, translate_errors
from core.db.read_pool import ReadContext, ReadPool, event_loop_context
from core.db.write_lock import WriteLock
from core.errors.server import DatabaseUnavailable
from core.settings import Settings

_T = TypeVar("_T")
_READ_ONLY = "agentex_read_only"
# For the turn and for others' locks together: then the caller is told to come again.
_LOCKED_SECONDS = 4.0
# A turn that came so soon leaves all of it.
_SOON_SECONDS = 0.5
_LEAST_SECONDS = 0.2

LOCK_SECONDS = "agentex_lock_seconds"
"""Execution option: how long a transaction that writes waits for others' locks."""

# No statement of ours takes this long; a server that froze does.
_COMMAND_SECONDS = 60
# A server that does not answer, or connections that nobody gives back, must not hold a request.
_CONNECT_SECONDS = 4


class Database:
    """One engine per process and the two kinds of session on it.

    Args:
        url: SQLAlchemy URL with an async driver (``sqlite+aiosqlite`` or ``postgresql+asyncpg``).
    """

    def __init__(self, url: str) -> None:
        self.is_sqlite = url.startswith("sqlite")
        self.engine = _create_engine(url, self.is_sqlite)
        self._reading = self.engine.execution_options(**{_READ_ONLY: True})
        self._turn = WriteLock(_file_of(self.engine)) if self.is_sqlite else None
        file = _file_of(self.engine) if self.is_sqlite else None
        self._readers = None if file is None else ReadPool(file, _LOCKED_SECONDS)

    @asynccontextmanager
    async def reading(self) -> AsyncGenerator[AsyncSession]:
        """A short session that only reads; it takes no write lock.

        Raises:
            DatabaseUnavailable: the database can't be reached or stays locked.
        """
        with translate_errors():
            async with AsyncSession(self._reading, expire_on_commit=False) as session:
                with translate_connect_errors():
                    await session.connection()
                yield session

    async def read(self, work: Callable[[ReadContext], _T]) -> _T:
        """Do all of some work that only reads, with one connection and no other task between.

        Of a file it is done on another thread, else on the event loop, between its statements: so
        it must not compute for long.

        Args:
            work: a plain function; what it returns is the answer.

        Raises:
            DatabaseUnavailable: the database can't be reached or stays locked.
        """
        with translate_errors():
            if self._readers is not None:
                return await self._readers.read(work)
            async with AsyncExitStack() as stack:
                with translate_connect_errors():
                    connection = await stack.enter_async_context(self._reading.connect())
                return await connection.run_sync(lambda inner: work(event_loop_context(inner)))

    @asynccontextmanager
    async def writing(
        self, *, urgent: bool = False, patience: float = _LOCKED_SECONDS
    ) -> AsyncGenerator[AsyncSession]:
        """A session inside one transaction: committed at the end, rolled back on an exception.

        Only the unit of work opens it.

        Args:
            urgent: where writers take turns (SQLite), whether to wait for one other at most.
            patience: seconds to wait for that turn and for others' locks together.

        Raises:
            DatabaseUnavailable: the database can't be reached or stays locked.
        """
        started = time.monotonic()
        async with self._write_turn(urgent, patience):
            left = patience - (time.monotonic() - started)
            with translate_errors():
                session = AsyncSession(self._waiting_for(left), expire_on_commit=False)
                async with session, session.begin():
                    with translate_connect_errors():
                        await session.connection()
                    yield session

    def _waiting_for(self, seconds: float) -> AsyncEngine:
        if self._turn is None or seconds > _LOCKED_SECONDS - _SOON_SECONDS:
            return self.engine
        return self.engine.execution_options(**{LOCK_SECONDS: max(seconds, _LEAST_SECONDS)})

    @asynccontextmanager
    async def _write_turn(self, urgent: bool, patience: float) -> AsyncGenerator[None]:
        if self._turn is None:
            yield
            return
        async with AsyncExitStack() as stack:
            try:
                await stack.enter_async_context(self._turn.taken(patience, urgent=urgent))
            except (TimeoutError, OSError) as error:
                raise DatabaseUnavailable from error
            yield

    async def ping(self) -> None:
        """Ask the database for one row.

        Raises:
            DatabaseUnavailable: it did not answer.
        """
        async with self.reading() as session:
            await (await session.connection()).execute(text("SELECT 1"))

    async def close(self) -> None:
        """Give back all connections."""
        await self.engine.dispose()
        if self._readers is not None:
            self._readers.close()
        if self._turn is not None:
            self._turn.close()


def open_database(settings: Settings) -> Database:
    """The database of these settings; the data folder is made for SQLite."""
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
        # Kept: each has a thread and four settings of its own, made anew at every burst otherwise.
        pool_size=15,
        max_overflow=0,
        connect_args={"timeout": _LOCKED_SECONDS, "async_creator_fn": sqlite.connect},
    )
    event.listen(engine.sync_engine, "begin", _begin_sqlite)
    return engine


def _file_of(engine: AsyncEngine) -> Path | None:
    """The file of a SQLite database; None for one that lives in memory."""
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
