"""Rows of a query of a MySQL or MariaDB server, read over a guarded connection.

PyMySQL blocks, so it runs in threads; it is given a socket that is connected already, and what it would take from a server
without asking (clear passwords, files, memory) is bounded here.
Source: https://dev.mysql.com/doc/dev/mysql-server/latest/PAGE_PROTOCOL.html
"""

# PyMySQL carries no types, and has no public way to read the character set of a column, nor to leave a result unread.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportMissingTypeStubs=false
# pyright: reportUnknownArgumentType=false, reportPrivateUsage=false, reportUnknownParameterType=false
# pyright: reportAttributeAccessIssue=false

import asyncio
import socket
import ssl
from collections.abc import AsyncGenerator, Callable, Generator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from typing import Any, NoReturn, TypeVar

import pymysql
from anyio import to_thread
from pymysql.connections import Connection
from pymysql.constants import CR, ER, FIELD_TYPE

from core.errors.requests import UrlNotAllowed
from core.outbound.guard import OutboundGuard
from ingestion.connectors.base import ReadFailure, SourceUnavailable, not_allowed
from ingestion.connectors.sql import failures
from ingestion.connectors.sql.mysql_failures import UNKNOWN_LOGIN, UNSAFE_LOGIN, mysql_failure
from ingestion.connectors.sql.place import CONNECT_SECONDS, GRACE_SECONDS, DatabasePlace
from ingestion.connectors.sql.rows import MOST_ROW_BYTES, PAGE_ROWS, QueryColumn

# A page of the largest rows, and what the protocol puts around them.
_MOST_PAGE_BYTES = (PAGE_ROWS + 4) * MOST_ROW_BYTES
# Greetings, and the descriptions of 4096 columns, which no table has more of.
_MOST_ANSWER_BYTES = 2**20
_BINARY_CHARSET = 63
_TEXTS_OR_BYTES = frozenset(
    {
        FIELD_TYPE.VARCHAR,
        FIELD_TYPE.VAR_STRING,
        FIELD_TYPE.STRING,
        FIELD_TYPE.TINY_BLOB,
        FIELD_TYPE.MEDIUM_BLOB,
        FIELD_TYPE.LONG_BLOB,
        FIELD_TYPE.BLOB,
    }
)
# Ways to log in that tell the server the password, or as good as that, as servers call them; and those that need a library
# of their own.
_UNSAFE_LOGINS = ("mysql_clear_password", "dialog")
_BROKEN_LOGINS = ("mysql_old_password",)
_UNKNOWN_LOGINS = ("client_ed25519",)
_Result = TypeVar("_Result")


class _TooMuchData(Exception):
    """The server sends more than may come."""


class _LoginRefused(Exception):
    """The server asks for a way to log in that is not used."""

    def __init__(self, failure: ReadFailure) -> None:
        super().__init__(failure.reason)
        self.failure = failure


class _MeteredConnection(Connection):
    """A connection of the library that takes a bounded number of bytes, and leaves results unread."""

    allowance = _MOST_ANSWER_BYTES

    def _read_bytes(self, num_bytes: int) -> bytes:
        self.allowance -= num_bytes
        if self.allowance < 0:
            self._force_close()
            raise _TooMuchData
        return super()._read_bytes(num_bytes)

    def columns(self, statement: str) -> list[QueryColumn]:
        """The columns of a statement that gives no rows."""
        self.allowance = _MOST_ANSWER_BYTES
        self.query(statement)
        return [QueryColumn(field.name, _is_binary(field), _form(field)) for field in self._result.fields]

    def start(self, statement: str) -> int:
        """Run a statement, and say how many columns come."""
        self.allowance = _MOST_ANSWER_BYTES
        self.query(statement, unbuffered=True)
        return len(self._result.fields)

    def page(self) -> list[Sequence[str | None]]:
        """The next rows of the statement; none at the end."""
        self.allowance = _MOST_PAGE_BYTES
        rows: list[Sequence[str | None]] = []
        while len(rows) < PAGE_ROWS and (row := self._result._read_rowdata_packet_unbuffered()):
            rows.append(row)
        return rows

    def leave(self) -> None:
        """Close the connection without reading what else would come."""
        if self._result is not None:
            self._result.unbuffered_active = False
        if self.open:
            self._force_close()


