"""The runs of a thread as a single stream of events."""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from dataclasses import dataclass

import orjson
from sqlmodel import col, select
from sqlmodel.ext.asyncio.session import AsyncSession

from agents import event_log
from agents.async_runs.event_mapper import CallProgress, EventTranslator, collect_calls
from agents.event_log import LogEntry
from agents.events import WireEvent
from agents.models import AgentRun, ChatSession, RunStatus
from agents.runs.join import newest_run
from agents.runs.service import RunService
from agents.sessions import service as sessions
from core.auth.principal import Principal
from core.db.database import Database
from core.errors.auth import RunNotFound
from core.errors.requests import InvalidCursor

_FOREIGN = "No run of this thread has this id and as many events"


@dataclass(frozen=True, slots=True)
class ThreadPosition:
    """A reader's position: after event ``after`` of a run's log, 0 for its beginning.

    ``part`` counts the events made of the next one in the log that the reader has, too.
    """

    run: AgentRun
    after: int
    part: int = 0


@dataclass(frozen=True, slots=True)
class ThreadEvent:
    """An event for a reader, and the position behind it, as in ``ThreadPosition``."""

    run_id: str
    seq: int
    event: WireEvent
    part: int = 0


async def is_new_thread(session: AsyncSession, run_key: str) -> bool:
    """Whether a run (``AgentRun.id``) is the first of its thread."""
    run = (await session.exec(select(AgentRun).where(AgentRun.id == run_key))).first()
    if run is None:
        return False
    thread = (await session.exec(select(ChatSession).where(ChatSession.id == run.session_id))).one()
    # A session created before its first question has its own id as thread id.
    return thread.id != thread.thread_id and await _neighbour(session, run, older=True) is None


async def find_position(
    session: AsyncSession, principal: Principal, thread_id: str, cursor: tuple[str, int, int] | None
) -> ThreadPosition | None:
    """The position at which a reader of one of the caller's threads begins; None if it read everything.

    Args:
        cursor: Run id, and numbers of the last event and of the parts of the next one that were read;
            None for the newest run.
    """
    thread = await sessions.get(session, principal, thread_id)
    runs = select(AgentRun).where(AgentRun.session_id == thread.id)
    if cursor is None:
        run = await newest_run(session, thread)
        if run is None:
            raise RunNotFound
        return ThreadPosition(run, 0)
    run_id, seq, part = cursor
    run = (await session.exec(runs.where(AgentRun.run_id == run_id))).first()
    if run is None or seq > run.last_seq or (part and not await _has_part(session, run, seq, part)):
        raise InvalidCursor(cursor=f"{run_id}:{seq}", error=_FOREIGN)
    if run.status == RunStatus.RUNNING or seq < run.last_seq:
        return ThreadPosition(run, seq, part)
    following = await _neighbour(session, run, older=False)
    return None if following is None else ThreadPosition(following, 0)


async def _has_part(session: AsyncSession, run: AgentRun, seq: int, part: int) -> bool:
    """Whether the event behind ``seq`` becomes more than ``part`` events."""
    logged = await event_log.read_all(session, run.id)
    translator = EventTranslator(await _open_calls(session, run))

    def count() -> int:
        counts = [len(translator.translate(event)) for event in logged[: seq + 1]]
        return counts[seq] if seq < len(counts) else 0

    return part < await asyncio.to_thread(count)


async def follow_thread(
    database: Database, runs: RunService, place: ThreadPosition
) -> AsyncGenerator[list[ThreadEvent]]:
    """The events after a position, through later runs, to the end of the newest run.

    Yields an empty list if nothing happens for a while.
    """
    run: AgentRun | None = place.run
    after, part = place.after, place.part
    while run is not None:
        is_over = False
        async with database.reading() as session:
            translator = EventTranslator(await _open_calls(session, run))
        async with aclosing(runs.follow(run.id)) as followed:
            async for entries in followed:
                is_over = bool(entries) and entries[-1].is_terminal
                # Parsing an answer's markdown can take long: not on the event loop.
                yield await asyncio.to_thread(translate_entries, translator, run.run_id, entries, after, part)
        if not is_over:
            # Deleted, or handed over: the reader must reconnect, or the rest would be skipped.
            return
        async with database.reading() as session:
            run = await _neighbour(session, run, older=False)
        after = part = 0


async def _open_calls(session: AsyncSession, run: AgentRun) -> dict[str, CallProgress]:
    """The calls whose results this run received from a person or a frontend."""
    query = (
        select(AgentRun.id)
        .where(
            # There is no index of the task alone.
            AgentRun.session_id == run.session_id,
            AgentRun.task_id == run.task_id,
            col(AgentRun.id) != run.id,
            col(AgentRun.created_at) <= run.created_at,
        )
        .order_by(col(AgentRun.created_at).desc())
        .limit(1)
    )
    before = (await session.exec(query)).first() if run.task_id != run.id else None
    return {} if before is None else collect_calls(await event_log.read_all(session, before))


def translate_entries(
    translator: EventTranslator, run_id: str, entries: Sequence[LogEntry], after: int, part: int = 0
) -> list[ThreadEvent]:
    """Translate a run's next log entries for a reader that has the events up to ``after``, and some of the next."""
    frames: list[ThreadEvent] = []
    for entry in entries:
        events = translator.translate(orjson.loads(entry.payload))
        if entry.seq > after:
            own = [ThreadEvent(run_id, entry.seq - 1, event, number) for number, event in enumerate(events[:-1], 1)]
            own += [ThreadEvent(run_id, entry.seq, event) for event in events[-1:]]
            frames += own[part:] if entry.seq == after + 1 else own
    return frames


async def _neighbour(session: AsyncSession, run: AgentRun, *, older: bool) -> AgentRun | None:
    """The previous or next run of a thread, whose runs never overlap."""
    query = select(AgentRun).where(AgentRun.session_id == run.session_id, col(AgentRun.id) != run.id)
    if older:
        earlier = query.where(col(AgentRun.created_at) <= run.created_at)
        return (await session.exec(earlier.order_by(col(AgentRun.created_at).desc()).limit(1))).first()
    later = query.where(col(AgentRun.created_at) > run.created_at)
    return (await session.exec(later.order_by(col(AgentRun.created_at)).limit(1))).first()
