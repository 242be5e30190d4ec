"""The caller's calendar: events, and a feed for calendar programs."""

import asyncio
from datetime import datetime
from typing import Annotated
from urllib.parse import urlencode
from zoneinfo import ZoneInfo

from fastapi import Depends, Query
from fastapi.responses import Response
from pydantic import Field
from sqlmodel.ext.asyncio.session import AsyncSession

from agents.calendar import feeds
from agents.calendar import service as calendar_events
from agents.calendar.local_time import BadTime, local_day, read_bound
from agents.calendar.models import CalendarEvent
from agents.calendar.service import LONGEST_LOCATION, LONGEST_NOTES, LONGEST_TITLE, EventDetails, TimeRange
from agents.calendar.time_span import TimeInput, TimeSpan, event_zone
from agents.client_time import UserClock
from api.dependencies import CurrentDatabase, CurrentPrincipal, Reading, Writing, paging, requires
from api.http.errors import error_responses
from api.http.responses import Empty, Envelope, Items, RequestModel, ResponseModel, Secret, Text, page_of
from api.http.routing import Router
from core.auth.permissions import Permission
from core.auth.principal import Principal
from core.auth.users import get_user
from core.db.pagination import PageRequest
from core.errors.auth import CalendarEventNotFound, CalendarFeedNotFound
from core.errors.requests import InvalidPagination, InvalidRequest
from core.time_zones import LONGEST_NAME

router = Router(prefix="/api/v1/calendar", tags=["calendar"])
View = Depends(requires(Permission.CALENDAR_VIEW))
Write = Depends(requires(Permission.CALENDAR_WRITE))
FEED_PATH = "/api/v1/calendar/feed.ics"
_MEDIA_TYPE = "text/calendar; charset=utf-8"
_ZONE = "IANA name; without it the account's own time zone, else UTC."
_TIME = "Local time in `event_timezone` such as 2026-03-17T09:00, or one with an offset; for an all-day event a date."


class EventBody(RequestModel):
    """A new event."""

    title: Text = Field(min_length=1, max_length=LONGEST_TITLE, examples=["周会"])
    start: Text = Field(max_length=40, description=_TIME, examples=["2026-03-17T09:00"])
    end: Text | None = Field(
        default=None,
        max_length=40,
        description="Like start, for an all-day event the day after its last one; without it an hour or a day.",
    )
    event_timezone: Text | None = Field(
        default=None, max_length=LONGEST_NAME, description=_ZONE, examples=["Asia/Shanghai"]
    )
    all_day: bool = False
    location: Text = Field(default="", max_length=LONGEST_LOCATION)
    notes: Text = Field(default="", max_length=LONGEST_NOTES)


class EventChangeBody(RequestModel):
    """What may be changed; what is left out stays. A new start alone keeps the event's length."""

    title: Text | None = Field(default=None, max_length=LONGEST_TITLE)
    start: Text | None = Field(default=None, max_length=40, description=_TIME)
    end: Text | None = Field(default=None, max_length=40)
    event_timezone: Text | None = Field(
        default=None, max_length=LONGEST_NAME, description="For start and end; else the event's."
    )
    all_day: bool | None = None
    location: Text | None = Field(default=None, max_length=LONGEST_LOCATION)
    notes: Text | None = Field(default=None, max_length=LONGEST_NOTES)


class EventAnswer(ResponseModel):
    """An event; ``start`` and ``end`` are in UTC, the local ones in its own time zone.

    Of an all-day event the local ones are days, ``end_local`` the one after its last. ``sequence``
    counts its changes. ``time_notes`` tells what was decided where a time was ambiguous.
    """

    id: str
    title: str
    start: datetime
    end: datetime
    start_local: str
    end_local: str
    event_timezone: str
    all_day: bool
    location: str
    notes: str
    sequence: int
    created_by_agent: bool
    created_at: datetime
    updated_at: datetime
    time_notes: list[str] = Field(default_factory=list)


class FeedAnswer(ResponseModel):
    """The feed; its address is shown only when it is made."""

    created_at: datetime


class NewFeed(ResponseModel):
    """The feed's new address, relative to this server: whoever has it reads the calendar."""

    url: str
    token: str
    created_at: datetime


def _answer(row: CalendarEvent, span: TimeSpan | None = None) -> EventAnswer:
    zone = event_zone(row)
    return EventAnswer(
        id=row.id,
        title=row.title,
        start=row.starts_at,
        end=row.ends_at,
        start_local=_local(row.starts_at, zone, all_day=row.all_day),
        end_local=_local(row.ends_at, zone, all_day=row.all_day),
        event_timezone=row.time_zone,
        all_day=row.all_day,
        location=row.location,
        notes=row.notes,
        sequence=row.sequence,
        created_by_agent=row.source_run_id is not None,
        created_at=row.created_at,
        updated_at=row.updated_at,
        time_notes=[] if span is None else list(span.notes),
    )


def _local(moment: datetime, zone: ZoneInfo, *, all_day: bool) -> str:
    if all_day:
        return local_day(moment, zone).isoformat()
    return moment.astimezone(zone).isoformat(timespec="seconds")