class MysqlReader:
    """A read-only transaction on a server that is trusted with nothing but its user's password.

    Args:
        line: the same connection as the library's, to cut it while a thread waits for it.
    """

    def __init__(self, connection: _MeteredConnection, line: socket.socket) -> None:
        self._connection = connection
        self._line = line

    async def columns(self, statement: str) -> list[QueryColumn]:
        """The columns of a statement, whose rows are not read; raises ``SourceUnavailable``."""
        return await self.call(lambda: self._connection.columns(f"{statement} LIMIT 0"))

    async def pages(self, statement: str) -> AsyncGenerator[Sequence[Sequence[Any]]]:
        """The rows of a statement, some at a time; raises ``SourceUnavailable``."""
        width = await self.call(lambda: self._connection.start(statement))
        while page := await self.call(self._connection.page):
            with _failures_named():
                rows = [_typed(row, width) for row in page]
            yield rows

    async def call(self, act: Callable[[], _Result]) -> _Result:
        """Run what blocks on a thread; when the caller is cancelled, the connection is cut, and the thread waited for."""
        task = asyncio.ensure_future(to_thread.run_sync(act))
        try:
            with _failures_named():
                return await asyncio.shield(task)
        finally:
            if not task.done():
                with suppress(OSError):
                    self._line.shutdown(socket.SHUT_RDWR)
                await asyncio.wait({task})
                # Nobody else asks for it.
                task.exception()


@asynccontextmanager
async def open_mysql(
    guard: OutboundGuard, place: DatabasePlace, credentials: Mapping[str, str]
) -> AsyncGenerator[MysqlReader]:
    """Connect and begin a transaction; raises ``SourceUnavailable``, also where the block takes too long."""
    if not credentials.get("username"):
        raise SourceUnavailable(failures.NO_CREDENTIALS)
    connection = _connection(place, credentials)
    try:
        async with asyncio.timeout(place.seconds + CONNECT_SECONDS + GRACE_SECONDS):
            sock = await _connected(guard, place)
            # The library's own may become another one, with TLS.
            with sock, sock.dup() as line:
                reader = MysqlReader(connection, line)
                try:
                    await _log_in(reader, connection, sock)
                    await reader.call(lambda: _begin(connection, place.seconds))
                    yield reader
                finally:
                    connection.leave()
    except TimeoutError:
        raise SourceUnavailable(failures.TIMEOUT) from None


def _refuse_login(failure: ReadFailure) -> Callable[[Connection], NoReturn]:
    def refuse(_: Connection) -> NoReturn:
        raise _LoginRefused(failure)

    return refuse


def _connection(place: DatabasePlace, credentials: Mapping[str, str]) -> _MeteredConnection:
    context = place.tls_context
    # A verified server may have the password itself.
    unsafe = _BROKEN_LOGINS if place.tls == "verify" else (*_BROKEN_LOGINS, *_UNSAFE_LOGINS)
    refused = {**dict.fromkeys(unsafe, UNSAFE_LOGIN), **dict.fromkeys(_UNKNOWN_LOGINS, UNKNOWN_LOGIN)}
    return _MeteredConnection(
        host=place.host,
        port=place.port,
        user=credentials["username"],
        # As bytes, because the library would write texts in Latin-1.
        password=credentials.get("password", "").encode(),
        database=place.database,
        charset="utf8mb4",
        ssl=context,
        ssl_disabled=context is None,
        local_infile=False,
        autocommit=None,
        conv={},
        auth_plugin_map={name: _refuse_login(failure) for name, failure in refused.items()},
        # The time of the whole is over before.
        read_timeout=place.seconds + 2 * (CONNECT_SECONDS + GRACE_SECONDS),
        write_timeout=CONNECT_SECONDS,
        program_name="Agentex",
        defer_connect=True,
    )


