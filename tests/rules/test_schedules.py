"""The due times of schedules."""

from datetime import UTC, datetime, timedelta
from itertools import islice, pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rules.language.errors import InvalidSchedule
from rules.language.schedules import DueTime, parse_schedule

NOON = datetime(2026, 3, 17, 12, tzinfo=UTC)
ZONES = ["UTC", "Europe/Berlin", "America/New_York", "Asia/Shanghai", "Australia/Lord_Howe", "Africa/Cairo"]
NUMBERS = {"minute": (0, 59), "hour": (0, 23), "day": (1, 28), "month": (1, 12), "weekday": (0, 6)}


def fields(least: int, most: int) -> st.SearchStrategy[str]:
    number = st.integers(least, most)
    pair = st.tuples(number, number).map(lambda ends: f"{min(ends)}-{max(ends)}")
    return st.just("*") | number.map(str) | pair | st.builds("{},{}".format, number, number) | st.just("*/7")


def moments(year: int, years: int) -> st.SearchStrategy[datetime]:
    seconds = st.integers(0, years * 365 * 86_400)
    return seconds.map(lambda count: datetime(year, 1, 1, tzinfo=UTC) + timedelta(seconds=count))


CRONS = st.tuples(*(fields(*bounds) for bounds in NUMBERS.values())).map(" ".join)


def times(cron: str, zone: str, start: datetime, count: int) -> list[str]:
    return [f"{time:%m-%d %H:%M}" for time in parse_schedule(cron, zone).preview(start, count)]


@pytest.mark.parametrize(
    ("cron", "zone", "expected"),
    [
        ("0 9 * * MON-FRI", "UTC", ["03-18 09:00", "03-19 09:00", "03-20 09:00", "03-23 09:00"]),
        ("0 9 * * *", "Asia/Shanghai", ["03-18 01:00", "03-19 01:00"]),
        ("*/20 * * * *", "UTC", ["03-17 12:20", "03-17 12:40", "03-17 13:00"]),
        ("0 0 L * *", "UTC", ["03-31 00:00", "04-30 00:00"]),
        ("0 0 29 2 *", "UTC", ["02-29 00:00"]),
    ],
)
def test_due_times_follow_the_expression(cron: str, zone: str, expected: list[str]):
    assert times(cron, zone, NOON, len(expected)) == expected


@pytest.mark.parametrize(
    ("cron", "start", "expected"),
    [
        # Berlin goes from 2:00 to 3:00 on 29 March, which is 1:00 in UTC, and from 3:00 back to 2:00 on 25 October.
        ("30 2 * * *", "2026-03-28T12:00", ["03-29 01:00", "03-30 00:30"]),
        ("0,30 2 * * *", "2026-03-28T12:00", ["03-29 01:00", "03-30 00:00", "03-30 00:30"]),
        ("30 2 * * *", "2026-10-24T12:00", ["10-25 00:30", "10-26 01:30"]),
        ("30 2 * * *", "2026-10-25T00:30", ["10-26 01:30"]),
        ("30 2 * * *", "2026-10-25T01:15", ["10-26 01:30"]),
        ("30 * * * *", "2026-10-25T00:00", ["10-25 00:30", "10-25 01:30", "10-25 02:30"]),
        ("30 * * * *", "2026-03-29T00:00", ["03-29 00:30", "03-29 01:30"]),
    ],
)
def test_due_times_follow_daylight_saving(cron: str, start: str, expected: list[str]):
    assert times(cron, "Europe/Berlin", datetime.fromisoformat(f"{start}:00+00:00"), len(expected)) == expected


@given(CRONS, st.sampled_from(ZONES), moments(2000, 40))
def test_due_times_strictly_increase(cron: str, zone: str, start: datetime):
    series = list(islice(parse_schedule(cron, zone).times_after(start), 5))
    assert all(earlier < later for earlier, later in pairwise([start, *series]))
    assert all(time.second == 0 and time.utcoffset() == timedelta(0) for time in series)


