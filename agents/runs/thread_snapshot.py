"""A thread as its clients have it: put together from its messages and its runs' logs."""

from sqlmodel import col, select
from sqlmodel.ext.asyncio.session import AsyncSession

from agents import event_log
from agents.agui.message_reducer import MessageReducer
from agents.models import AgentRun, ChatMessage


async def fold_thread(
    session: AsyncSession, session_key: str, *, until: str | None = None
) -> MessageReducer:
    """The messages and the state of a thread after its runs.

    Args:
        session: a reading session.
        session_key: ``ChatSession.id``.
        until: the run (``AgentRun.id``) before which to end; its question is still included.
    """
    fold = MessageReducer()
    query = select(ChatMessage).where(
        ChatMessage.session_id == session_key, ChatMessage.role == "user"
    )
    asked: dict[str, list[ChatMessage]] = {}
    for message in (await session.exec(query.order_by(col(ChatMessage.position)))).all():
        asked.setdefault(message.run_id or "", []).append(message)
    runs = select(AgentRun.id, AgentRun.run_id).where(AgentRun.session_id == session_key)
    in_order = runs.order_by(col(AgentRun.created_at), col(AgentRun.id))
    for key, run_id in (await session.exec(in_order)).all():
        for message in asked.get(run_id, ()):
            fold.ask(message.message_id, message.content)
        if key == until:
            break
        for event in await event_log.read_all(session, key):
            fold.observe(event)
    return fold