async def _zone(session: AsyncSession, principal: Principal, name: str | None) -> ZoneInfo:
    account = await get_user(session, principal.user_id)
    return UserClock(None, account.time_zone).zone(name).zone


async def _range(
    principal: CurrentPrincipal,
    session: Reading,
    start: Annotated[Text | None, Query(max_length=40, description="Day or time")] = None,
    end: Annotated[Text | None, Query(max_length=40, description="Day or time, not within")] = None,
    event_timezone: Annotated[Text | None, Query(max_length=LONGEST_NAME, description=_ZONE)] = None,
) -> TimeRange:
    zone = await _zone(session, principal, event_timezone)
    return TimeRange(_bound("start", start, zone), _bound("end", end, zone))


def _bound(field: str, text: str | None, zone: ZoneInfo) -> datetime | None:
    if not text:
        return None
    try:
        return read_bound(text, zone)
    except BadTime as error:
        raise InvalidRequest(field, str(error)) from error


@router.get("/events", dependencies=[View], responses=error_responses(InvalidRequest, InvalidPagination))
async def list_events(
    principal: CurrentPrincipal,
    session: Reading,
    page: Annotated[PageRequest, Depends(paging(*calendar_events.SORT_FIELDS, descending=False))],
    between: Annotated[TimeRange, Depends(_range)],
) -> Envelope[Items[EventAnswer]]:
    """One's own events, or those that take place in a range."""
    listing = await calendar_events.list_events(session, principal.user_id, between, page)
    return page_of([_answer(row) for row in listing.items], page, total=listing.total)


@router.post("/events", dependencies=[Write])
async def create_event(body: EventBody, principal: CurrentPrincipal, work: Writing) -> Envelope[EventAnswer]:
    """Put an event into one's calendar."""
    zone = await _zone(work.session, principal, body.event_timezone)
    times = TimeInput(zone, body.start, body.end, body.all_day, instants=True)
    details = EventDetails(body.title, body.location, body.notes)
    row, span = await calendar_events.create(work, principal.user_id, details, times)
    return Envelope(data=_answer(row, span))


@router.get("/events/{event_id}", dependencies=[View], responses=error_responses(CalendarEventNotFound))
async def read_event(event_id: Text, principal: CurrentPrincipal, session: Reading) -> Envelope[EventAnswer]:
    """One event."""
    return Envelope(data=_answer(await calendar_events.get(session, principal.user_id, event_id)))


@router.patch("/events/{event_id}", dependencies=[Write], responses=error_responses(CalendarEventNotFound))
async def change_event(
    event_id: Text, body: EventChangeBody, principal: CurrentPrincipal, work: Writing
) -> Envelope[EventAnswer]:
    """Change an event."""
    row = await calendar_events.get(work.session, principal.user_id, event_id)
    zone = UserClock().zone(body.event_timezone).zone if body.event_timezone else event_zone(row)
    times = TimeInput(zone, body.start, body.end, body.all_day, instants=True)
    span = await calendar_events.update(work, row, EventDetails(body.title, body.location, body.notes), times)
    return Envelope(data=_answer(row, span))


@router.delete("/events/{event_id}", dependencies=[Write], responses=error_responses(CalendarEventNotFound))
async def delete_event(event_id: Text, principal: CurrentPrincipal, work: Writing) -> Empty:
    """Delete an event."""
    await calendar_events.delete(work, await calendar_events.get(work.session, principal.user_id, event_id))
    return Empty()


@router.get("/feed", dependencies=[View], responses=error_responses(CalendarFeedNotFound))
async def read_feed(principal: CurrentPrincipal, session: Reading) -> Envelope[FeedAnswer]:
    """Whether one's calendar has a feed, and since when."""
    row = await feeds.get(session, principal.user_id)
    return Envelope(data=FeedAnswer(created_at=row.created_at))


@router.post("/feed", dependencies=[Write])
async def create_feed(principal: CurrentPrincipal, work: Writing) -> Envelope[NewFeed]:
    """Make the feed's address, or a new one: the old one works no more."""
    row, token = await feeds.rotate(work, principal.user_id)
    url = f"{FEED_PATH}?{urlencode({'token': token})}"
    return Envelope(data=NewFeed(url=url, token=token, created_at=row.created_at))


@router.delete("/feed", dependencies=[Write], responses=error_responses(CalendarFeedNotFound))
async def delete_feed(principal: CurrentPrincipal, work: Writing) -> Empty:
    """Revoke the feed's address."""
    await feeds.revoke(work, principal.user_id)
    return Empty()


@router.get(
    "/feed.ics",
    response_class=Response,
    responses={
        200: {"description": "The calendar (RFC 5545)", "content": {"text/calendar": {}}},
        **error_responses(CalendarFeedNotFound),
    },
)
async def download_feed(database: CurrentDatabase, token: Annotated[Secret, Query(max_length=200)]) -> Response:
    """The calendar of whoever made this token; needs no other credential."""
    async with database.reading() as session:
        rows = await feeds.read(session, token)
    # Thousands of events would hold up the event loop.
    content = await asyncio.to_thread(feeds.to_ics, rows)
    disposition = {"Content-Disposition": 'attachment; filename="agentex.ics"'}
    return Response(content, media_type=_MEDIA_TYPE, headers=disposition)
