"""Chat sessions and their messages (docs/reference/agentex-api.md, section 5)."""

import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from pydantic import JsonValue
from sqlalchemy import ColumnElement, func, or_
from sqlalchemy import delete as delete_rows
from sqlalchemy import update as update_rows
from sqlmodel import col, select
from sqlmodel.ext.asyncio.session import AsyncSession

from agents.models import AgentRun, ChatMessage, ChatSession, RunInterrupt, RunStatus
from agents.sessions.branches import hand_over, list_branches, shown_once
from agents.sessions.interrupts import open_interrupts, waits_at
from agents.sessions.search import MessageMatch, search_sessions
from core.auth.locks import lock_owner
from core.auth.principal import Principal
from core.db.now import database_now
from core.db.pagination import PageRequest, QueryT, paginate
from core.db.types import new_id, utc_now
from core.db.unit_of_work import UnitOfWork
from core.errors.auth import SessionNotFound
from core.errors.conflicts import SessionsFull, ThreadBusy
from core.errors.requests import InvalidRequest
from core.text.graphemes import shorten
from kb_service.models import Attachment
from kb_service.retrieval import retrieval_log

SORT_FIELDS = ("updated_at", "created_at", "last_message_at", "title")
TITLE_LENGTH = 60
"""Characters of a title that is made of a question, at most."""
_TITLE_SOURCE = 1000
# They make one sign of several, and parts of words in some scripts.
_JOINERS = "\u200c\u200d"


@dataclass(frozen=True)
class SessionListing:
    """One page of sessions, and how many there are in all.

    ``matches`` of a search and the ``interrupts`` that are open are by ``ChatSession.id``.
    """

    items: Sequence[ChatSession]
    total: int
    matches: Mapping[str, MessageMatch] = field(default_factory=dict[str, MessageMatch])
    interrupts: Mapping[str, Sequence[RunInterrupt]] = field(default_factory=dict[str, Sequence[RunInterrupt]])


@dataclass(frozen=True)
class SessionFilter:
    """Filter of a session list; None matches any.

    ``waiting``: whether its run waits for a person. ``search``: words of the title or of a message.
    """

    is_archived: bool | None = None
    waiting: bool | None = None
    search: str = ""


_ALL = SessionFilter()


@dataclass(frozen=True)
class MessageListing:
    """Messages, oldest first, and whether there are older ones."""

    items: Sequence[ChatMessage]
    has_more: bool


async def create(work: UnitOfWork, principal: Principal, *, title: str, config: dict[str, JsonValue]) -> ChatSession:
    """Create an empty session of the caller."""
    session_id = new_id()
    row = ChatSession(id=session_id, owner_id=principal.user_id, thread_id=session_id, title=title, config=config)
    work.session.add(row)
    await work.session.flush()
    return row


async def get(session: AsyncSession, principal: Principal, session_id: str) -> ChatSession:
    """One of the caller's sessions, by its id or thread id."""
    query = select(ChatSession).where(
        ChatSession.owner_id == principal.user_id,
        or_(col(ChatSession.id) == session_id, col(ChatSession.thread_id) == session_id),
    )
    row = (await session.exec(query)).first()
    if row is None:
        raise SessionNotFound
    return row


async def list_sessions(
    session: AsyncSession, principal: Principal, page: PageRequest, only: SessionFilter = _ALL
) -> SessionListing:
    """One page of the caller's sessions, with what they wait for."""
    now = await database_now(session)
    conditions: list[ColumnElement[bool]] = [col(ChatSession.owner_id) == principal.user_id]
    if only.is_archived is not None:
        conditions.append(col(ChatSession.is_archived).is_(only.is_archived))
    if only.waiting is not None:
        conditions.append(waits_at(now) if only.waiting else ~waits_at(now))
    listing = await _find(session, conditions, only.search, page)
    return replace(listing, interrupts=await open_interrupts(session, listing.items, now))


async def _find(
    session: AsyncSession, conditions: Sequence[ColumnElement[bool]], search: str, page: PageRequest
) -> SessionListing:
    if search:
        return await _search(session, conditions, search, page)
    conditions = [*conditions, shown_once(conditions)]
    query = _paged(select(ChatSession).where(*conditions), page)
    total = select(func.count()).select_from(ChatSession).where(*conditions)
    return SessionListing((await session.exec(query)).all(), (await session.exec(total)).one())


async def _search(
    session: AsyncSession, conditions: Sequence[ColumnElement[bool]], words: str, page: PageRequest
) -> SessionListing:
    result = await search_sessions(session, conditions, words, lambda query: _paged(query, page))
    total = result.total
    if not result.rows and page.number > 1:
        # Behind the last page no row tells it.
        first = replace(page, number=1, size=1)
        total = (await search_sessions(session, conditions, words, lambda query: _paged(query, first))).total
    return SessionListing(result.rows, total, result.matches)


def _paged(query: QueryT, page: PageRequest) -> QueryT:
    columns = {
        "updated_at": col(ChatSession.updated_at),
        "created_at": col(ChatSession.created_at),
        "last_message_at": col(ChatSession.last_message_at),
        "title": col(ChatSession.title),
    }
    return paginate(query, page, columns=columns, tie=col(ChatSession.id))


