"""Translation of database driver errors."""

import sqlite3
from collections.abc import Generator
from contextlib import contextmanager

from sqlalchemy.engine import ExceptionContext
from sqlalchemy.exc import DBAPIError, InterfaceError, OperationalError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError

from core.errors.server import DatabaseFull, DatabaseUnavailable

# PostgreSQL's classes: connection lost, retry the transaction, out of resources, lock not
# available, shutting down or starting.
_TRANSIENT_STATES = ("08", "40", "53", "55P03", "57P")
_DISK_FULL_STATES = ("53100",)


@contextmanager
def translate_connect_errors() -> Generator[None]:
    """Connect inside: every failure becomes ``DatabaseUnavailable``."""
    try:
        yield
    except DBAPIError as error:
        raise _translate(error) or DatabaseUnavailable() from error
    except (OSError, PoolTimeoutError) as error:
        raise DatabaseUnavailable from error


def raise_on_timeout(context: ExceptionContext) -> None:
    """Listener of ``handle_error`` for a server that froze within a statement.

    The driver raises the built-in ``TimeoutError``, which code between statements may raise too.
    """
    if isinstance(context.original_exception, TimeoutError):
        context.is_disconnect = True
        raise DatabaseUnavailable from context.original_exception


@contextmanager
def translate_errors() -> Generator[None]:
    """Raise ``DatabaseUnavailable`` for a lost or locked database, ``DatabaseFull`` for a full one."""
    try:
        yield
    except ConnectionError as error:
        raise DatabaseUnavailable from error
    except DBAPIError as error:
        translation = _translate(error)
        if translation is None:
            raise
        raise translation from error


def _translate(error: DBAPIError) -> DatabaseUnavailable | None:
    """The error to raise; None if the statement is at fault, not the database."""
    state = str(getattr(error.orig, "sqlstate", None) or "")
    is_full = getattr(error.orig, "sqlite_errorcode", None) == sqlite3.SQLITE_FULL
    if is_full or state in _DISK_FULL_STATES:
        return DatabaseFull()
    is_lost = error.connection_invalidated or isinstance(error, OperationalError | InterfaceError)
    return DatabaseUnavailable() if is_lost or state.startswith(_TRANSIENT_STATES) else None
