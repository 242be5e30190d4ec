"""Time spans of events: parsing, checks and changes."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

from agents.calendar.local_time import BadTime, day_start, local_day, read_date, read_moment
from agents.calendar.models import CalendarEvent
from core.errors.requests import InvalidRequest
from core.time_zones import UTC_NAME, find_zone

LONGEST_DAYS = 366
_USUAL = timedelta(hours=1)


@dataclass(frozen=True, slots=True)
class TimeSpan:
    """Start and end in UTC, and the zone in which they were given. ``notes`` say how ambiguous times were read."""

    starts_at: datetime
    ends_at: datetime
    zone: ZoneInfo
    all_day: bool
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class TimeInput:
    """Times as text; None leaves a time as it is. The end of whole days is the day after the last one.

    ``instants``: accept offsets that the zone does not have then.
    """

    zone: ZoneInfo
    start: str | None = None
    end: str | None = None
    all_day: bool | None = None
    instants: bool = False


def new_span(times: TimeInput) -> TimeSpan:
    """The span of a new event; without an end it takes an hour, or a day."""
    if not times.start:
        raise InvalidRequest("start", "Say when it starts")
    if times.all_day:
        start = _read_day(times, "start", times.start)
        last = local_day(start, times.zone) + timedelta(days=1)
        end = _read_day(times, "end", times.end or last.isoformat())
        return _checked(TimeSpan(start, end, times.zone, all_day=True))
    begins, note = _read_time(times, "start", times.start)
    if not times.end:
        return _checked(TimeSpan(begins, begins + _USUAL, times.zone, all_day=False, notes=note))
    ends, note_on_end = _read_time(times, "end", times.end)
    notes = tuple(dict.fromkeys((*note, *note_on_end)))
    return _checked(TimeSpan(begins, ends, times.zone, all_day=False, notes=notes))


def changed_span(row: CalendarEvent, times: TimeInput) -> TimeSpan | None:
    """The new span of an event, if times are given: a new start keeps its length, a zone alone changes nothing."""
    all_day = row.all_day if times.all_day is None else times.all_day
    if all_day != row.all_day and not times.start:
        raise InvalidRequest("start", "Say the new start, too, when all_day changes")
    if not times.start and not times.end:
        return None
    if times.start:
        moved = new_span(TimeInput(times.zone, times.start, times.end, all_day, times.instants))
        if times.end or all_day != row.all_day:
            return moved
        return _checked(_of_the_same_length(row, moved))
    zone = event_zone(row)
    end_input = TimeInput(zone if all_day else times.zone, end=times.end, instants=times.instants)
    if all_day:
        return _checked(TimeSpan(row.starts_at, _read_day(end_input, "end", times.end or ""), zone, all_day=True))
    end, notes = _read_time(end_input, "end", times.end or "")
    return _checked(TimeSpan(row.starts_at, end, zone, all_day=False, notes=notes))


def event_zone(row: CalendarEvent) -> ZoneInfo:
    """The zone of an event's times; UTC if the time zone database lost it."""
    return find_zone(row.time_zone) or ZoneInfo(UTC_NAME)


def _of_the_same_length(row: CalendarEvent, moved: TimeSpan) -> TimeSpan:
    if not row.all_day:
        end = moved.starts_at + (row.ends_at - row.starts_at)
    else:
        zone = event_zone(row)
        days = local_day(row.ends_at, zone) - local_day(row.starts_at, zone)
        end = day_start(local_day(moved.starts_at, moved.zone) + days, moved.zone)
    return TimeSpan(moved.starts_at, end, moved.zone, moved.all_day, moved.notes)


def _read_time(times: TimeInput, field: str, text: str) -> tuple[datetime, tuple[str, ...]]:
    try:
        moment = read_moment(text, times.zone, instants=times.instants)
    except BadTime as error:
        raise InvalidRequest(field, str(error)) from error
    return moment.utc, (moment.note,) if moment.note else ()


def _read_day(times: TimeInput, field: str, text: str) -> datetime:
    try:
        return day_start(read_date(text), times.zone)
    except BadTime as error:
        raise InvalidRequest(field, str(error)) from error


def _checked(span: TimeSpan) -> TimeSpan:
    if span.ends_at <= span.starts_at:
        more = ": the end of an all-day event is the day after its last one" if span.all_day else ""
        raise InvalidRequest("end", f"It must end after it starts{more}")
    # An hour more: clocks may be put back in between.
    if span.ends_at - span.starts_at > timedelta(days=LONGEST_DAYS, hours=1):
        raise InvalidRequest("end", f"It may take {LONGEST_DAYS} days at most")
    return span
