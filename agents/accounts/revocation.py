"""What an account's former holder could go on acting and listening by, once it is somebody else's."""

from sqlalchemy import delete, update
from sqlmodel import col
from sqlmodel.ext.asyncio.session import AsyncSession

from agents.calendar.models import CalendarFeed
from agents.mcp.models import McpConnection
from agents.tool_policies.models import ChosenPolicy


async def revoke_access(session: AsyncSession, user_id: str) -> None:
    """End a calendar's feed and free use of tools, and switch MCP connections off.

    The feed's address needs no login; a run sends what it works on to the connections of its
    account, and calls tools unasked where that was chosen. What the account owns and with whom it is
    shared stays, in plain sight of its new holder.
    """
    await session.exec(delete(CalendarFeed).where(col(CalendarFeed.owner_id) == user_id))
    await session.exec(delete(ChosenPolicy).where(col(ChosenPolicy.owner_id) == user_id))
    await session.exec(
        update(McpConnection)
        .where(col(McpConnection.owner_id) == user_id)
        .values(enabled=False, version=McpConnection.version + 1)
    )
