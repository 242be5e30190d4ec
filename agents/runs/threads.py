"""The thread of a run: found, made, and taken by one run at a time."""

from sqlalchemy import ColumnElement, func, or_, update
from sqlmodel import col, select
from sqlmodel.ext.asyncio.session import AsyncSession

from agents.requests import RunRequest
from agents.session_limit import check_room
from agents.sessions import title_of
from agents.tables import ChatSession
from core.accounts.access import Principal
from core.database.types import new_id, utc_now
from core.database.unit_of_work import UnitOfWork
from core.errors import SessionArchived, SessionNotFound, ThreadBusy

Value = str | None | ColumnElement[str]


async def find_thread(
    session: AsyncSession, principal: Principal, thread_id: str
) -> ChatSession | None:
    """The caller's session of this thread id or session id, if there is one.

    Raises:
        SessionNotFound: it is the id of somebody else's session.
    """
    query = select(ChatSession).where(
        or_(
            (col(ChatSession.owner_id) == principal.user_id)
            & (col(ChatSession.thread_id) == thread_id),
            col(ChatSession.id) == thread_id,
        )
    )
    rows = (await session.exec(query)).all()
    own = [row for row in rows if row.owner_id == principal.user_id]
    if rows and not own:
        raise SessionNotFound
    return own[0] if own else None


async def new_thread(
    work: UnitOfWork, principal: Principal, request: RunRequest, *, most: int
) -> ChatSession:
    """A thread of this id, which only its first question titles.

    Raises:
        SessionsFull: its owner has ``most`` already.
    """
    await check_room(work.session, principal.user_id, most=most)
    row = ChatSession(id=new_id(), owner_id=principal.user_id, thread_id=request.thread_id)
    work.session.add(row)
    await work.session.flush()
    return row


async def take_thread(
    session: AsyncSession,
    row: ChatSession,
    run_key: str,
    *,
    waits_for: str | None,
    taken: dict[str, Value],
) -> None:
    """Take it as it was when the request was looked at: waiting for the same, if for anything."""
    same = col(ChatSession.waiting_run_id)
    statement = (
        update(ChatSession)
        .where(
            col(ChatSession.id) == row.id,
            col(ChatSession.active_run_id).is_(None),
            col(ChatSession.is_archived).is_(False),
            same.is_(None) if waits_for is None else same == waits_for,
        )
        .values(active_run_id=run_key, updated_at=utc_now(), **taken)
    )
    if (await session.exec(statement)).rowcount == 0:
        await session.refresh(row, ["is_archived"])
        raise SessionArchived if row.is_archived else ThreadBusy


def title_unless_set(request: RunRequest) -> ColumnElement[str]:
    """The thread's title, where it has none one made of the first question.

    It is decided by the row itself: its owner may have named it since it was read.
    """
    said = (message.text for message in request.messages)
    title = next((made for text in said if (made := title_of(text))), "")
    return func.coalesce(func.nullif(col(ChatSession.title), ""), title)
