"""The database's clock, which leases are measured by."""

from datetime import datetime

from sqlalchemy import text
from sqlmodel.ext.asyncio.session import AsyncSession

from core.db.types import utc_now

_OLDEST_WRITER = text(
    "SELECT coalesce(min(xact_start), clock_timestamp()) FROM pg_stat_activity "
    "WHERE datname = current_database() AND backend_xid IS NOT NULL"
)


async def database_now(session: AsyncSession) -> datetime:
    """Now by the database's clock, so that workers' clocks need not agree.

    SQLite is a file on one machine, whose clock is that of this process.
    """
    if session.get_bind().dialect.name == "sqlite":
        return utc_now()
    connection = await session.connection()
    return (await connection.execute(text("SELECT clock_timestamp()"))).scalar_one()


async def visible_until(session: AsyncSession) -> datetime:
    """A moment: rows dated before it by the database's clock are visible to the next reader.

    That is the start of the oldest uncommitted transaction that has written, or now. SQLite's
    writers follow one another, so nothing they date is older than what can be read already.
    """
    connection = await session.connection()
    if connection.dialect.name == "sqlite":
        return utc_now()
    return (await connection.execute(_OLDEST_WRITER)).scalar_one()
