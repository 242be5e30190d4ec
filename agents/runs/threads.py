"""The thread of a run, held by one run at a time."""

from sqlalchemy import ColumnElement, func, or_, update
from sqlmodel import col, select
from sqlmodel.ext.asyncio.session import AsyncSession

from agents.models import ChatSession
from agents.run_request import RunRequest
from agents.sessions.service import make_title
from core.auth.principal import Principal
from core.db.types import new_id, utc_now
from core.errors.auth import SessionNotFound
from core.errors.conflicts import SessionArchived, ThreadBusy

Value = str | None | ColumnElement[str]


async def find_thread(session: AsyncSession, principal: Principal, thread_id: str) -> ChatSession | None:
    """The caller's session of this thread id or session id; None if it is unused."""
    query = select(ChatSession).where(
        or_(
            (col(ChatSession.owner_id) == principal.user_id) & (col(ChatSession.thread_id) == thread_id),
            col(ChatSession.id) == thread_id,
        )
    )
    rows = (await session.exec(query)).all()
    own = [row for row in rows if row.owner_id == principal.user_id]
    if rows and not own:
        raise SessionNotFound
    return own[0] if own else None


def draft_thread(principal: Principal, request: RunRequest) -> ChatSession:
    """A new thread's row, titled by its first question."""
    return ChatSession(
        id=new_id(), owner_id=principal.user_id, thread_id=request.thread_id, title=_first_title(request)
    )


async def take_thread(
    session: AsyncSession, session_key: str, run_key: str, *, waits_for: str | None, changes: dict[str, Value]
) -> None:
    """Take the thread if it is free, not archived, and waits for the same run as at planning."""
    same = col(ChatSession.waiting_run_id)
    statement = (
        update(ChatSession)
        .where(
            col(ChatSession.id) == session_key,
            col(ChatSession.active_run_id).is_(None),
            col(ChatSession.is_archived).is_(False),
            same.is_(None) if waits_for is None else same == waits_for,
        )
        .values(active_run_id=run_key, updated_at=utc_now(), **changes)
    )
    if (await session.exec(statement)).rowcount == 0:
        query = select(ChatSession.is_archived).where(ChatSession.id == session_key)
        raise SessionArchived if (await session.exec(query)).first() else ThreadBusy


def title_unless_set(request: RunRequest) -> ColumnElement[str]:
    """The thread's title, or else one made of the first question.

    Decided in SQL: the owner may have set a title since the row was read.
    """
    return func.coalesce(func.nullif(col(ChatSession.title), ""), _first_title(request))


def _first_title(request: RunRequest) -> str:
    texts = (message.text for message in request.messages)
    return next((made for text in texts if (made := make_title(text))), "")