async def update(
    work: UnitOfWork,
    row: ChatSession,
    *,
    title: str | None,
    config: dict[str, JsonValue] | None,
    is_archived: bool | None,
) -> ChatSession:
    """Change a session; None leaves a field as it is. Title and archive mark are those of all branches."""
    for branch in await list_branches(work.session, row):
        if title is not None:
            branch.title = title
        if is_archived is not None:
            branch.is_archived = is_archived
        work.session.add(branch)
    if config is not None:
        row.config = config
    row.updated_at = utc_now()
    return row


async def delete(work: UnitOfWork, rows: Sequence[ChatSession]) -> None:
    """Delete all sessions of a conversation, or one of its branches, unless a run is active.

    Their messages, runs, events, retrievals and images go with them, apart from what other branches use.
    """
    for row in rows:
        if len(rows) == 1:
            await hand_over(work, row)
        await _delete(work, row)


async def _delete(work: UnitOfWork, row: ChatSession) -> None:
    runs = select(AgentRun.id).where(AgentRun.session_id == row.id)
    await retrieval_log.delete_of_runs(work, runs)
    # Decided by the row itself: a run may have begun since it was read.
    statement = delete_rows(ChatSession).where(col(ChatSession.id) == row.id, col(ChatSession.active_run_id).is_(None))
    images = (
        update_rows(Attachment)
        .where(col(Attachment.session_id) == row.id, col(Attachment.deleted_at).is_(None))
        .values(deleted_at=utc_now())
    )
    await work.session.exec(images)
    if (await work.session.exec(statement)).rowcount == 0:
        raise ThreadBusy


async def list_messages(
    session: AsyncSession, row: ChatSession, *, before_id: str | None, limit: int
) -> MessageListing:
    """The newest messages of a session, or those before a message, oldest first."""
    query = select(ChatMessage).where(ChatMessage.session_id == row.id)
    if before_id is not None:
        pivot = select(ChatMessage.position).where(
            ChatMessage.session_id == row.id, ChatMessage.message_id == before_id
        )
        position = (await session.exec(pivot)).first()
        if position is None:
            raise InvalidRequest("before_id", "No such message in this session")
        query = query.where(col(ChatMessage.position) < position)
    query = query.order_by(col(ChatMessage.position).desc()).limit(limit + 1)
    rows = (await session.exec(query)).all()
    return MessageListing(rows[:limit][::-1], len(rows) > limit)


async def add_messages(session: AsyncSession, session_key: str, messages: Sequence[ChatMessage]) -> None:
    """Append messages to a session and number them, in the caller's transaction."""
    if not messages:
        return
    now = utc_now()
    counted = (
        update_rows(ChatSession)
        .where(col(ChatSession.id) == session_key)
        .values(message_count=ChatSession.message_count + len(messages), last_message_at=now, updated_at=now)
        .returning(col(ChatSession.message_count))
    )
    last: int = (await session.exec(counted)).one()[0]
    for position, message in enumerate(messages, start=last - len(messages) + 1):
        message.position = position
    session.add_all(messages)


async def last_question(session: AsyncSession, session_key: str) -> str:
    """The user's newest message, which sets the language of a session; "" for none."""
    query = (
        select(ChatMessage.content)
        .where(ChatMessage.session_id == session_key, ChatMessage.role == "user")
        .order_by(col(ChatMessage.position).desc())
        .limit(1)
    )
    return (await session.exec(query)).first() or ""


def make_title(question: str) -> str:
    """A title from the first words of a question; empty if it has no visible characters."""
    visible = "".join(sign for sign in question[:_TITLE_SOURCE] if not _is_unseen(sign))
    return shorten(" ".join(visible.split()), TITLE_LENGTH)


def _is_unseen(sign: str) -> bool:
    return unicodedata.category(sign) in {"Cc", "Cf"} and not (sign.isspace() or sign in _JOINERS)


async def check_quota(session: AsyncSession, owner_id: str, *, most: int) -> None:
    """Check that the owner may have another session (``most`` 0: unlimited); holds the owner's lock.

    The branches of a conversation count once.
    """
    if not most:
        return
    await lock_owner(session, owner_id)
    conversations = func.count(func.coalesce(ChatSession.conversation_id, ChatSession.id).distinct())
    query = select(conversations).where(col(ChatSession.owner_id) == owner_id)
    if (await session.exec(query)).one() >= most:
        raise SessionsFull(limit=most)


async def count_runs(session: AsyncSession) -> dict[str, int]:
    """Number of runs in every state, without the copies in branches."""
    query = select(AgentRun.status, func.count()).where(col(AgentRun.copy_of).is_(None)).group_by(AgentRun.status)
    counts = dict((await session.exec(query)).all())
    return {status.value: counts.get(status.value, 0) for status in RunStatus}


async def count_sessions(session: AsyncSession) -> int:
    """Number of all sessions."""
    return (await session.exec(select(func.count()).select_from(ChatSession))).one()
