"""What errors of the database drivers say about the database."""

import sqlite3
from collections.abc import Generator
from contextlib import contextmanager

from sqlalchemy.engine import ExceptionContext
from sqlalchemy.exc import DBAPIError, InterfaceError, OperationalError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError

from core.errors.server import DatabaseFull, DatabaseUnavailable

# PostgreSQL's classes for: connection lost, transaction to be repeated, out of resources, lock
# not to be had, shut down or starting.
_TRANSIENT_STATES = ("08", "40", "53", "55P03", "57P")
_DISK_FULL_STATES = ("53100",)


@contextmanager
def translate_connect_errors() -> Generator[None]:
    """Take a connection in here: whatever goes wrong means that there is none.

    Raises:
        DatabaseUnavailable: instead of what went wrong.
    """
    try:
        yield
    except DBAPIError as error:
        raise _translate(error) or DatabaseUnavailable() from error
    except (OSError, PoolTimeoutError) as error:
        raise DatabaseUnavailable from error


def raise_on_timeout(context: ExceptionContext) -> None:
    """Name a server that took a statement and then stood still: a listener of ``handle_error``.

    The driver says it with the language's own error, which any code between statements may raise
    about something else.

    Raises:
        DatabaseUnavailable: instead of that; the connection is given up.
    """
    if isinstance(context.original_exception, TimeoutError):
        context.is_disconnect = True
        raise DatabaseUnavailable from context.original_exception


@contextmanager
def translate_errors() -> Generator[None]:
    """Turn a lost, locked or full database into the error that callers know.

    Raises:
        DatabaseUnavailable: it is lost or locked.
        DatabaseFull: there is no room.
    """
    try:
        yield
    except ConnectionError as error:
        raise DatabaseUnavailable from error
    except DBAPIError as error:
        fault = _translate(error)
        if fault is None:
            raise
        raise fault from error


def _translate(error: DBAPIError) -> DatabaseUnavailable | None:
    """What an error of the driver says about the database; None when it is about the statement."""
    state = str(getattr(error.orig, "sqlstate", None) or "")
    is_full = getattr(error.orig, "sqlite_errorcode", None) == sqlite3.SQLITE_FULL
    if is_full or state in _DISK_FULL_STATES:
        return DatabaseFull()
    is_lost = error.connection_invalidated or isinstance(error, OperationalError | InterfaceError)
    return DatabaseUnavailable() if is_lost or state.startswith(_TRANSIENT_STATES) else None
