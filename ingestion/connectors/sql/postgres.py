"""Rows of a query of a PostgreSQL server, read over a guarded connection."""

# asyncpg carries no types.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportMissingTypeStubs=false
# pyright: reportUnknownArgumentType=false

import asyncio
import ssl
from collections.abc import AsyncGenerator, Generator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from typing import Any

import asyncpg

from core.errors.requests import UrlNotAllowed
from core.outbound.guard import OutboundGuard
from ingestion.connectors.base import ReadFailure, SourceUnavailable, not_allowed
from ingestion.connectors.sql import failures
from ingestion.connectors.sql.metered_loop import MeteredLoop
from ingestion.connectors.sql.place import CONNECT_SECONDS, GRACE_SECONDS, DatabasePlace
from ingestion.connectors.sql.rows import MOST_ROW_BYTES, PAGE_ROWS, QueryColumn

# A page of the largest rows, and what the protocol puts around them.
_MOST_PAGE_BYTES = (PAGE_ROWS + 4) * MOST_ROW_BYTES
_CLOSE_SECONDS = 2.0
_BYTES = "bytea"


class PostgresReader:
    """A read-only transaction on a server that is trusted with nothing but its user's password."""

    def __init__(self, connection: Any, loop: MeteredLoop) -> None:  # noqa: ANN401
        self._connection = connection
        self._loop = loop

    async def columns(self, statement: str) -> list[QueryColumn]:
        """The columns of a statement, which is not run; raises ``SourceUnavailable``."""
        with _failures_named(self._loop):
            prepared = await self._connection.prepare(statement)
            return [QueryColumn(each.name, each.type.name == _BYTES) for each in prepared.get_attributes()]

    async def pages(self, statement: str) -> AsyncGenerator[Sequence[Sequence[Any]]]:
        """The rows of a statement, some at a time; raises ``SourceUnavailable``."""
        with _failures_named(self._loop):
            prepared = await self._connection.prepare(statement)
            cursor = await prepared.cursor()
        while True:
            self._loop.reset()
            with _failures_named(self._loop):
                rows = await cursor.fetch(PAGE_ROWS)
            if not rows:
                return
            yield rows


@asynccontextmanager
async def open_postgres(
    guard: OutboundGuard, place: DatabasePlace, credentials: Mapping[str, str]
) -> AsyncGenerator[PostgresReader]:
    """Connect and begin a transaction; raises ``SourceUnavailable``, also where the block takes too long."""
    if not credentials.get("username"):
        raise SourceUnavailable(failures.NO_CREDENTIALS)
    context = place.tls_context or False
    loop = MeteredLoop(guard, _MOST_PAGE_BYTES)
    try:
        async with asyncio.timeout(place.seconds + CONNECT_SECONDS + GRACE_SECONDS):
            with _failures_named(loop):
                connection = await _connect(loop, place, context, credentials)
            try:
                with _failures_named(loop):
                    await _begin(connection, place.seconds)
                yield PostgresReader(connection, loop)
            finally:
                # A server that does not say goodbye is not waited for.
                with suppress(Exception):
                    await connection.close(timeout=_CLOSE_SECONDS)
    except TimeoutError:
        raise SourceUnavailable(failures.TIMEOUT) from None


async def _connect(
    loop: MeteredLoop, place: DatabasePlace, context: ssl.SSLContext | bool, credentials: Mapping[str, str]
) -> Any:  # noqa: ANN401
    # Whatever is not given here, the library looks for in variables and files of the server's account.
    connecting = asyncpg.connect(
        loop=loop,
        host=place.host,
        port=place.port,
        user=credentials["username"],
        password=credentials.get("password", ""),
        database=place.database,
        ssl=context,
        direct_tls=False,
        service="",
        target_session_attrs="any",
        krbsrvname="",
        gsslib="gssapi",
        timeout=CONNECT_SECONDS,
        statement_cache_size=0,
        server_settings={"application_name": "Agentex"},
    )
    try:
        return await connecting
    except TimeoutError:
        raise SourceUnavailable(failures.NO_ANSWER) from None


async def _begin(connection: Any, seconds: float) -> None:  # noqa: ANN401
    await connection.transaction(readonly=True).start()
    milliseconds = int(seconds * 1000)
    # Texts of values must not depend on how a server is set up: they are what changes are seen by.
    for setting in (
        f"statement_timeout = {milliseconds}",
        "TimeZone = 'UTC'",
        "DateStyle = 'ISO, YMD'",
        "IntervalStyle = 'iso_8601'",
        "extra_float_digits = 1",
    ):
        await connection.execute(f"SET LOCAL {setting}")


@contextmanager
def _failures_named(loop: MeteredLoop) -> Generator[None]:
    """Say in our own words what went wrong with a call of the library: its own may hold data."""
    try:
        yield
    except SourceUnavailable:
        raise
    except UrlNotAllowed as error:
        raise SourceUnavailable(not_allowed(error)) from error
    except (asyncpg.PostgresError, asyncpg.InterfaceError) as error:
        raise SourceUnavailable(_failure(error, loop)) from None
    # It believes what servers say: with one that is none it fails in many ways.
    except Exception as error:  # noqa: BLE001
        raise SourceUnavailable(_connection_failure(error, loop)) from None


def _failure(error: Exception, loop: MeteredLoop) -> ReadFailure:
    if loop.is_exceeded:
        return failures.TOO_MUCH_DATA
    state = getattr(error, "sqlstate", None)
    # Errors of the client have no state, or one of class 08 or XX that it gives them itself.
    if not isinstance(error, asyncpg.PostgresError) or not isinstance(state, str) or state.startswith("08"):
        return failures.NO_ANSWER
    return failures.server_failure(state, str(error))


def _connection_failure(error: Exception, loop: MeteredLoop) -> ReadFailure:
    if loop.is_exceeded:
        return failures.TOO_MUCH_DATA
    if isinstance(error, ssl.SSLCertVerificationError):
        return failures.UNTRUSTED
    if isinstance(error, ConnectionError) and "rejected SSL upgrade" in str(error):
        return failures.NO_TLS
    return failures.NO_ANSWER
