"""Events of schedules: each due time of a rule once."""

from datetime import timedelta

from pydantic import JsonValue
from sqlmodel import col, select

from core.db.database import Database
from core.db.now import database_now
from core.db.unit_of_work import unit_of_work
from rules import intake
from rules.intake import IncomingEvent
from rules.language.definition import SCHEDULE_EVENT, RuleDefinition
from rules.models import Rule, SourceKind

_AT_ONCE = 200
_INSTANT = timedelta(seconds=1)


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
            trigger = RuleDefinition.model_validate(rule.definition).trigger_config.schedule
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