@given(CRONS, st.sampled_from(ZONES), moments(2026, 1))
def test_due_times_do_not_depend_on_where_one_starts(cron: str, zone: str, start: datetime):
    schedule = parse_schedule(cron, zone)
    series = schedule.preview(start, 4)
    assert all(schedule.next_after(earlier) == later for earlier, later in pairwise(series))


@pytest.mark.parametrize(
    ("minutes_ago", "catch_up", "expected"),
    [
        (0.5, 0, DueTime(NOON, is_late=False)),
        (5, 0, DueTime(NOON, is_late=False)),
        (5, 60, DueTime(NOON, is_late=False)),
    ],
)
def test_a_time_that_just_came_is_due(minutes_ago: float, catch_up: int, expected: DueTime):
    hourly = parse_schedule("0 * * * *")
    now = NOON + timedelta(seconds=20)
    assert hourly.due(now - timedelta(minutes=minutes_ago), now, catch_up) == expected


@pytest.mark.parametrize(
    ("catch_up", "expected"),
    [
        (0, None),
        (29, None),
        (30, DueTime(NOON, is_late=True)),
        (1_440, DueTime(NOON, is_late=True)),
    ],
)
def test_of_the_times_that_were_missed_only_the_newest_is_due(catch_up: int, expected: DueTime | None):
    hourly = parse_schedule("0 * * * *")
    now = NOON + timedelta(minutes=30) - timedelta(microseconds=1)
    assert hourly.due(NOON - timedelta(days=3), now, catch_up) == expected


def test_nothing_is_due_twice():
    hourly = parse_schedule("0 * * * *")
    assert hourly.due(NOON, NOON + timedelta(minutes=30), 1_440) is None
    assert hourly.due(NOON + timedelta(minutes=5), NOON, 1_440) is None


@given(CRONS, st.integers(0, 1_440), st.integers(0, 4_000), st.integers(0, 86_400))
def test_what_is_due_is_the_newest_of_all_due_times(cron: str, catch_up: int, gap: int, offset: int):
    schedule = parse_schedule(cron, "Europe/Berlin")
    now = datetime(2026, 3, 29, tzinfo=UTC) + timedelta(seconds=offset)
    last = now - timedelta(minutes=gap)
    window = max(timedelta(minutes=catch_up), timedelta(minutes=1))
    newest = None
    for time in schedule.times_after(max(last, now - window)):
        if time > now:
            break
        newest = time
    due = schedule.due(last, now, catch_up)
    assert (due.time if due else None) == newest


@pytest.mark.parametrize(
    ("cron", "zone"),
    [
        ("0 0 30 2 *", "UTC"),
        ("0 0 31 4 *", "UTC"),
        ("0 0 */30 2 MON#5", "UTC"),
        ("* * * * * *", "UTC"),
        ("@daily", "UTC"),
        ("", "UTC"),
        ("61 * * * *", "UTC"),
        ("*/0 * * * *", "UTC"),
        ("1/1/1/1/x * * * *", "UTC"),
        ("5-1 * * * *", "UTC"),
        ("² * * * *", "UTC"),
        (",".join(["*"] * 200) + " * * * *", "UTC"),
        ("0 9 * * *", "Mars/Olympus"),
        ("0 9 * * *", "../etc/passwd"),
    ],
)
def test_what_is_no_schedule_is_refused(cron: str, zone: str):
    with pytest.raises(InvalidSchedule) as caught:
        parse_schedule(cron, zone)
    assert caught.value.error_zh


@given(st.text(st.sampled_from("0123456789*/,-#LW MONJAN"), max_size=30))
def test_any_text_is_a_schedule_or_refused(cron: str):
    try:
        schedule = parse_schedule(cron)
    except InvalidSchedule:
        return
    assert schedule.next_after(NOON) is not None


def test_due_times_end_with_the_calendar():
    assert parse_schedule("* * * * *").preview(datetime(9999, 12, 31, 23, 58, tzinfo=UTC), 5) == [
        datetime(9999, 12, 31, 23, 59, tzinfo=UTC)
    ]
