"""The connector of rows that a query of an SQLite file gives."""

import os
import sqlite3
import stat
import threading
import time
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing, closing
from pathlib import Path
from typing import ClassVar

from anyio import to_thread
from pydantic import Field

from core.errors.requests import InvalidRequest
from ingestion.connectors.base import (
    ConnectorCredentials,
    ConnectorEnvironment,
    ConnectorSettings,
    ReadFailure,
    SourceItem,
    SourceUnavailable,
)
from ingestion.connectors.folder import allowed_location, open_below
from ingestion.connectors.sql import failures
from ingestion.connectors.sql.rows import MOST_ROW_BYTES, PAGE_ROWS, QueryColumn, QuerySettings, RowCollector
from ingestion.connectors.sql.statement import SQLITE, columns_statement

# So many steps of SQLite's machine take about a millisecond.
_STEPS = 10_000
_LONGEST_VALUE = 16 * MOST_ROW_BYTES
_LOCKED_SECONDS = 5.0
_READING = frozenset({sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_FUNCTION, sqlite3.SQLITE_RECURSIVE})


class SqliteSettings(QuerySettings):
    """Settings of a query of an SQLite file, whose rows become documents told apart by ``key_columns``.

    Without ``content_columns`` and ``template``, in which ``{name}`` stands for a column, all columns are read but the
    title and the fingerprint. Without ``fingerprint_column`` a row has changed if its document would. ``format`` is
    that of long texts.
    """

    path: str = Field(min_length=1, max_length=1000)

    @property
    def place(self) -> str:
        return self.path


class SqliteConnector:
    """Reads the rows of one query of a file in a folder that the operator allows."""

    NAME: ClassVar[str] = "sqlite"
    SETTINGS: ClassVar[type[ConnectorSettings]] = SqliteSettings
    CREDENTIALS: ClassVar[type[ConnectorCredentials] | None] = None
    ADMINISTRATORS_ONLY: ClassVar[bool] = True
    LISTS_EVERYTHING: ClassVar[bool] = True

    def __init__(self, settings: SqliteSettings, environment: ConnectorEnvironment) -> None:
        self._settings = settings
        self._environment = environment
        self._rows = RowCollector(settings, environment, SQLITE)
        self.is_cut = False

    async def check(self) -> None:
        self._settings.check_query()
        try:
            await to_thread.run_sync(self._locate)
        except OSError as error:
            raise InvalidRequest(
                "settings.path",
                f"The server can't open this file: {error.strerror}",
                f"服务器无法打开该文件：{error.strerror}",
            ) from error

    async def items(self) -> AsyncGenerator[SourceItem]:
        await self._rows.open()
        is_over = threading.Event()
        try:
            await to_thread.run_sync(self._read_rows, is_over, abandon_on_cancel=True)
        finally:
            # A thread that nobody waits for any more stops at its next look.
            is_over.set()
        async with aclosing(self._rows.items()) as items:
            async for item in items:
                yield item

    async def read(self, item: SourceItem) -> AsyncGenerator[bytes]:
        async with aclosing(self._rows.read(item)) as blocks:
            async for block in blocks:
                yield block

    def _locate(self) -> Path:
        """The file, which no link leads to; raises ``InvalidRequest`` or ``OSError``."""
        allowed, parts = allowed_location(self._settings.path, self._environment.folders)
        path = allowed.joinpath(*parts)
        hidden = self._environment.hidden_folder.resolve()
        if not parts or hidden in path.resolve().parents:
            raise InvalidRequest("settings.path", "Give the path of an SQLite file", "请填写 SQLite 文件的路径")
        root = os.open(allowed, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        with open_below(root, parts[:-1]) as folder:
            if not stat.S_ISREG(os.stat(parts[-1], dir_fd=folder, follow_symlinks=False).st_mode):
                raise InvalidRequest("settings.path", "Give the path of an SQLite file", "请填写 SQLite 文件的路径")
        return path

    def _read_rows(self, is_over: threading.Event) -> None:
        try:
            path = self._locate()
            with closing(_open(path, self._settings.timeout_seconds, is_over)) as connection:
                described = connection.execute(f"{columns_statement(self._settings.query)} LIMIT 0")
                columns = [QueryColumn(str(column[0])) for column in described.description]
                rows = connection.execute(self._rows.statement(columns))
                while page := rows.fetchmany(PAGE_ROWS):
                    self._rows.keep(page)
        except InvalidRequest as error:
            raise SourceUnavailable(_not_allowed(error)) from error
        except OSError as error:
            raise SourceUnavailable(_UNREADABLE) from error
        except sqlite3.Error as error:
            raise SourceUnavailable(_failure(error)) from None


def _open(path: Path, seconds: float, is_over: threading.Event) -> sqlite3.Connection:
    """A connection that may only read, and only for some time."""
    connection = sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True, timeout=_LOCKED_SECONDS, isolation_level=None)
    deadline = time.monotonic() + seconds

    def is_to_stop() -> bool:
        return is_over.is_set() or time.monotonic() > deadline

    def authorize(action: int, *_: object) -> int:
        return sqlite3.SQLITE_OK if action in _READING else sqlite3.SQLITE_DENY

    connection.text_factory = _decode
    connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _LONGEST_VALUE)
    connection.set_progress_handler(is_to_stop, _STEPS)
    connection.set_authorizer(authorize)
    return connection


