"""Calendar feeds: a secret address per person for calendar programs."""

import secrets
from collections.abc import Sequence
from datetime import timedelta
from importlib import import_module

from sqlmodel import col, select
from sqlmodel.ext.asyncio.session import AsyncSession

from agents.calendar.models import CalendarEvent, CalendarFeed
from agents.calendar.service import TimeRange, list_events
from core.auth.api_keys import hash_api_key
from core.auth.models import User
from core.db.pagination import PageRequest
from core.db.types import utc_now
from core.db.unit_of_work import UnitOfWork
from core.errors.auth import CalendarFeedNotFound

MOST_EVENTS = 5000
PAST_DAYS = 366
"""How far back the feed goes; an event older than that is no longer in it."""
_ACTIVE = "active"


async def rotate(work: UnitOfWork, owner_id: str) -> tuple[CalendarFeed, str]:
    """Create or replace a feed's token, which is returned but not stored."""
    token = secrets.token_urlsafe(32)
    row = await work.session.get(CalendarFeed, owner_id) or CalendarFeed(owner_id=owner_id, token_hash="")
    row.token_hash, row.created_at = hash_api_key(token), utc_now()
    work.session.add(row)
    await work.session.flush()
    return row, token


async def get(session: AsyncSession, owner_id: str) -> CalendarFeed:
    """A person's feed."""
    row = await session.get(CalendarFeed, owner_id)
    if row is None:
        raise CalendarFeedNotFound
    return row


async def revoke(work: UnitOfWork, owner_id: str) -> None:
    """Delete a person's feed and so its address."""
    await work.session.delete(await get(work.session, owner_id))


async def read(session: AsyncSession, token: str) -> Sequence[CalendarEvent]:
    """The events of the feed with this token."""
    query = (
        select(CalendarFeed)
        .join(User, col(User.id) == col(CalendarFeed.owner_id))
        .where(CalendarFeed.token_hash == hash_api_key(token), User.status == _ACTIVE)
    )
    feed = (await session.exec(query)).first()
    if feed is None:
        raise CalendarFeedNotFound
    since = TimeRange(start=utc_now() - timedelta(days=PAST_DAYS))
    page = PageRequest(1, MOST_EVENTS, "start", descending=False)
    return (await list_events(session, feed.owner_id, since, page)).items


def to_ics(rows: Sequence[CalendarEvent]) -> bytes:
    """The events as iCalendar (RFC 5545); the library is loaded with the first feed."""
    return import_module("agents.calendar.ics").to_ics(rows)
