"""Dates and times of requests: those that no time zone or database can represent are refused."""

from datetime import UTC, date, datetime

import pytest
from pydantic import TypeAdapter, ValidationError

from core.types.datetimes import Day, Moment, MomentOrUtc

MOMENT, LOCAL, DAY = TypeAdapter(Moment), TypeAdapter(MomentOrUtc), TypeAdapter(Day)
ENDS = ("0001-01-01T00:00:00+23:59", "0001-01-01T00:00:00Z", "9999-12-31T23:59:59-23:59")


def test_moment_comes_in_utc():
    read = MOMENT.validate_python("2026-03-17T09:00:00+08:00")
    assert (read, read.tzinfo) == (datetime(2026, 3, 17, 1, tzinfo=UTC), UTC)


def test_moment_without_a_zone_is_refused_or_that_of_utc():
    assert LOCAL.validate_python("2026-03-17T09:00:00") == datetime(2026, 3, 17, 9, tzinfo=UTC)
    assert LOCAL.validate_python("2026-03-17") == datetime(2026, 3, 17, tzinfo=UTC)
    with pytest.raises(ValidationError):
        MOMENT.validate_python("2026-03-17T09:00:00")


@pytest.mark.parametrize("text", [*ENDS, "0", "1773700000", "2026-02-30T00:00:00Z", "", "\x00", 0, 1e9, True])
@pytest.mark.parametrize("kind", [MOMENT, LOCAL])
def test_what_is_no_moment_of_every_zone_is_refused(kind: TypeAdapter[datetime], text: object):
    with pytest.raises(ValidationError):
        kind.validate_python(text)


@pytest.mark.parametrize("text", ["0", "1773700000", "2026-02-30", "2026-03-17T00:00:00", "", 0, 1e9])
def test_what_is_no_day_is_refused(text: object):
    assert DAY.validate_python("2026-03-17") == date(2026, 3, 17)
    with pytest.raises(ValidationError):
        DAY.validate_python(text)
