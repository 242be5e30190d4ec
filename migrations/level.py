"""How far a database is, for who only looks: without Alembic, which takes a second to load."""

import sqlite3
from contextlib import closing
from pathlib import Path

from sqlalchemy import text
from sqlalchemy.exc import DBAPIError

from core.db.database import Database

_VERSIONS = Path(__file__).parent / "versions"
_ASK = "SELECT version_num FROM alembic_version"
# PostgreSQL's state for a table that is not there.
_NO_TABLE = "42P01"


def revisions() -> list[str]:
    """The migrations of this version, oldest first."""
    return sorted(path.name.partition("_")[0] for path in _VERSIONS.glob("[0-9]*.py"))


async def schema_revision(database: Database) -> str | None:
    """The migration of a database on a server; None before the first one. Nothing is changed.

    Raises:
        DatabaseUnavailable: it can't be reached.
        DBAPIError: it does not let us look.
    """
    async with database.reading() as session:
        connection = await session.connection()
        try:
            rows = await connection.execute(text(_ASK))
        except DBAPIError as error:
            if getattr(error.orig, "sqlstate", None) != _NO_TABLE:
                raise
            return None
        return rows.scalar_one_or_none()


def file_schema_revision(path: Path) -> str | None:
    """The migration of a SQLite database; None before the first one. No file is made or changed.

    Raises:
        sqlite3.Error: it can't be opened, is none, or is damaged.
    """
    # As a URL, because only so SQLite opens a file without making it.
    with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as file:
        try:
            row = file.execute(_ASK).fetchone()
        except sqlite3.OperationalError as error:
            if not str(error).startswith("no such table"):
                raise
            return None
    return row[0] if row else None
