"""How many sessions and runs there are, counted by indexes alone."""

from sqlalchemy import func
from sqlmodel import select
from sqlmodel.ext.asyncio.session import AsyncSession

from agents.models import AgentRun, ChatSession, RunStatus


async def count_runs(session: AsyncSession) -> dict[str, int]:
    """Runs by state, with every state."""
    query = select(AgentRun.status, func.count()).group_by(AgentRun.status)
    counts = dict((await session.exec(query)).all())
    return {status.value: counts.get(status.value, 0) for status in RunStatus}


async def count_sessions(session: AsyncSession) -> int:
    """Everybody's sessions."""
    return (await session.exec(select(func.count()).select_from(ChatSession))).one()
