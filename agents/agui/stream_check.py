"""AG-UI checks of outgoing streams, which log violations but end no stream."""

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
    """Check the events that precede the log."""
    check = _Check(run_id, Verifier())
    for event in prelude:
        check.see(event)


async def check_stream(
    database: Database, run_key: str, after: int, followed: AsyncGenerator[list[LogEntry]]
) -> AsyncGenerator[list[LogEntry]]:
    """Check the entries after number ``after`` as part of their thread and pass them on."""
    async with aclosing(followed):
        try:
            check = await _behind(database, run_key, after)
        except DatabaseUnavailable:
            # The stream waits for the database to come back; without the earlier events
            # nothing can be checked.
            check = _Check("", None)
        async for entries in followed:
            for entry in entries:
                check.see(orjson.loads(entry.payload))
            yield entries


class _Check:
    """Checks a stream up to its first violation, which may cause later ones."""

    def __init__(self, run_id: str, verifier: Verifier | None) -> None:
        self._run_id = run_id
        self._verifier = verifier

    def see(self, event: WireEvent) -> None:
        if self._verifier is None or not (rule := _broken_rule(self._verifier, event)):
            return
        self._verifier = None
        # Rules hold our own words, no user content.
        kind = str(event.get("type"))
        log.error("stream.violation", run_id=self._run_id, event_type=kind, rule=rule)


def _broken_rule(verifier: Verifier, event: WireEvent) -> str:
    try:
        verifier.check(event)
    except ProtocolViolation as violation:
        return str(violation)
    return ""


async def _behind(database: Database, run_key: str, after: int) -> _Check:
    """A check that has seen the thread up to a sequence number of a run."""
    verifier = Verifier()
    async with database.reading() as session:
        run = await session.get(AgentRun, run_key)
        if run is None:
            return _Check("", verifier)
        keys = select(AgentRun.id).where(
            AgentRun.session_id == run.session_id, col(AgentRun.created_at) < run.created_at
        )
        earlier: list[WireEvent] = []
        for key in (await session.exec(keys.order_by(col(AgentRun.created_at)))).all():
            earlier += await event_log.read_all(session, key)
        own = await event_log.read_all(session, run_key)
    for event in [*earlier, *own[:after]]:
        _broken_rule(verifier, _with_thread_id(event, own[0]))
    return _Check(run.run_id, verifier)


def _with_thread_id(event: WireEvent, first: WireEvent) -> WireEvent:
    """The event with the thread id of ``first``: callers may use their own id or the session's."""
    return {**event, "threadId": first["threadId"]} if "threadId" in event else event
