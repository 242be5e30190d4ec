"""Local times to UTC and back: skipped times are refused, repeated ones noted."""

import re
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from zoneinfo import ZoneInfo

_YEARS = range(1970, 2200)
_DATE = re.compile(r"\d{4}-\d\d-\d\d", re.ASCII)
_LOCAL = re.compile(r"\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d(:\d\d(\.\d{1,6})?)?", re.ASCII)
_OFFSET = re.compile(r"[Zz]|[+-]([01]\d|2[0-3]):[0-5]\d")
_FORMS = "Use a local time such as 2026-03-17T09:00"


class BadTime(ValueError):
    """A time that can't be used; the text tells a person or a model what to do."""


@dataclass(frozen=True, slots=True)
class UtcMoment:
    """A UTC time; ``note`` says how an ambiguous local time was read."""

    utc: datetime
    note: str = ""


def read_moment(text: str, zone: ZoneInfo, *, instants: bool) -> UtcMoment:
    """Read a local time of a zone, or one with ``Z`` or an offset: ``2026-03-17T09:00``, optionally with seconds.

    ``instants`` accepts offsets that the zone does not have then. Models put ``Z`` behind local times, so theirs are
    refused. ``BadTime`` says what to do.
    """
    local, offset = _parted(text.strip())
    if not offset:
        return to_utc(local, zone)
    moment = _parsed(local.isoformat() + offset.upper())
    _check_year(moment)
    if not instants and moment.utcoffset() != moment.astimezone(zone).utcoffset():
        raise BadTime(f"{zone.key} does not have the offset {offset} then: give the local time without one")
    return UtcMoment(moment.astimezone(UTC))


def read_date(text: str) -> date:
    """Read a day, such as ``2026-03-17``; a midnight behind it is ignored."""
    day = re.sub(r"[Tt ]00:00(:00(\.0+)?)?([Zz]|[+-]\d\d:\d\d)?\Z", "", text.strip())
    if not _DATE.fullmatch(day):
        raise BadTime("An all-day event has days, not times: use a date such as 2026-03-17")
    try:
        parsed = date.fromisoformat(day)
    except ValueError as error:
        raise BadTime(f"There is no day {day}") from error
    if parsed.year not in _YEARS:
        raise BadTime(f"Use a year from {_YEARS.start} to {_YEARS.stop - 1}")
    return parsed


def to_utc(local: datetime, zone: ZoneInfo) -> UtcMoment:
    """The UTC time of a local time in a zone, the earlier one if it comes twice; ``BadTime`` if clocks skip it."""
    _check_year(local)
    first = local.replace(tzinfo=zone, fold=0).astimezone(UTC)
    on_clock = first.astimezone(zone)
    if on_clock.replace(tzinfo=None) != local:
        raise BadTime(
            f"{_format_local(local)} does not exist in {zone.key}: clocks go forward then. "
            f"Use {_format_local(on_clock)} or another time"
        )
    second = local.replace(tzinfo=zone, fold=1).astimezone(UTC)
    if second == first:
        return UtcMoment(first)
    return UtcMoment(
        first,
        f"{_format_local(local)} comes twice in {zone.key}, as clocks go back then: the earlier one "
        f"(UTC{_offset(on_clock)}) was taken. For the later one write "
        f"{_format_local(local)}{_offset(second.astimezone(zone))}",
    )


def day_start(day: date, zone: ZoneInfo) -> datetime:
    """The first moment of a day in a zone, in UTC: not midnight if clocks skip that; some days don't exist."""
    midnight = datetime.combine(day, time(), tzinfo=zone)
    first = midnight.astimezone(UTC)
    if first.astimezone(zone).date() != day:
        raise BadTime(f"{zone.key} has no day {day.isoformat()}: use another one")
    return first


def local_day(moment: datetime, zone: ZoneInfo) -> date:
    """The day in a zone at a moment."""
    return moment.astimezone(zone).date()


def read_bound(text: str, zone: ZoneInfo) -> datetime:
    """A bound of a range in UTC: the start of a day, or a time, moved on if clocks skip it."""
    text = text.strip()
    if _DATE.fullmatch(text):
        return day_start(read_date(text), zone)
    local, offset = _parted(text)
    if offset:
        return read_moment(text, zone, instants=True).utc
    _check_year(local)
    return local.replace(tzinfo=zone).astimezone(UTC)


def _parted(text: str) -> tuple[datetime, str]:
    form = _LOCAL.match(text)
    if form is None:
        raise BadTime(_FORMS)
    offset = text[form.end() :]
    if offset and not _OFFSET.fullmatch(offset):
        raise BadTime(_FORMS)
    return _parsed(form[0].upper()), offset


def _parsed(text: str) -> datetime:
    try:
        return datetime.fromisoformat(text)
    except ValueError as error:
        raise BadTime("There is no such day or time") from error


def _check_year(moment: datetime) -> None:
    if moment.year not in _YEARS:
        raise BadTime(f"Use a year from {_YEARS.start} to {_YEARS.stop - 1}")


def _format_local(moment: datetime) -> str:
    return moment.replace(tzinfo=None).isoformat(timespec="minutes")


def _offset(moment: datetime) -> str:
    shift = moment.utcoffset() or timedelta()
    minutes = abs(shift) // timedelta(minutes=1)
    return f"{'-' if shift < timedelta() else '+'}{minutes // 60:02d}:{minutes % 60:02d}"
