"""The append-only log of each run: the source of truth for every subscriber."""

from collections.abc import Sequence
from dataclasses import dataclass

import orjson
from sqlalchemy import bindparam, insert, update
from sqlalchemy.ext.asyncio import AsyncConnection
from sqlmodel import col, select
from sqlmodel.ext.asyncio.session import AsyncSession

from agents.events import WireEvent
from agents.models import AgentRun, LoggedEvent, RunStatus
from core.db.types import utc_now
from core.errors.base import AgentexError

_READ_BATCH = 500
# Built once: they run for every token, and building a statement takes as long as running it.
_IS_HELD = (col(AgentRun.lease_owner) == bindparam("driver"), col(AgentRun.status) == RunStatus.RUNNING.value)
_COUNT_EACH = (
    update(AgentRun)
    .where(col(AgentRun.id) == bindparam("key"))
    .values(last_seq=AgentRun.last_seq + bindparam("more"), own_events=bindparam("own"))
)
_COUNT = _COUNT_EACH.returning(col(AgentRun.last_seq))
_COUNT_HELD = _COUNT.where(*_IS_HELD)
# In a fixed order, to prevent deadlocks between multi-row locks.
_HELD = (
    select(AgentRun.id, AgentRun.last_seq)
    .where(col(AgentRun.id).in_(bindparam("keys", expanding=True)), *_IS_HELD)
    .order_by(col(AgentRun.id))
    .with_for_update()
)
_ADD = insert(LoggedEvent)
_BEHIND = (
    select(LoggedEvent.seq, LoggedEvent.type, LoggedEvent.payload)
    .where(LoggedEvent.run_id == bindparam("run_key"), col(LoggedEvent.seq) > bindparam("after"))
    .order_by(col(LoggedEvent.seq))
    .limit(_READ_BATCH)
)
TERMINAL_TYPES = frozenset({"RUN_FINISHED", "RUN_ERROR"})


class LogClosed(AgentexError):
    """The run is over or driven by another process: nothing was appended."""


@dataclass(frozen=True, slots=True)
class LogEntry:
    """One event with its sequence number, from 1 without gaps."""

    seq: int
    type: str
    payload: str

    @property
    def is_terminal(self) -> bool:
        return self.type in TERMINAL_TYPES


@dataclass(frozen=True, slots=True)
class LogAddition:
    """Events to append to one log; may be empty if other data is written under the same lease.

    ``own_events`` is the journal's count including the last event.
    """

    run_key: str
    events: Sequence[WireEvent]
    own_events: int = 0


async def append(
    session: AsyncSession, run_key: str, events: Sequence[WireEvent], *, own_events: int = 0
) -> list[LogEntry]:
    """Append to the log of a run that the caller starts or ends in this transaction.

    ``own_events`` is the journal's count including the last event.
    """
    connection = await session.connection()
    parameters = {"key": run_key, "more": len(events), "own": own_events}
    last = (await connection.execute(_COUNT, parameters)).scalar()
    if last is None:
        raise LogClosed
    entries = _numbered(events, last - len(events))
    if entries:
        await connection.execute(_ADD, _lines(run_key, entries))
    return entries


async def open_log(session: AsyncSession, run_key: str, events: Sequence[WireEvent]) -> list[LogEntry]:
    """Write the first events of a run (``AgentRun.id``) whose new row already counts them."""
    entries = _numbered(events, 0)
    await (await session.connection()).execute(_ADD, _lines(run_key, entries))
    return entries


async def append_all(
    session: AsyncSession, additions: Sequence[LogAddition], *, driver: str
) -> list[list[LogEntry] | None]:
    """Append to the logs of several runs of one driver, in the caller's transaction.

    Returns:
        The appended entries per addition (at most one per run); None where the lease does not hold.
    """
    connection = await session.connection()
    last = await _count(connection, additions, driver)
    appended: list[list[LogEntry] | None] = []
    lines: list[dict[str, object]] = []
    for addition in additions:
        if addition.run_key not in last:
            appended.append(None)
            continue
        entries = _numbered(addition.events, last[addition.run_key])
        lines += _lines(addition.run_key, entries)
        appended.append(entries)
    if lines:
        await connection.execute(_ADD, lines)
    return appended


async def _count(connection: AsyncConnection, additions: Sequence[LogAddition], driver: str) -> dict[str, int]:
    """Add to the event counts of leased runs; returns each run's last number before."""
    if len(additions) == 1:
        # The usual case, with one statement less.
        (addition,) = additions
        more = len(addition.events)
        parameters = {"key": addition.run_key, "driver": driver, "more": more, "own": addition.own_events}
        last = (await connection.execute(_COUNT_HELD, parameters)).scalar()
        return {} if last is None else {addition.run_key: last - more}
    keys = [addition.run_key for addition in additions]
    rows = await connection.execute(_HELD, {"keys": keys, "driver": driver})
    last_numbers: dict[str, int] = {row.id: row.last_seq for row in rows}
    counted = [
        {"key": new.run_key, "more": len(new.events), "own": new.own_events}
        for new in additions
        if new.run_key in last_numbers
    ]
    if counted:
        await connection.execute(_COUNT_EACH, counted)
    return last_numbers


def _numbered(events: Sequence[WireEvent], last: int) -> list[LogEntry]:
    return [
        LogEntry(seq, str(event["type"]), orjson.dumps(event).decode())
        for seq, event in enumerate(events, start=last + 1)
    ]


def _lines(run_key: str, entries: Sequence[LogEntry]) -> list[dict[str, object]]:
    now = utc_now()
    return [
        {"run_id": run_key, "seq": entry.seq, "type": entry.type, "payload": entry.payload, "created_at": now}
        for entry in entries
    ]


async def read(session: AsyncSession, run_key: str, *, after: int) -> list[LogEntry]:
    """The next events behind a sequence number, at most 500."""
    connection = await session.connection()
    rows = await connection.execute(_BEHIND, {"run_key": run_key, "after": after})
    return [LogEntry(*row) for row in rows]


async def read_all(session: AsyncSession, run_key: str) -> list[WireEvent]:
    """All events of a run so far."""
    events: list[WireEvent] = []
    while entries := await read(session, run_key, after=len(events)):
        events += [orjson.loads(entry.payload) for entry in entries]
    return events
