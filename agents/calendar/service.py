"""Calendar events: create, read, update and delete in the caller's transaction."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import func
from sqlmodel import col, select
from sqlmodel.ext.asyncio.session import AsyncSession

from agents.calendar.models import CalendarEvent
from agents.calendar.time_span import TimeInput, TimeSpan, changed_span, new_span
from core.db.pagination import PageRequest, paginate
from core.db.types import utc_now
from core.db.unit_of_work import UnitOfWork
from core.errors.auth import CalendarEventNotFound
from core.errors.requests import InvalidRequest

LONGEST_TITLE = 200
LONGEST_LOCATION = 500
LONGEST_NOTES = 5000
SORT_FIELDS = ("start", "created_at", "updated_at", "title")


@dataclass(frozen=True, slots=True)
class EventDetails:
    """An event's fields besides its times; None leaves a field as it is."""

    title: str | None = None
    location: str | None = None
    notes: str | None = None


@dataclass(frozen=True, slots=True)
class TimeRange:
    """Events that overlap this range; None is open."""

    start: datetime | None = None
    end: datetime | None = None


@dataclass(frozen=True, slots=True)
class EventListing:
    """One page of events, and how many there are in all."""

    items: Sequence[CalendarEvent]
    total: int


async def create(
    work: UnitOfWork, owner_id: str, details: EventDetails, times: TimeInput, *, run_key: str | None = None
) -> tuple[CalendarEvent, TimeSpan]:
    """Create an event; ``run_key`` is the ``AgentRun.id`` of the run that creates it."""
    span = new_span(times)
    row = CalendarEvent(
        owner_id=owner_id,
        title=_title(details.title or ""),
        starts_at=span.starts_at,
        ends_at=span.ends_at,
        time_zone=span.zone.key,
        all_day=span.all_day,
        location=details.location or "",
        notes=details.notes or "",
        source_run_id=run_key,
    )
    work.session.add(row)
    await work.session.flush()
    return row, span


async def get(session: AsyncSession, owner_id: str, event_id: str) -> CalendarEvent:
    """One of a person's events."""
    query = select(CalendarEvent).where(CalendarEvent.id == event_id, CalendarEvent.owner_id == owner_id)
    row = (await session.exec(query)).first()
    if row is None:
        raise CalendarEventNotFound
    return row


async def list_events(session: AsyncSession, owner_id: str, between: TimeRange, page: PageRequest) -> EventListing:
    """One page of a person's events."""
    conditions = [col(CalendarEvent.owner_id) == owner_id]
    if between.start is not None:
        conditions.append(col(CalendarEvent.ends_at) > between.start)
    if between.end is not None:
        conditions.append(col(CalendarEvent.starts_at) < between.end)
    query = paginate(
        select(CalendarEvent).where(*conditions),
        page,
        columns={
            "start": col(CalendarEvent.starts_at),
            "created_at": col(CalendarEvent.created_at),
            "updated_at": col(CalendarEvent.updated_at),
            "title": col(CalendarEvent.title),
        },
        tie=col(CalendarEvent.id),
    )
    total = select(func.count()).select_from(CalendarEvent).where(*conditions)
    return EventListing((await session.exec(query)).all(), (await session.exec(total)).one())


async def update(work: UnitOfWork, row: CalendarEvent, details: EventDetails, times: TimeInput) -> TimeSpan | None:
    """Change an event; its sequence grows if anything differs. Returns the new times, None if they stay."""
    before = row.model_dump()
    span = changed_span(row, times)
    if span is not None:
        row.starts_at, row.ends_at = span.starts_at, span.ends_at
        row.time_zone, row.all_day = span.zone.key, span.all_day
    if details.title is not None:
        row.title = _title(details.title)
    if details.location is not None:
        row.location = details.location
    if details.notes is not None:
        row.notes = details.notes
    if row.model_dump() != before:
        row.sequence += 1
        row.updated_at = utc_now()
        work.session.add(row)
    return span


async def delete(work: UnitOfWork, row: CalendarEvent) -> None:
    """Delete an event."""
    await work.session.delete(row)


def _title(text: str) -> str:
    title = " ".join(text.split())
    if not title:
        raise InvalidRequest("title", "Say what it is")
    return title
