"""Conversion of local times to UTC and back, over all zones and clock changes."""

# ruff: noqa: DTZ001 - local times, which have no zone, are what is tested

from contextlib import suppress
from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from agents.calendar.local_time import BadTime, day_start, local_day, read_bound, read_date, read_moment, to_utc
from core.time_zones import zone_names

NEW_YORK = ZoneInfo("America/New_York")
ZONES = st.sampled_from(sorted(zone_names())).map(ZoneInfo)
LOCAL = st.datetimes(datetime(1970, 1, 2), datetime(2199, 12, 30))
# Around the changes of clocks, where random times rarely fall.
NEAR_CHANGES = st.builds(
    lambda day, minutes: datetime(2026, *day) + timedelta(minutes=minutes),
    st.sampled_from([(3, 8), (3, 29), (4, 5), (10, 4), (10, 25), (11, 1), (9, 6)]),
    st.integers(0, 1440),
)


def shown(moment: datetime, zone: ZoneInfo) -> datetime:
    return moment.astimezone(zone).replace(tzinfo=None)


@given(zone=ZONES, local=st.one_of(LOCAL, NEAR_CHANGES))
@example(zone=NEW_YORK, local=datetime(2026, 3, 8, 2, 30))
@example(zone=NEW_YORK, local=datetime(2026, 11, 1, 1, 30))
@example(zone=ZoneInfo("Pacific/Apia"), local=datetime(2011, 12, 30, 12))
@example(zone=ZoneInfo("Australia/Lord_Howe"), local=datetime(2026, 4, 5, 1, 45))
@example(zone=ZoneInfo("Europe/Dublin"), local=datetime(2026, 10, 25, 1, 30))
def test_time_goes_to_utc_and_back_unless_clocks_skip_it(zone: ZoneInfo, local: datetime):
    window = [
        (local - timedelta(hours=shift)).replace(tzinfo=UTC) for shift in range(-15, 16)
    ]  # what it could be anywhere
    offsets = {moment.astimezone(zone).utcoffset() or timedelta() for moment in window}
    shows = sorted(
        moment
        for moment in {(local - offset).replace(tzinfo=UTC) for offset in offsets}
        if shown(moment, zone) == local
    )
    try:
        found = to_utc(local, zone)
    except BadTime:
        assert shows == []
        return
    assert shown(found.utc, zone) == local
    assert found.utc == shows[0]
    assert bool(found.note) == (len(shows) > 1)


@given(zone=ZONES, moment=LOCAL)
def test_moment_with_its_own_offset_is_that_moment(zone: ZoneInfo, moment: datetime):
    aware = moment.replace(microsecond=0, tzinfo=UTC).astimezone(zone)
    text = aware.isoformat(timespec="seconds")
    if len(text) > len("2026-01-01T00:00:00+00:00"):
        return  # Offsets with seconds are older than the standard that has none.
    assert read_moment(text, zone, instants=False).utc == aware


@given(zone=ZONES, day=st.dates(date(1970, 1, 2), date(2199, 12, 30)))
@example(zone=ZoneInfo("Pacific/Apia"), day=date(2011, 12, 30))
@example(zone=ZoneInfo("America/Sao_Paulo"), day=date(2018, 11, 4))
def test_day_begins_in_that_day_and_not_before(zone: ZoneInfo, day: date):
    try:
        start = day_start(day, zone)
    except BadTime:
        return
    assert local_day(start, zone) == day
    assert local_day(start - timedelta(microseconds=1), zone) < day


def test_time_that_clocks_skip_is_refused_with_what_to_do():
    with pytest.raises(BadTime) as caught:
        read_moment("2026-03-08T02:30", NEW_YORK, instants=False)
    assert str(caught.value) == (
        "2026-03-08T02:30 does not exist in America/New_York: clocks go forward then. "
        "Use 2026-03-08T03:30 or another time"
    )


def test_of_a_time_that_comes_twice_the_earlier_one_is_taken_and_told():
    found = read_moment("2026-11-01T01:30", NEW_YORK, instants=False)
    assert found.utc == datetime(2026, 11, 1, 5, 30, tzinfo=UTC)
    assert "the earlier one (UTC-04:00) was taken" in found.note
    assert "2026-11-01T01:30-05:00" in found.note
    later = read_moment("2026-11-01T01:30-05:00", NEW_YORK, instants=False)
    assert (later.utc - found.utc, later.note) == (timedelta(hours=1), "")


def test_day_that_a_zone_left_out_is_refused():
    with pytest.raises(BadTime, match="no day 2011-12-30"):
        day_start(date(2011, 12, 30), ZoneInfo("Pacific/Apia"))


def test_offset_of_another_zone_is_a_fault_unless_moments_are_meant():
    with pytest.raises(BadTime, match="does not have the offset Z"):
        read_moment("2026-03-17T09:00:00Z", NEW_YORK, instants=False)
    found = read_moment("2026-03-17T09:00:00Z", NEW_YORK, instants=True)
    assert found.utc == datetime(2026, 3, 17, 9, tzinfo=UTC)


@pytest.mark.parametrize(
    "text",
    ["", "tomorrow", "09:00", "2026-03-17", "2026-02-30T09:00", "2026-03-17T25:00", "1969-01-01T00:00",
     "2200-01-01T00:00", "2026-03-17T09:00+8", "2026-03-17T09:00 PST", "2026-3-7T9:00", "2026-W12-1T09:00",
     "２０２６-03-17T09:00", "2026-03-17T09:00\x00", "0001-01-01T00:00+14:00", "2026-03-17T09:00:00.1234567"],
)  # fmt: skip
def test_what_is_no_local_time_is_refused(text: str):
    with pytest.raises(BadTime):
        read_moment(text, NEW_YORK, instants=True)


@pytest.mark.parametrize("text", ["", "2026-02-30", "2026-03-17T09:00", "17.03.2026", "1969-12-31"])
def test_what_is_no_day_is_refused(text: str):
    with pytest.raises(BadTime):
        read_date(text)


def test_day_may_come_as_its_midnight():
    assert read_date("2026-03-17T00:00:00") == read_date(" 2026-03-17 ") == date(2026, 3, 17)


def test_bound_of_a_range_is_a_day_a_time_or_a_moment_and_never_in_between():
    assert read_bound("2026-03-17", NEW_YORK) == datetime(2026, 3, 17, 4, tzinfo=UTC)
    assert read_bound("2026-03-08T02:30", NEW_YORK) == datetime(2026, 3, 8, 7, 30, tzinfo=UTC)
    assert read_bound("2026-03-17T09:00+08:00", NEW_YORK) == datetime(2026, 3, 17, 1, tzinfo=UTC)


@given(st.text(max_size=40))
def test_any_text_is_a_time_or_a_named_fault(text: str):
    for read in (read_date, lambda text: read_bound(text, NEW_YORK)):
        with suppress(BadTime):
            read(text)