async def _connected(guard: OutboundGuard, place: DatabasePlace) -> socket.socket:
    """A socket to the first address of the place that accepts it."""
    with _failures_named():
        addresses = await guard.resolve(place.host, place.port)
        for address in addresses:
            sock = socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET)
            sock.setblocking(False)
            try:
                async with asyncio.timeout(CONNECT_SECONDS):
                    await asyncio.get_running_loop().sock_connect(sock, (address, place.port))
            except (OSError, TimeoutError):
                sock.close()
                continue
            except BaseException:
                sock.close()
                raise
            sock.setblocking(True)
            return sock
    raise SourceUnavailable(failures.NO_ANSWER)


async def _log_in(reader: MysqlReader, connection: _MeteredConnection, sock: socket.socket) -> None:
    try:
        async with asyncio.timeout(CONNECT_SECONDS):
            await reader.call(lambda: connection.connect(sock))
    except TimeoutError:
        raise SourceUnavailable(failures.NO_ANSWER) from None


def _begin(connection: _MeteredConnection, seconds: float) -> None:
    is_mariadb = "mariadb" in connection.server_version.lower()
    limit = f"max_statement_time = {seconds}" if is_mariadb else f"max_execution_time = {int(seconds * 1000)}"
    try:
        connection.query(f"SET SESSION {limit}")
    except pymysql.MySQLError as error:
        # Servers before MySQL 5.7.8 and MariaDB 10.1 know no limit; ours ends the query.
        if error.args[0] != ER.UNKNOWN_SYSTEM_VARIABLE:
            raise
    # Texts of times must not depend on how a server is set up: they are what changes are seen by.
    connection.query("SET SESSION time_zone = '+00:00'")
    connection.query("START TRANSACTION READ ONLY")


def _is_binary(field: Any) -> bool:  # noqa: ANN401
    is_bytes = field.type_code in _TEXTS_OR_BYTES and field.charsetnr == _BINARY_CHARSET
    return is_bytes or field.type_code == FIELD_TYPE.GEOMETRY


def _form(field: Any) -> str:  # noqa: ANN401
    # A cast of a text beyond the server's max_allowed_packet is NULL, and would be taken for an empty one.
    if field.type_code in _TEXTS_OR_BYTES:
        return "{}"
    return "CAST({} + 0 AS CHAR)" if field.type_code == FIELD_TYPE.BIT else ""


def _typed(row: Sequence[str | None], width: int) -> list[str | int | None]:
    """A row of the statement as it was asked for: texts, and the size."""
    *texts, size = row
    if len(row) != width or size is None or any(isinstance(text, bytes) for text in texts):
        raise ValueError
    return [*texts, int(size)]


@contextmanager
def _failures_named() -> Generator[None]:
    """Say in our own words what went wrong with a call of the library: its own may hold data."""
    try:
        yield
    except (SourceUnavailable, TimeoutError):
        raise
    except UrlNotAllowed as error:
        raise SourceUnavailable(not_allowed(error)) from error
    except _TooMuchData:
        _refuse(failures.TOO_MUCH_DATA)
    except _LoginRefused as error:
        _refuse(error.failure)
    except pymysql.MySQLError as error:
        _refuse(_failure(error))
    # It believes what servers say: with one that is none it fails in many ways.
    except Exception:  # noqa: BLE001
        _refuse(failures.NO_ANSWER)


def _refuse(failure: ReadFailure) -> NoReturn:
    raise SourceUnavailable(failure) from None


def _failure(error: pymysql.MySQLError) -> ReadFailure:
    code, words = (*error.args, None, None)[:2]
    if isinstance(getattr(error, "original_exception", None), ssl.SSLCertVerificationError):
        return failures.UNTRUSTED
    if code == CR.CR_SSL_CONNECTION_ERROR:
        return failures.NO_TLS
    return mysql_failure(code, str(words)) if isinstance(code, int) else failures.NO_ANSWER
