"""The log of a rule: its firings, newest first, and those that are new."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import and_, func, or_
from sqlmodel import col, select
from sqlmodel.ext.asyncio.session import AsyncSession

from core.db.pagination import PageRequest
from core.errors.auth import RuleLogNotFound
from rules.models import OPEN_STATUSES, RuleFiring

SORT_FIELDS = ("executed_at", "execution_time")


@dataclass(frozen=True, slots=True)
class LogFilter:
    """Firings of a status within a time; None is open."""

    status: str | None = None
    start: datetime | None = None
    end: datetime | None = None


@dataclass(frozen=True, slots=True)
class LogListing:
    """One page of firings, and how many there are in all."""

    items: Sequence[RuleFiring]
    total: int


async def list_page(session: AsyncSession, rule_id: str, filters: LogFilter, page: PageRequest) -> LogListing:
    """One page of a rule's log."""
    conditions = [col(RuleFiring.rule_id) == rule_id]
    if filters.status is not None:
        conditions.append(col(RuleFiring.status) == filters.status)
    if filters.start is not None:
        conditions.append(col(RuleFiring.executed_at) >= filters.start)
    if filters.end is not None:
        conditions.append(col(RuleFiring.executed_at) <= filters.end)
    columns = {"executed_at": col(RuleFiring.executed_at), "execution_time": col(RuleFiring.execution_time)}
    # Decisions of one round have one time: their events' order tells which is newer.
    order = (columns[page.sort_by], col(RuleFiring.event_seq))
    query = select(RuleFiring).where(*conditions)
    query = query.order_by(*(column.desc() if page.descending else column.asc() for column in order))
    query = query.offset((page.number - 1) * page.size).limit(page.size)
    total = select(func.count()).select_from(RuleFiring).where(*conditions)
    return LogListing((await session.exec(query)).all(), (await session.exec(total)).one())


async def get(session: AsyncSession, rule_id: str, log_id: str) -> RuleFiring:
    """One firing of a rule."""
    query = select(RuleFiring).where(RuleFiring.id == log_id, RuleFiring.rule_id == rule_id)
    row = (await session.exec(query)).first()
    if row is None:
        raise RuleLogNotFound
    return row


async def newest_seq(session: AsyncSession, rule_id: str) -> int:
    """The number of the event that a rule was asked about last; 0 for none."""
    query = select(func.max(RuleFiring.event_seq)).where(RuleFiring.rule_id == rule_id)
    return (await session.exec(query)).one() or 0


async def list_open(session: AsyncSession, rule_id: str, limit: int) -> Sequence[RuleFiring]:
    """Firings that wait for a process or have one, in the events' order."""
    query = select(RuleFiring).where(RuleFiring.rule_id == rule_id, col(RuleFiring.status).in_(OPEN_STATUSES))
    return (await session.exec(query.order_by(col(RuleFiring.event_seq)).limit(limit))).all()


async def list_changes(
    session: AsyncSession, rule_id: str, after_seq: int, open_ids: Sequence[str], limit: int
) -> Sequence[RuleFiring]:
    """Firings of events after a number, and the ended ones of ``open_ids``; in the events' order.

    Events are decided in the order of their numbers by a single process, so none appears behind a later one.
    """
    ended = and_(col(RuleFiring.id).in_(open_ids), col(RuleFiring.status).not_in(OPEN_STATUSES))
    is_new = col(RuleFiring.event_seq) > after_seq
    query = select(RuleFiring).where(RuleFiring.rule_id == rule_id, or_(is_new, ended))
    return (await session.exec(query.order_by(col(RuleFiring.event_seq)).limit(limit))).all()
