"""The append-only log of each run: the truth that every subscriber reads."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass

import orjson
from sqlalchemy import insert, update
from sqlmodel import col, select
from sqlmodel.ext.asyncio.session import AsyncSession

from agents.events import WireEvent
from agents.tables import AgentRun, LoggedEvent, RunStatus
from core.database.types import utc_now
from core.errors import AgentexError

_READ_BATCH = 500
TERMINAL_TYPES = frozenset({"RUN_FINISHED", "RUN_ERROR"})


class LogClosed(AgentexError):
    """The run is over or driven by another process: nothing was appended."""


@dataclass(frozen=True, slots=True)
class LogEntry:
    """One event with its place in the run's log, from 1 without gaps."""

    seq: int
    type: str
    payload: str

    @property
    def is_terminal(self) -> bool:
        """Whether it is the run's last one."""
        return self.type in TERMINAL_TYPES


async def append(
    session: AsyncSession,
    run_key: str,
    events: Sequence[WireEvent],
    *,
    driver: str | None = None,
    own_events: int = 0,
) -> list[LogEntry]:
    """Append events in the caller's transaction.

    Args:
        session: a writing session.
        run_key: ``AgentRun.id``.
        events: in order; may be none, where something else is written under the same lease.
        driver: whose lease on the running run must hold; None for who began or ended the run in
            this very transaction.
        own_events: the journal's count with the last of them.

    Returns:
        What was appended; it counts once the transaction is committed.

    Raises:
        LogClosed: the lease does not hold.
    """
    counted = update(AgentRun).where(col(AgentRun.id) == run_key)
    if driver is not None:
        counted = counted.where(
            col(AgentRun.lease_owner) == driver, col(AgentRun.status) == RunStatus.RUNNING.value
        )
    counted = counted.values(last_seq=AgentRun.last_seq + len(events), own_events=own_events)
    # Nobody reads the row from this session; looking for it there would cost more than the write.
    unsynchronized = {"synchronize_session": False}
    returning = counted.returning(col(AgentRun.last_seq)).execution_options(**unsynchronized)
    row = (await session.exec(returning)).first()
    if row is None:
        raise LogClosed
    if not events:
        return []
    entries = [
        LogEntry(seq, str(event["type"]), orjson.dumps(event).decode())
        for seq, event in enumerate(events, start=row[0] - len(events) + 1)
    ]
    now = utc_now()
    lines = [{"run_id": run_key, "created_at": now, **asdict(entry)} for entry in entries]
    await session.exec(insert(LoggedEvent), params=lines)
    return entries


async def read(session: AsyncSession, run_key: str, *, after: int) -> list[LogEntry]:
    """The next events behind a sequence number, at most 500."""
    query = (
        select(LoggedEvent.seq, LoggedEvent.type, LoggedEvent.payload)
        .where(LoggedEvent.run_id == run_key, col(LoggedEvent.seq) > after)
        .order_by(col(LoggedEvent.seq))
        .limit(_READ_BATCH)
    )
    return [LogEntry(*row) for row in (await session.exec(query)).all()]


async def read_all(session: AsyncSession, run_key: str) -> list[WireEvent]:
    """All events of a run so far."""
    events: list[WireEvent] = []
    while entries := await read(session, run_key, after=len(events)):
        events += [orjson.loads(entry.payload) for entry in entries]
    return events
