"""All messages of a session, however many there are, a few at a time."""

from collections.abc import AsyncGenerator, Sequence

from sqlalchemy import func
from sqlmodel import col, select
from sqlmodel.ext.asyncio.session import AsyncSession

from agents.models import ChatMessage, ChatSession
from core.db.database import Database
from core.errors import SessionNotFound

_BATCH = 100


async def message_batches(
    database: Database, session_key: str
) -> AsyncGenerator[Sequence[ChatMessage]]:
    """The messages that a session has now, oldest first; what is said meanwhile is left out.

    No transaction stays open between two batches: their reader may be slow.

    Args:
        database: where they are.
        session_key: ``ChatSession.id`` of one that the caller may see.

    Raises:
        SessionNotFound: it was deleted before all was read.
    """
    async with database.reading() as session:
        newest = select(func.max(ChatMessage.position)).where(ChatMessage.session_id == session_key)
        last = (await session.exec(newest)).one() or 0
    place = 0
    while place < last:
        async with database.reading() as session:
            rows = await _read(session, session_key, place, last)
        if not rows:
            return
        yield rows
        place = rows[-1].position


async def _read(
    session: AsyncSession, session_key: str, after: int, last: int
) -> Sequence[ChatMessage]:
    query = (
        select(ChatMessage)
        .where(
            ChatMessage.session_id == session_key,
            col(ChatMessage.position) > after,
            col(ChatMessage.position) <= last,
        )
        .order_by(col(ChatMessage.position))
        .limit(_BATCH)
    )
    rows = (await session.exec(query)).all()
    # A half told session must not look like a whole one.
    if not rows and await session.get(ChatSession, session_key) is None:
        raise SessionNotFound
    return rows
