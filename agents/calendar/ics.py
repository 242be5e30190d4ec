"""Events as iCalendar (RFC 5545)."""

from collections.abc import Sequence
from datetime import date

from icalendar import Calendar, Component, Event

from agents.calendar.local_time import local_day
from agents.calendar.models import CalendarEvent
from agents.calendar.time_span import event_zone


def to_ics(rows: Sequence[CalendarEvent]) -> bytes:
    """An iCalendar file: times in UTC, all-day events as dates."""
    calendar = Calendar()
    _set(calendar, "prodid", "-//Agentex//Calendar//EN")
    _set(calendar, "version", "2.0")
    _set(calendar, "calscale", "GREGORIAN")
    _set(calendar, "method", "PUBLISH")
    _set(calendar, "x-wr-calname", "Agentex")
    for row in rows:
        calendar.add_component(_component(row))
    return calendar.to_ical()


def _component(row: CalendarEvent) -> Event:
    event, zone = Event(), event_zone(row)
    # Calendar programs know a newer version of an event by uid and sequence.
    _set(event, "uid", f"{row.id}@agentex")
    _set(event, "dtstamp", row.updated_at)
    _set(event, "created", row.created_at)
    _set(event, "last-modified", row.updated_at)
    _set(event, "sequence", row.sequence)
    _set(event, "summary", _text(row.title))
    if row.all_day:
        _set(event, "dtstart", local_day(row.starts_at, zone))
        _set(event, "dtend", local_day(row.ends_at, zone))
        _set(event, "transp", "TRANSPARENT")
    else:
        _set(event, "dtstart", row.starts_at)
        _set(event, "dtend", row.ends_at)
    if row.location:
        _set(event, "location", _text(row.location))
    if row.notes:
        _set(event, "description", _text(row.notes))
    return event


def _set(component: Component, name: str, value: str | int | date) -> None:
    component.add(name, value)  # pyright: ignore[reportUnknownMemberType] # its value has no type


def _text(text: str) -> str:
    lines = text.replace("\r\n", "\n").replace("\r", "\n")
    return "".join(c for c in lines if c in "\n\t" or not (ord(c) < 32 or 127 <= ord(c) < 160))
