"""Revocation of access when an account gets another holder."""

from sqlalchemy import delete, update
from sqlmodel import col
from sqlmodel.ext.asyncio.session import AsyncSession

from agents.calendar.models import CalendarFeed
from agents.mcp.models import McpConnection
from agents.tool_policies.models import ChosenPolicy


async def revoke_access(session: AsyncSession, user_id: str) -> None:
    """Delete the calendar feed and tool policies, and disable MCP connections.

    The former holder could read the feed without login and receive data of runs through
    connections. What the account owns and shares stays visible to its new holder.
    """
    await session.exec(delete(CalendarFeed).where(col(CalendarFeed.owner_id) == user_id))
    await session.exec(delete(ChosenPolicy).where(col(ChosenPolicy.owner_id) == user_id))
    await session.exec(
        update(McpConnection)
        .where(col(McpConnection.owner_id) == user_id)
        .values(enabled=False, version=McpConnection.version + 1)
    )
