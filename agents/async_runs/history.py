"""A thread's messages by day (docs/reference/run-input.md, section "History API")."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta, tzinfo

import orjson
from pydantic import JsonValue
from sqlmodel import col, select
from sqlmodel.ext.asyncio.session import AsyncSession

from agents.async_runs.answer_summary import FinalAnswer, summarize
from agents.async_runs.event_mapper import read_outcome
from agents.async_runs.ui_schema import compile_ui_schema
from agents.attachments import service as attachments
from agents.models import AgentRun, ChatMessage, ChatSession, LoggedEvent, RunStatus
from agents.sessions import service as sessions
from core.auth.principal import Principal
from core.errors.auth import MessageNotFound
from core.json_access import as_list, as_object, as_text
from kb_service.models import Attachment

# Earliest and latest times; the calendar's own limits can't be shifted between time zones.
_FIRST_DAY, _LAST_DAY = date(1970, 1, 1), date(9999, 1, 1)
_SHOWN_ROLES = ("user", "assistant")


@dataclass(frozen=True, slots=True)
class HistoryMessage:
    """A message of a day; only answers have a ``ui_schema``."""

    row: ChatMessage
    ui_schema: dict[str, JsonValue] | None
    images: tuple[Attachment, ...] = ()


@dataclass(frozen=True, slots=True)
class HistoryDay:
    """One day of a thread.

    ``thread_id`` is None if there is no thread, ``day`` if there are no messages before.
    """

    thread_id: str | None
    day: date | None = None
    has_more: bool = False
    messages: Sequence[HistoryMessage] = ()


async def read_day(
    session: AsyncSession, principal: Principal, thread_id: str | None, *, before: date | None, zone: tzinfo = UTC
) -> HistoryDay:
    """The newest day on which a thread has messages of the user or the assistant.

    Without an id, the thread is the one with the newest message that is not archived.
    """
    thread = await _thread(session, principal, thread_id)
    if thread is None:
        return HistoryDay(None)
    messages_query = select(ChatMessage).where(
        ChatMessage.session_id == thread.id,
        col(ChatMessage.role).in_(_SHOWN_ROLES),
        # A message without text holds the calls of a waiting run, which its own events show.
        col(ChatMessage.content) != "",
    )
    query = messages_query.order_by(col(ChatMessage.position).desc()).limit(1)
    if before is not None:
        begin = _begin(min(max(before, _FIRST_DAY), _LAST_DAY), zone)
        query = query.where(col(ChatMessage.created_at) < begin)
    last = (await session.exec(query)).first()
    if last is None:
        return HistoryDay(thread.thread_id)
    day = last.created_at.astimezone(zone).date()
    begin, end = _begin(day, zone), _begin(day + timedelta(days=1), zone)
    of_day = messages_query.where(col(ChatMessage.created_at) >= begin, col(ChatMessage.created_at) < end)
    rows = (await session.exec(of_day.order_by(col(ChatMessage.position)))).all()
    older = messages_query.where(col(ChatMessage.created_at) < begin).limit(1)
    has_more = (await session.exec(older)).first() is not None
    failures = await _failures(session, thread.id, rows)
    images = await attachments.get_many(session, principal.user_id, set(_image_ids(rows)))
    messages = await asyncio.to_thread(_messages, rows, failures, images)
    return HistoryDay(thread.thread_id, day, has_more, messages)


async def read_ui_schema(
    session: AsyncSession, principal: Principal, session_id: str, message_id: str
) -> dict[str, JsonValue] | None:
    """The ``ui_schema`` of one message, as the history has it; None for what is no answer.

    Raises ``SessionNotFound`` and ``MessageNotFound``.
    """
    thread = await sessions.get(session, principal, session_id)
    query = select(ChatMessage).where(ChatMessage.session_id == thread.id, ChatMessage.message_id == message_id)
    row = (await session.exec(query)).first()
    if row is None:
        raise MessageNotFound
    failures = await _failures(session, thread.id, [row])
    return await asyncio.to_thread(_ui_schema, row, failures.get(row.run_id or ""))


def _begin(day: date, zone: tzinfo) -> datetime:
    return datetime.combine(day, time.min, tzinfo=zone).astimezone(UTC)


async def _thread(session: AsyncSession, principal: Principal, thread_id: str | None) -> ChatSession | None:
    if thread_id is None:
        return await _newest_thread(session, principal)
    return await sessions.get(session, principal, thread_id)


async def _newest_thread(session: AsyncSession, principal: Principal) -> ChatSession | None:
    query = select(ChatSession).where(
        ChatSession.owner_id == principal.user_id,
        col(ChatSession.is_archived).is_(False),
        col(ChatSession.last_message_at).is_not(None),
    )
    newest = query.order_by(col(ChatSession.last_message_at).desc(), col(ChatSession.id)).limit(1)
    return (await session.exec(newest)).first()


async def _failures(session: AsyncSession, session_key: str, rows: Sequence[ChatMessage]) -> dict[str, str]:
    run_ids = {row.run_id for row in rows if row.role == "assistant" and row.run_id}
    query = (
        select(AgentRun.run_id, LoggedEvent.payload)
        .join(LoggedEvent, col(LoggedEvent.run_id) == col(AgentRun.id))
        .where(
            AgentRun.session_id == session_key,
            col(AgentRun.run_id).in_(run_ids),
            AgentRun.status == RunStatus.FAILED.value,
            LoggedEvent.type == "RUN_ERROR",
        )
    )
    errors = (await session.exec(query)).all()
    return {run_id: as_text(orjson.loads(payload).get("message")) for run_id, payload in errors}


def _image_ids(rows: Sequence[ChatMessage]) -> list[str]:
    return [as_text(as_object(image).get("id")) for row in rows for image in as_list(row.details.get("attachments"))]


def _messages(
    rows: Sequence[ChatMessage], failures: Mapping[str, str], images: Mapping[str, Attachment]
) -> list[HistoryMessage]:
    return [
        HistoryMessage(
            row,
            _ui_schema(row, failures.get(row.run_id or "")),
            tuple(images[name] for name in _image_ids([row]) if name in images),
        )
        for row in rows
    ]


def _ui_schema(row: ChatMessage, failure: str | None) -> dict[str, JsonValue] | None:
    details = row.details
    # Calls and usage of the whole run are on its last message, the answer.
    if row.role != "assistant" or "tool_calls" not in details:
        return None
    answer = FinalAnswer(
        text=row.content,
        citations=tuple(as_object(item) for item in as_list(details.get("citations"))),
        marks=frozenset(details),
        tools=frozenset(_tools(details)),
        failure=failure,
    )
    return compile_ui_schema(summarize(answer))


def _tools(details: Mapping[str, JsonValue]) -> set[str]:
    calls = [as_object(call) for call in as_list(details.get("tool_calls"))]
    return {
        as_text(call.get("tool"))
        for call in calls
        if not isinstance(output := call.get("output"), str) or read_outcome(output).status != "failure"
    }
