"""The clock that leases are measured by."""

from datetime import datetime

from sqlalchemy import text
from sqlmodel.ext.asyncio.session import AsyncSession

from core.database.types import utc_now


async def database_now(session: AsyncSession) -> datetime:
    """The moment by the database's clock, which all processes share.

    Workers on several machines need no clocks that agree. SQLite is a file on one machine: its
    clock is that of this process.
    """
    connection = await session.connection()
    if connection.dialect.name == "sqlite":
        return utc_now()
    return (await connection.execute(text("SELECT clock_timestamp()"))).scalar_one()
