"""Joining a thread late: bring a client to the current state."""

from collections.abc import Sequence
from dataclasses import dataclass

import orjson
from pydantic import JsonValue
from sqlmodel import col, select
from sqlmodel.ext.asyncio.session import AsyncSession

from agents import event_log
from agents.agui.close_open import CLOSED_BY, OPENED_BY
from agents.agui.encoder import AguiEncoder
from agents.agui.message_reducer import MessageReducer
from agents.events import WireEvent
from agents.models import AgentRun, ChatMessage, ChatSession
from agents.runs.threads import find_thread
from core.auth.principal import Principal
from core.db.types import now_ms
from core.errors.auth import SessionNotFound
from core.json_access import as_object, as_text


@dataclass(frozen=True)
class JoinPoint:
    """The position of a client that has read the prelude.

    Args:
        after: The last event that the prelude includes.
        prelude: A valid beginning of a stream; complete if the run is over.
    """

    run_key: str
    run_id: str
    after: int
    prelude: list[WireEvent]


async def join(session: AsyncSession, principal: Principal, thread_id: str) -> JoinPoint:
    """The thread's messages and state, and what is open in its newest run."""
    thread = await find_thread(session, principal, thread_id)
    run = None if thread is None else await newest_run(session, thread)
    if thread is None or run is None:
        raise SessionNotFound
    logged = await event_log.read_all(session, run.id)
    # By the log: the run may have ended since its row was read.
    is_live = logged[-1]["type"] not in event_log.TERMINAL_TYPES
    fold = await fold_thread(session, thread.id, until=run.id)
    for event in logged:
        fold.observe(event)
    mapper = AguiEncoder(str(logged[0]["threadId"]), run.run_id, now=now_ms)
    if is_live:
        prelude = live_prelude(fold, logged, mapper)
    else:
        waits_for = await _open_outcome(session, thread)
        prelude = finished_prelude(fold, logged, mapper, waits_for)
    return JoinPoint(run.id, run.run_id, len(logged), prelude)


async def _open_outcome(session: AsyncSession, thread: ChatSession) -> JsonValue:
    """The outcome of the run that the thread waits on; later runs may have been rejected."""
    if thread.waiting_run_id is None:
        return None
    waiting = await session.get_one(AgentRun, thread.waiting_run_id)
    last = await event_log.read(session, waiting.id, after=waiting.last_seq - 1)
    return as_object(orjson.loads(last[-1].payload)).get("outcome")


async def newest_run(session: AsyncSession, thread: ChatSession) -> AgentRun | None:
    """The run that holds the thread, else the last that did."""
    if thread.active_run_id is not None:
        # Independent of clock differences between processes.
        holder = await session.get(AgentRun, thread.active_run_id)
        if holder is not None:
            return holder
    query = (
        select(AgentRun)
        .where(AgentRun.session_id == thread.id)
        .order_by(col(AgentRun.created_at).desc(), col(AgentRun.id).desc())
        .limit(1)
    )
    return (await session.exec(query)).first()


def open_events(logged: Sequence[WireEvent]) -> list[WireEvent]:
    """The events that opened what is still open, in order."""
    still_open: dict[tuple[str, str], WireEvent] = {}
    for event in logged:
        kind = as_text(event.get("type"))
        if kind in CLOSED_BY:
            still_open[kind, as_text(event[CLOSED_BY[kind][1]])] = event
        elif kind in OPENED_BY:
            opener, field = OPENED_BY[kind]
            still_open.pop((opener, as_text(event[field])), None)
    return list(still_open.values())


def live_prelude(fold: MessageReducer, logged: Sequence[WireEvent], mapper: AguiEncoder) -> list[WireEvent]:
    """Snapshot events for a client that joins a live run; ``fold`` includes the run's events."""
    return [logged[0], mapper.state(fold.state), mapper.messages(fold.all_messages), *open_events(logged)]


def finished_prelude(
    fold: MessageReducer, logged: Sequence[WireEvent], mapper: AguiEncoder, waits_for: JsonValue = None
) -> list[WireEvent]:
    """The thread after its last run, as a run of its own; ``fold`` includes the run's events.

    With ``waits_for``, the outcome of the run whose questions are open, a failed run appears as a success.
    """
    ending: dict[str, JsonValue] = dict(logged[-1])
    if ending["type"] != "RUN_FINISHED":
        ending = {
            "type": "RUN_FINISHED",
            "timestamp": ending["timestamp"],
            "threadId": logged[0]["threadId"],
            "runId": logged[0]["runId"],
        }
    if waits_for is not None:
        ending["outcome"] = waits_for
    return [mapper.started(), mapper.state(fold.state), mapper.messages(fold.all_messages), ending]


async def fold_thread(session: AsyncSession, session_key: str, *, until: str | None = None) -> MessageReducer:
    """The messages and the state of a thread after its runs.

    Stops before the run ``until`` (``AgentRun.id``), but includes its question.
    """
    fold = MessageReducer()
    query = select(ChatMessage).where(ChatMessage.session_id == session_key, ChatMessage.role == "user")
    questions = (await session.exec(query.order_by(col(ChatMessage.position)))).all()
    # In a branch, a question before that of the first own run may belong to no run.
    ends = {message.run_id: number for number, message in enumerate(questions, start=1)}
    count = 0
    runs = select(AgentRun.id, AgentRun.run_id).where(AgentRun.session_id == session_key)
    in_order = runs.order_by(col(AgentRun.created_at), col(AgentRun.id))
    for key, run_id in (await session.exec(in_order)).all():
        end = ends.get(run_id, 0)
        for message in questions[count:end]:
            fold.ask(message.message_id, message.content)
        count = max(count, end)
        if key == until:
            break
        for event in await event_log.read_all(session, key):
            fold.observe(event)
    return fold
