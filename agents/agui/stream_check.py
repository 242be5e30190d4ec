"""Streams checked as they go out: what breaks AG-UI is logged, and nobody's stream ends by it."""

from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing

import orjson
from sqlmodel import col, select

from agents import event_log
from agents.agui.verifier import ProtocolViolation, Verifier
from agents.event_log import LogEntry
from agents.events import WireEvent
from agents.models import AgentRun
from core.db.database import Database
from core.errors.server import DatabaseUnavailable
from core.logging import get_logger

log = get_logger(__name__)


def check_prelude(run_id: str, prelude: Sequence[WireEvent]) -> None:
    """Check what one reader gets before the log: valid from its first event on."""
    check = _Check(run_id, Verifier())
    for event in prelude:
        check.see(event)


async def check_stream(
    database: Database, run_key: str, after: int, followed: AsyncGenerator[list[LogEntry]]
) -> AsyncGenerator[list[LogEntry]]:
    """The same entries, each checked as one of its thread before it goes on.

    Args:
        database: where the logs are.
        run_key: ``AgentRun.id``.
        after: where the reader begins; what is before it was checked when it went out.
        followed: the entries behind that.
    """
    async with aclosing(followed):
        try:
            check = await _behind(database, run_key, after)
        except DatabaseUnavailable:
            # Who follows waits for it to come back; what is before is not known then.
            check = _Check("", None)
        async for entries in followed:
            for entry in entries:
                check.see(orjson.loads(entry.payload))
            yield entries


class _Check:
    """A stream up to its first fault: what comes after it may follow from that."""

    def __init__(self, run_id: str, verifier: Verifier | None) -> None:
        self._run_id = run_id
        self._verifier = verifier

    def see(self, event: WireEvent) -> None:
        if self._verifier is None or not (rule := _broken_rule(self._verifier, event)):
            return
        self._verifier = None
        # Rules are words of ours: nothing that was said is in them.
        kind = str(event.get("type"))
        log.error("stream.violation", run_id=self._run_id, event_type=kind, rule=rule)


def _broken_rule(verifier: Verifier, event: WireEvent) -> str:
    try:
        verifier.check(event)
    except ProtocolViolation as violation:
        return str(violation)
    return ""


async def _behind(database: Database, run_key: str, after: int) -> _Check:
    """A check that has seen the thread up to a place of a run."""
    verifier = Verifier()
    async with database.reading() as session:
        run = await session.get(AgentRun, run_key)
        if run is None:
            return _Check("", verifier)
        keys = select(AgentRun.id).where(
            AgentRun.session_id == run.session_id, col(AgentRun.created_at) < run.created_at
        )
        seen: list[WireEvent] = []
        for key in (await session.exec(keys.order_by(col(AgentRun.created_at)))).all():
            seen += await event_log.read_all(session, key)
        own = await event_log.read_all(session, run_key)
    for event in [*seen, *own[:after]]:
        _broken_rule(verifier, _named(event, own[0]))
    return _Check(run.run_id, verifier)


def _named(event: WireEvent, first: WireEvent) -> WireEvent:
    """The event under the name by which the run that begins with ``first`` has the thread.

    Callers may name a thread by an id of their own, or by its session's.
    """
    return {**event, "threadId": first["threadId"]} if "threadId" in event else event