def _decode(value: bytes) -> str:
    return value.decode(errors="replace").replace("\x00", "\N{REPLACEMENT CHARACTER}")


_UNREADABLE = ReadFailure(
    "unreadable",
    "The server can't read the file",
    "服务器无法读取该文件",
    "See that it is there, and that the account which runs Agentex may read it",
    "请确认它存在，且运行 Agentex 的账户有读取权限",
)
_NO_SQLITE = ReadFailure(
    "no_sqlite",
    "The file is no SQLite database, or it is damaged",
    "该文件不是 SQLite 数据库，或已损坏",
    "Name the file of the database itself; check it with PRAGMA integrity_check",
    "请填写数据库文件本身，并用 PRAGMA integrity_check 检查",
)
_LOCKED = ReadFailure(
    "busy",
    "Another program holds the database locked",
    "其他程序正在锁定该数据库",
    "Nothing: the next sync tries again",
    "无需操作：下次同步会重试",
)
_BY_NAME: Mapping[str, ReadFailure] = {
    "SQLITE_INTERRUPT": failures.TIMEOUT,
    "SQLITE_NOTADB": _NO_SQLITE,
    "SQLITE_CORRUPT": _NO_SQLITE,
    "SQLITE_BUSY": _LOCKED,
    "SQLITE_LOCKED": _LOCKED,
    "SQLITE_CANTOPEN": _UNREADABLE,
    "SQLITE_AUTH": failures.WRITES,
    "SQLITE_READONLY": failures.WRITES,
    "SQLITE_TOOBIG": failures.TOO_MUCH_DATA,
}


def _failure(error: sqlite3.Error) -> ReadFailure:
    name = getattr(error, "sqlite_errorname", "SQLITE_ERROR")
    if name in _BY_NAME:
        return _BY_NAME[name]
    words = str(error)
    # Of the errors of a query these are about its words; others may hold a row's data.
    if words == "not authorized":
        return failures.WRITES
    if words.startswith("no such table"):
        return failures.query_failure("no_table", words)
    if words.startswith("no such column"):
        return failures.query_failure("no_column", words)
    if words.startswith('near ";"'):
        return failures.SEVERAL_STATEMENTS
    if words.startswith(("near ", "no such ", "ambiguous ", "wrong number of ", "misuse of ")):
        return failures.query_failure("wrong_query", words)
    return failures.query_failure("wrong_query", name)


def _not_allowed(error: InvalidRequest) -> ReadFailure:
    return ReadFailure(
        "not_allowed",
        str(error.details.get("error", "")),
        str(error.details.get("error_zh", "")),
        "Ask your operator",
        "请联系管理员",
    )
