"""How far a database is, for who only looks: without Alembic, which takes a second to load."""

from pathlib import Path

from sqlalchemy import text
from sqlalchemy.exc import DBAPIError

from core.database.engine import Database

_VERSIONS = Path(__file__).parent / "versions"


def revisions() -> list[str]:
    """The migrations of this version, oldest first."""
    return sorted(path.name.partition("_")[0] for path in _VERSIONS.glob("[0-9]*.py"))


async def level(database: Database) -> str | None:
    """A database's migration; None before the first one. Nothing is changed.

    Raises:
        DatabaseUnavailable: it can't be reached.
    """
    async with database.reading() as session:
        connection = await session.connection()
        try:
            rows = await connection.execute(text("SELECT version_num FROM alembic_version"))
        except DBAPIError:
            return None
        return rows.scalar_one_or_none()
