"""Calendars (iCalendar): events, tasks and journal entries with their times and people."""

from collections.abc import Callable, Iterator, Mapping
from datetime import date, datetime, timedelta
from pathlib import Path
from typing import cast

from icalendar import Calendar, Component, Todo
from icalendar.prop import vBroken

from ingestion.parsers.builder import DocumentBuilder
from ingestion.parsers.errors import FailureReason, ParseFailure
from ingestion.parsers.limits import ParseLimits
from ingestion.parsers.model import ParsedDocument
from ingestion.parsers.text import plain
from ingestion.parsers.text.charset import decode
from ingestion.parsers.text_cleanup import clean, flow

_READ = ("VEVENT", "VTODO", "VJOURNAL")
_TIMES = {"DTSTART": "Start", "DTEND": "End", "DUE": "Due", "DURATION": "Duration", "COMPLETED": "Completed"}
_WORDS = {"LOCATION": "Location", "STATUS": "Status", "URL": "Web"}
_PEOPLE = {"ORGANIZER": "Organizer", "ATTENDEE": "Attendees"}
_LISTED = 200
_DEEPEST = 100
_BEGIN, _END = "BEGIN:", "END:"
# As the library does with events: one unreadable date of a task would refuse the whole calendar.
Todo.ignore_exceptions = True


def parse(path: Path, limits: ParseLimits) -> ParsedDocument:
    """Read the entries of a calendar.

    Each is a heading with its summary, a paragraph with times as they are written and their zone, repetition, place and
    people, and its description. Alarms, time zone tables and attached files are left out. A file that is no calendar,
    or breaks off within one, is damaged.
    """
    decoded = decode(path.read_bytes())
    text = clean(decoded.text).lstrip("\ufeff")
    builder = DocumentBuilder(limits)
    for calendar in _calendars(text):
        name = _words(calendar, "X-WR-CALNAME")
        builder.add("heading", name, level=1)
        for entry in _entries(calendar):
            _add_entry(builder, entry, level=2 if name else 1)
    return builder.finish(encoding=decoded.encoding, confidence=decoded.confidence, warnings=decoded.warnings)


def _calendars(text: str) -> list[Component]:
    if not text.strip():
        raise ParseFailure(FailureReason.EMPTY_TEXT)
    _check_nesting(text)
    try:
        # Whatever the library does not understand raises an error of its own or of Python's.
        calendars = cast("list[Component]", Calendar.from_ical(text, multiple=True))
    except (ValueError, KeyError, IndexError, TypeError, AttributeError, OverflowError) as error:
        raise ParseFailure(FailureReason.CORRUPT_FILE) from error
    if not calendars or any(calendar.name != "VCALENDAR" for calendar in calendars):
        raise ParseFailure(FailureReason.CORRUPT_FILE)
    return calendars


def _check_nesting(text: str) -> None:
    """Refuse a calendar that breaks off, whose last entries the library would leave out, or one that is too deep."""
    depth = 0
    for line in text.split("\n"):
        start = line[: len(_BEGIN)].upper()
        if start == _BEGIN:
            depth += 1
        elif start.startswith(_END):
            depth -= 1
        if depth > _DEEPEST:
            raise ParseFailure(FailureReason.TOO_COMPLEX)
    if depth:
        raise ParseFailure(FailureReason.CORRUPT_FILE)


def _entries(calendar: Component) -> Iterator[Component]:
    waiting = [calendar]
    while waiting:
        component = waiting.pop()
        waiting += reversed(component.subcomponents)
        if component.name in _READ:
            yield component


def _add_entry(out: DocumentBuilder, entry: Component, *, level: int) -> None:
    lines = [f"{label}: {_time(value)}" for name, label in _TIMES.items() for value in _values(entry, name)]
    lines += [f"Repeats: {_rule(value)}" for value in _values(entry, "RRULE")]
    lines += [f"{label}: {words}" for name, label in _WORDS.items() if (words := flow(_words(entry, name)))]
    for name, label in _PEOPLE.items():
        people = [person for value in _values(entry, name) if (person := _person(value))]
        if people:
            lines.append(f"{label}: {', '.join(people[:_LISTED])}")
    categories = ", ".join(filter(None, map(_rule, _values(entry, "CATEGORIES"))))
    lines += [f"Categories: {categories}"] if categories else []
    out.add("heading", flow(_words(entry, "SUMMARY")), level=level)
    out.add("paragraph", "\n".join(lines))
    for name in ("DESCRIPTION", "COMMENT"):
        for value in _values(entry, name):
            for _, block, _ in plain.blocks(clean(str(value))):
                out.add("paragraph", block)


def _values(entry: Component, name: str) -> Iterator[object]:
    """The values of a property, which may stand several times."""
    value = cast("Mapping[str, object]", entry).get(name)
    if isinstance(value, list):
        yield from cast("list[object]", value)
    elif value is not None:
        yield value


def _words(entry: Component, name: str) -> str:
    return next((str(value) for value in _values(entry, name)), "")


def _time(value: object) -> str:
    # A value that the library could not read is shown as it is written.
    moment: object = None if isinstance(value, vBroken) else getattr(value, "dt", None)
    if isinstance(moment, datetime):
        zone = moment.tzname() if moment.tzinfo else ""
        place = _parameter(value, "TZID") or zone or ""
        return f"{moment:%Y-%m-%d %H:%M} {place}".rstrip()
    if isinstance(moment, date):
        return moment.isoformat()
    return str(moment) if isinstance(moment, timedelta) else flow(_rule(value))


def _rule(value: object) -> str:
    """A value as the file writes it."""
    write = cast("Callable[[], bytes] | None", getattr(value, "to_ical", None))
    return write().decode("utf-8", "replace") if write is not None else str(value)


def _parameter(value: object, name: str) -> str:
    parameters = cast("Mapping[str, object]", getattr(value, "params", {}))
    return flow(str(parameters.get(name) or ""))


def _person(value: object) -> str:
    address = flow(str(value)).removeprefix("mailto:").removeprefix("MAILTO:")
    name = _parameter(value, "CN")
    return f"{name} <{address}>" if name and address and name != address else name or address
