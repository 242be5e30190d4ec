"""Branches of a conversation: sessions that share its beginning (decision 86)."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from pydantic import JsonValue
from sqlalchemy import ColumnElement, func, or_, update
from sqlalchemy import select as select_columns
from sqlalchemy.orm import aliased
from sqlmodel import col, select
from sqlmodel.ext.asyncio.session import AsyncSession

from agents.models import AgentRun, ChatMessage, ChatSession
from core.db.unit_of_work import UnitOfWork
from core.json_access import as_list, as_object, as_text
from kb_service.models import Attachment, RetrievalRecord

MOST_BRANCHES = 100
"""Sessions of one conversation, the first one included."""
# That in which something was said last; one in which nothing was asked yet comes after its origin.
_USED_LAST = (
    col(ChatSession.last_message_at).desc().nulls_last(),
    col(ChatSession.updated_at).desc(),
    col(ChatSession.id).desc(),
)


@dataclass(frozen=True)
class BranchAlternative:
    """A question at a branch point, and the session used last of those that have it."""

    message_id: str
    session_id: str
    thread_id: str


@dataclass(frozen=True)
class BranchPoint:
    """A question of a session where other branches ask something else; oldest alternative first."""

    message_id: str
    alternatives: Sequence[BranchAlternative]


def shown_once(conditions: Sequence[ColumnElement[bool]]) -> ColumnElement[bool]:
    """Of the branches of a conversation that meet the conditions, only the one used last."""
    place = func.row_number().over(partition_by=col(ChatSession.conversation_id), order_by=_USED_LAST)
    ranked = (
        select_columns(col(ChatSession.id), place.label("place"))
        .where(*conditions, col(ChatSession.conversation_id).is_not(None))
        .subquery()
    )
    newest = select_columns(ranked.c.id).where(ranked.c.place == 1)
    return or_(col(ChatSession.conversation_id).is_(None), col(ChatSession.id).in_(newest))


async def list_branches(session: AsyncSession, row: ChatSession) -> Sequence[ChatSession]:
    """All sessions of a conversation, the one used last first; the session alone if it has no branches."""
    if row.conversation_id is None:
        return [row]
    query = select(ChatSession).where(
        ChatSession.owner_id == row.owner_id, ChatSession.conversation_id == row.conversation_id
    )
    return (await session.exec(query.order_by(*_USED_LAST))).all()


@dataclass(frozen=True)
class _Place:
    """A question of a session; ``after`` is the same number for all that follow the same questions."""

    row: ChatSession
    message_id: str
    after: int
    asked_at: datetime


async def list_branch_points(session: AsyncSession, row: ChatSession) -> list[BranchPoint]:
    """The questions of a session in whose place other branches ask something else, in order.

    Copies keep the ids of their messages, so two branches are the same as long as the ids of their questions are.
    """
    if row.conversation_id is None:
        return []
    places = await _read_places(session, await list_branches(session, row))
    by_place: dict[int, dict[str, _Place]] = {}
    for place in places:
        by_place.setdefault(place.after, {}).setdefault(place.message_id, place)
    points: list[BranchPoint] = []
    for own in (place for place in places if place.row.id == row.id):
        # Its own questions are best looked at in the session itself.
        alternatives = {**by_place[own.after], own.message_id: own}
        if len(alternatives) > 1:
            oldest_first = sorted(alternatives.values(), key=lambda place: (place.asked_at, place.message_id))
            points.append(BranchPoint(own.message_id, [_alternative(place) for place in oldest_first]))
    return points


def _alternative(place: _Place) -> BranchAlternative:
    return BranchAlternative(place.message_id, place.row.id, place.row.thread_id)


async def _read_places(session: AsyncSession, rows: Sequence[ChatSession]) -> list[_Place]:
    """The places of all questions, in the order of the sessions."""
    query = (
        select(ChatMessage.session_id, ChatMessage.message_id, ChatMessage.created_at)
        .where(col(ChatMessage.session_id).in_([row.id for row in rows]), ChatMessage.role == "user")
        .order_by(col(ChatMessage.session_id), col(ChatMessage.position))
    )
    questions: dict[str, list[tuple[str, datetime]]] = {}
    for session_id, message_id, asked_at in (await session.exec(query)).all():
        questions.setdefault(session_id, []).append((message_id, asked_at))
    numbers: dict[tuple[int, str], int] = {}
    places: list[_Place] = []
    for row in rows:
        after = 0
        for message_id, asked_at in questions.get(row.id, ()):
            places.append(_Place(row, message_id, after, asked_at))
            after = numbers.setdefault((after, message_id), len(numbers) + 1)
    return places


async def hand_over(work: UnitOfWork, row: ChatSession) -> None:
    """Give what other branches use of a session that is about to be deleted to one of them.

    These are attachments of their messages, and recorded retrievals of runs that they hold copies of.
    """
    session = work.session
    others = [branch for branch in await list_branches(session, row) if branch.id != row.id]
    if not others:
        return
    await _hand_over_attachments(session, row, others)
    own, copy = aliased(AgentRun), aliased(AgentRun)
    heir = (
        select_columns(func.min(copy.id))
        .join(own, col(copy.copy_of) == func.coalesce(own.copy_of, own.id))
        .where(col(own.id) == RetrievalRecord.run_id, col(copy.session_id) != row.id)
        .scalar_subquery()
    )
    runs = select(AgentRun.id).where(AgentRun.session_id == row.id)
    records = update(RetrievalRecord).where(col(RetrievalRecord.run_id).in_(runs), heir.is_not(None))
    await session.exec(records.values(run_id=heir).execution_options(synchronize_session=False))


async def _hand_over_attachments(session: AsyncSession, row: ChatSession, others: Sequence[ChatSession]) -> None:
    query = select(Attachment.id).where(Attachment.session_id == row.id, col(Attachment.deleted_at).is_(None))
    left = set((await session.exec(query)).all())
    for branch in others:
        if not left:
            return
        used = left & await attachment_ids(session, branch.id)
        if used:
            handed = update(Attachment).where(col(Attachment.id).in_(used)).values(session_id=branch.id)
            await session.exec(handed.execution_options(synchronize_session=False))
        left -= used


async def newest_documents(session: AsyncSession, session_key: str, *, most: int) -> list[str]:
    """Ids of the newest documents that the questions of a session came with, oldest first."""
    conversation = select_columns(col(ChatSession.conversation_id)).where(col(ChatSession.id) == session_key)
    branches = select(ChatSession.id).where(col(ChatSession.conversation_id) == conversation.scalar_subquery())
    query = (
        select(Attachment.id, Attachment.session_id)
        .where(
            or_(col(Attachment.session_id) == session_key, col(Attachment.session_id).in_(branches)),
            col(Attachment.deleted_at).is_(None),
            col(Attachment.mime_type).not_like("image/%"),
        )
        .order_by(col(Attachment.created_at), col(Attachment.id))
    )
    rows = (await session.exec(query)).all()
    if any(owner != session_key for _, owner in rows):
        # A document belongs to the branch that had it first: of another one's, those in copied messages count.
        copied = await attachment_ids(session, session_key)
        rows = [(key, owner) for key, owner in rows if owner == session_key or key in copied]
    return [key for key, _ in rows][-most:]


async def attachment_ids(session: AsyncSession, session_key: str) -> set[str]:
    """The ids of the images and documents that the questions of a session came with."""
    query = select(ChatMessage).where(ChatMessage.session_id == session_key, ChatMessage.role == "user")
    return {
        as_text(as_object(entry).get("id"))
        for message in (await session.exec(query)).all()
        for entry in _attached(message.details.get("attachments"), message.details.get("documents"))
    }


def _attached(*lists: JsonValue) -> Iterable[JsonValue]:
    for entries in lists:
        yield from as_list(entries)
