"""What the runs of sessions wait for."""

from collections.abc import Mapping, Sequence
from datetime import datetime

from sqlalchemy import ColumnElement
from sqlmodel import col, select
from sqlmodel.ext.asyncio.session import AsyncSession

from agents.models import ChatSession, RunInterrupt


def waits_at(now: datetime) -> ColumnElement[bool]:
    """Condition on ``ChatSession``: its run waits for an answer that can still be given at a time."""
    query = select(RunInterrupt.id).where(col(RunInterrupt.run_id) == col(ChatSession.waiting_run_id), *_open_at(now))
    return query.correlate(ChatSession).exists()


async def open_interrupts(
    session: AsyncSession, rows: Sequence[ChatSession], now: datetime
) -> Mapping[str, Sequence[RunInterrupt]]:
    """The interrupts of these sessions that can still be answered, oldest first, by ``ChatSession.id``."""
    waiting = {row.waiting_run_id: row.id for row in rows if row.waiting_run_id is not None}
    if not waiting:
        return {}
    query = select(RunInterrupt).where(col(RunInterrupt.run_id).in_(waiting), *_open_at(now))
    by_session: dict[str, list[RunInterrupt]] = {}
    for interrupt in (await session.exec(query.order_by(col(RunInterrupt.created_at), col(RunInterrupt.id)))).all():
        by_session.setdefault(waiting[interrupt.run_id], []).append(interrupt)
    return by_session


def _open_at(now: datetime) -> tuple[ColumnElement[bool], ...]:
    return col(RunInterrupt.status) == "open", col(RunInterrupt.expires_at) >= now
