"""Events of schedules: each due time of a rule once."""

import asyncio
from collections.abc import Mapping
from datetime import datetime, timedelta

from pydantic import JsonValue, ValidationError
from sqlalchemy import update
from sqlmodel import col, select

from core.db.database import Database
from core.db.now import database_now
from core.db.unit_of_work import unit_of_work
from core.logging import get_logger
from rules import intake
from rules.intake import IncomingEvent
from rules.language.definition import SCHEDULE_EVENT, RuleDefinition, ScheduleTrigger
from rules.language.errors import RuleError
from rules.models import Rule, SourceKind

log = get_logger(__name__)

_AT_ONCE = 200
_INSTANT = timedelta(seconds=1)


class ScheduleEvents:
    """Accepts what is due, also where the clock was set back since the due times were stored."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._looked_at: datetime | None = None

    async def read(self) -> int:
        """Accept an event for each schedule that is due; returns how many there were."""
        async with self._database.reading() as session:
            now = await database_now(session)
        # What happened to the clock before this process began, nobody knows.
        if self._looked_at is None or now < self._looked_at:
            await bring_forward(self._database, now)
        self._looked_at = now
        return await accept_due(self._database)


async def bring_forward(database: Database, now: datetime) -> None:
    """Correct due times that lie further ahead than their schedules say; a time that was dealt with stays one event."""
    async with database.reading() as session:
        query = select(Rule).where(col(Rule.due_at) > now, col(Rule.enabled).is_(True))
        waiting = (await session.exec(query)).all()
    for rule in waiting:
        # Reading many definitions takes a while.
        await asyncio.sleep(0)
        trigger = _read_schedule(rule.id, rule.definition)
        next_time = None if trigger is None else trigger.parse().next_after(now)
        if next_time is None or rule.due_at is None or rule.due_at <= next_time:
            continue
        async with unit_of_work(database) as work:
            same = update(Rule).where(col(Rule.id) == rule.id, col(Rule.due_at) == rule.due_at)
            await work.session.exec(same.values(due_at=next_time))


async def accept_due(database: Database) -> int:
    """Accept an event for each schedule that is due; returns how many there were.

    The next due time is stored in the same transaction, and the event's id names the due time, so that two processes
    make one event of it.
    """
    async with database.reading() as session:
        now = await database_now(session)
        is_due = select(Rule.id).where(col(Rule.due_at) <= now, col(Rule.enabled).is_(True))
        due = (await session.exec(is_due.order_by(col(Rule.due_at)).limit(_AT_ONCE))).all()
    if not due:
        return 0
    accepted = 0
    async with unit_of_work(database) as work:
        query = select(Rule).where(col(Rule.id).in_(due), col(Rule.due_at) <= now).with_for_update(skip_locked=True)
        for rule in (await work.session.exec(query)).all():
            trigger = _read_schedule(rule.id, rule.definition)
            if trigger is None or rule.due_at is None:
                rule.due_at = None
                continue
            schedule = trigger.parse()
            # The look before was an instant before the time that is due.
            due_time = schedule.due(rule.due_at.replace(microsecond=0) - _INSTANT, now, trigger.catch_up_minutes)
            if due_time is not None:
                data: JsonValue = {"due_at": due_time.time.isoformat(), "is_late": due_time.is_late}
                event = IncomingEvent(
                    owner_id=rule.owner_id,
                    source_kind=SourceKind.SCHEDULE,
                    source_id=rule.id,
                    type=SCHEDULE_EVENT,
                    data=data,
                    id=due_time.time.isoformat(),
                    occurred_at=due_time.time,
                )
                accepted += await intake.accept(work, [event])
            rule.due_at = schedule.next_after(now)
            work.session.add(rule)
    return accepted


def _read_schedule(rule_id: str, definition: Mapping[str, JsonValue]) -> ScheduleTrigger | None:
    try:
        trigger = RuleDefinition.model_validate(definition).trigger_config.schedule
        if trigger is not None:
            trigger.parse()
    except (ValidationError, RuleError):
        # Written by another version of the product, or for a zone that is gone; others must not wait for it.
        log.warning("rule.unreadable", rule_id=rule_id)
        return None
    return trigger
