"""The end of what is kept of events and firings."""

from datetime import timedelta

from sqlalchemy import delete, func
from sqlmodel import col, select

from core.auth.models import Share
from core.db.database import Database
from core.db.types import utc_now
from core.db.unit_of_work import unit_of_work
from rules.models import OPEN_STATUSES, AcceptedEvent, EventDrop, Notification, Rule, RuleFiring, RuleKey

EVENT_DAYS = 7
"""How long an event's id is known: the same id is no second event as long."""
NOTIFICATION_DAYS = 90
DROP_DAYS = 90
"""How long the number of dropped events of a source is shown after the last one."""
MOST_FIRINGS = 1000
"""Of one rule; the oldest go first."""
_KEY_DAYS = 31


async def delete_old(database: Database, *, log_days: int) -> None:
    """Delete what is older than it is kept; what is open stays."""
    now = utc_now()
    is_open = col(RuleFiring.status).in_(OPEN_STATUSES)
    async with unit_of_work(database) as work:
        session = work.session
        aged = col(AcceptedEvent.accepted_at) < now - timedelta(days=EVENT_DAYS)
        await session.exec(delete(AcceptedEvent).where(aged, col(AcceptedEvent.is_decided).is_(True)))
        await session.exec(
            delete(RuleFiring).where(col(RuleFiring.executed_at) < now - timedelta(days=log_days), ~is_open)
        )
        await session.exec(
            delete(Notification).where(col(Notification.created_at) < now - timedelta(days=NOTIFICATION_DAYS))
        )
        await session.exec(delete(EventDrop).where(col(EventDrop.last_at) < now - timedelta(days=DROP_DAYS)))
        await session.exec(delete(RuleKey).where(col(RuleKey.updated_at) < now - timedelta(days=_KEY_DAYS)))
        # Of rules that went with their owners' accounts.
        await session.exec(
            delete(Share).where(col(Share.kind) == Rule.SHARE_KIND, col(Share.resource_id).not_in(select(Rule.id)))
        )
    async with database.reading() as session:
        full = select(RuleFiring.rule_id).group_by(col(RuleFiring.rule_id)).having(func.count() > MOST_FIRINGS)
        rule_ids = (await session.exec(full)).all()
    for rule_id in rule_ids:
        async with unit_of_work(database) as work:
            mine = col(RuleFiring.rule_id) == rule_id
            newest = select(RuleFiring.executed_at).where(mine).order_by(col(RuleFiring.executed_at).desc())
            last = (await work.session.exec(newest.offset(MOST_FIRINGS).limit(1))).first()
            if last is not None:
                await work.session.exec(delete(RuleFiring).where(mine, col(RuleFiring.executed_at) <= last, ~is_open))
