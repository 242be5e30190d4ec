"""Copy of the beginning of a session, as a branch of its conversation (decision 86)."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import orjson
from sqlalchemy import func, insert, update
from sqlmodel import col, select
from sqlmodel.ext.asyncio.session import AsyncSession

from agents import event_log
from agents.agui.close_open import closing_events
from agents.events import WireEvent
from agents.models import AgentRun, ChatMessage, ChatSession, LoggedEvent, RunStatus
from agents.sessions import service as sessions
from agents.sessions.branches import MOST_BRANCHES
from core.auth.locks import lock_owner
from core.auth.principal import Principal
from core.db.database import Database
from core.db.types import new_id, now_ms, utc_now
from core.db.unit_of_work import UnitOfWork, unit_of_work
from core.errors.auth import SessionNotFound
from core.errors.conflicts import BranchesFull, SessionArchived
from core.errors.requests import InvalidRequest
from core.json_access import as_text

_FIELD = "before_message_id"
# What each of these adds to one message or call; neighbours become one event.
_DELTAS = {
    "TEXT_MESSAGE_CONTENT": "messageId",
    "REASONING_MESSAGE_CONTENT": "messageId",
    "TOOL_CALL_ARGS": "toolCallId",
}
_NAMES_THREAD = frozenset({"RUN_STARTED", "RUN_FINISHED"})
# Rows per statement.
_AT_ONCE = 500


@dataclass(frozen=True)
class _SessionCopy:
    """Rows of a branch; ``messages`` and ``events`` as columns."""

    row: ChatSession
    runs: Sequence[AgentRun]
    messages: Sequence[dict[str, Any]]
    events: Sequence[dict[str, Any]]


async def create_branch(database: Database, principal: Principal, session_id: str, message_id: str) -> ChatSession:
    """Create a branch of one of the caller's sessions with copies of what came before a user message.

    Neither session needs the other afterwards. A run under way in the session goes on there.

    Raises:
        SessionNotFound, SessionArchived: The session can't be continued.
        InvalidRequest: It has no such user message.
        BranchesFull: The conversation has as many branches as are allowed.
    """
    async with database.reading() as session:
        origin = await sessions.get(session, principal, session_id)
        if origin.is_archived:
            raise SessionArchived
        copy = await _copy(session, origin, await _find_question(session, origin, message_id))
    async with unit_of_work(database) as work:
        return await _write(work, origin.id, copy)


async def _find_question(session: AsyncSession, origin: ChatSession, message_id: str) -> ChatMessage:
    query = select(ChatMessage).where(ChatMessage.session_id == origin.id, ChatMessage.message_id == message_id)
    message = (await session.exec(query)).first()
    if message is None:
        raise InvalidRequest(_FIELD, "No such message in this session", "该会话中没有此消息")
    if message.role != "user":
        raise InvalidRequest(_FIELD, "A branch departs before a message of the user", "分支只能从用户消息之前开始")
    return message


async def _copy(session: AsyncSession, origin: ChatSession, question: ChatMessage) -> _SessionCopy:
    query = select(ChatMessage).where(
        ChatMessage.session_id == origin.id, col(ChatMessage.position) < question.position
    )
    messages = (await session.exec(query.order_by(col(ChatMessage.position)))).all()
    branch_id = new_id()
    last_message_at = messages[-1].created_at if messages else None
    row = ChatSession(
        id=branch_id,
        owner_id=origin.owner_id,
        thread_id=branch_id,
        conversation_id=origin.conversation_id or origin.id,
        title=origin.title,
        config=origin.config,
        message_count=len(messages),
        last_message_at=last_message_at,
    )
    runs, events, run_ids = list[AgentRun](), list[dict[str, Any]](), dict[str, str]()
    keys = dict[str, str]()
    originals = await _runs_before(session, origin, question)
    # Runs of the same moment are in the order of their ids.
    for original, key in zip(originals, sorted(new_id() for _ in originals), strict=True):
        copy = _copy_run(original, key, branch_id, keys)
        keys[original.id], run_ids[original.run_id] = copy.id, copy.run_id
        logged = condense(await event_log.read_all(session, original.id))
        is_last = original is originals[-1]
        if is_last and copy.status == RunStatus.INTERRUPTED:
            # In the branch nothing waits for an answer to it: its open calls end as those of a stopped run.
            copy.status = RunStatus.COMPLETED.value
            *logged, finished = logged
            logged += closing_events(logged, now=now_ms)
            logged.append({name: value for name, value in finished.items() if name != "outcome"})
        copy.last_seq = len(logged)
        runs.append(copy)
        events += _event_rows(copy, branch_id, logged)
    copies = [_message_row(message, branch_id, run_ids) for message in messages]
    return _SessionCopy(row, runs, copies, events)


async def _runs_before(session: AsyncSession, origin: ChatSession, question: ChatMessage) -> list[AgentRun]:
    """The runs before the first one that has a message from the question on."""
    query = select(ChatMessage.run_id).where(
        ChatMessage.session_id == origin.id, col(ChatMessage.position) >= question.position
    )
    later = set((await session.exec(query)).all())
    runs = select(AgentRun).where(AgentRun.session_id == origin.id)
    before: list[AgentRun] = []
    for run in (await session.exec(runs.order_by(col(AgentRun.created_at), col(AgentRun.id)))).all():
        if run.run_id in later:
            break
        before.append(run)
    return before


def _copy_run(original: AgentRun, key: str, branch_id: str, keys: dict[str, str]) -> AgentRun:
    """A run's row in the branch; ``keys`` are those of the copies of earlier runs, by the originals'."""
    values: dict[str, Any] = {
        **original.model_dump(),
        "id": key,
        "run_id": new_id(),
        "session_id": branch_id,
        "task_id": keys.get(original.task_id, key),
        "copy_of": original.copy_of or original.id,
        # Only runs that go on need their input and its marks.
        "request": {},
        "own_events": 0,
    }
    return AgentRun(**values)


def condense(logged: Sequence[WireEvent]) -> list[WireEvent]:
    """The events of a run with neighbouring deltas of one message or call joined."""
    condensed: list[WireEvent] = []
    parts: list[str] = []
    for event in logged:
        kind = as_text(event["type"])
        last = condensed[-1] if condensed else {}
        name = _DELTAS.get(kind)
        if name is not None and last.get("type") == kind and last.get(name) == event.get(name):
            parts.append(as_text(event["delta"]))
            continue
        _join(condensed, parts)
        condensed.append(event)
        parts = [as_text(event["delta"])] if name is not None else []
    _join(condensed, parts)
    return condensed


def _join(condensed: list[WireEvent], parts: Sequence[str]) -> None:
    if len(parts) > 1:
        condensed[-1] = {**condensed[-1], "delta": "".join(parts)}


def _event_rows(run: AgentRun, thread_id: str, logged: Sequence[WireEvent]) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    for seq, event in enumerate(logged, start=1):
        if event["type"] in _NAMES_THREAD:
            event = {**event, "threadId": thread_id, "runId": run.run_id}
        payload = orjson.dumps(event).decode()
        at = run.created_at
        rows.append({"run_id": run.id, "seq": seq, "type": event["type"], "payload": payload, "created_at": at})
    return rows


def _message_row(message: ChatMessage, branch_id: str, run_ids: dict[str, str]) -> dict[str, Any]:
    run_id = run_ids.get(message.run_id or "")
    return {**message.model_dump(), "id": new_id(), "session_id": branch_id, "run_id": run_id}


async def _write(work: UnitOfWork, origin_id: str, copy: _SessionCopy) -> ChatSession:
    session, row = work.session, copy.row
    await lock_owner(session, row.owner_id)
    query = select(func.count()).where(
        col(ChatSession.owner_id) == row.owner_id, col(ChatSession.conversation_id) == row.conversation_id
    )
    # The first branch makes its origin one, too.
    if max(1, (await session.exec(query)).one()) >= MOST_BRANCHES:
        raise BranchesFull(limit=MOST_BRANCHES)
    linked = update(ChatSession).where(col(ChatSession.id) == origin_id)
    if (await session.exec(linked.values(conversation_id=row.conversation_id))).rowcount == 0:
        raise SessionNotFound
    row.created_at = row.updated_at = utc_now()
    session.add(row)
    await session.flush()
    session.add_all(copy.runs)
    await session.flush()
    connection = await session.connection()
    for table, rows in ((ChatMessage, copy.messages), (LoggedEvent, copy.events)):
        for start in range(0, len(rows), _AT_ONCE):
            await connection.execute(insert(table), list(rows[start : start + _AT_ONCE]))
    return row
