"""How many sessions a user may have."""

from sqlalchemy import func
from sqlmodel import col, select
from sqlmodel.ext.asyncio.session import AsyncSession

from agents.models import ChatSession
from core.errors import SessionsFull
from kb_service.documents import take_turn


async def check_room(session: AsyncSession, owner_id: str, *, most: int) -> None:
    """Pass where one more session fits; who asks at the same moment waits for this transaction.

    Args:
        session: a writing session, which adds the session.
        owner_id: whose it will be.
        most: 0 for any number.

    Raises:
        SessionsFull: the owner has as many as are allowed.
    """
    if not most:
        return
    await take_turn(session, owner_id)
    query = select(func.count()).where(col(ChatSession.owner_id) == owner_id)
    if (await session.exec(query)).one() >= most:
        raise SessionsFull(limit=most)
