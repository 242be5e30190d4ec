"""Dates and times of requests, limited to what every time zone and database can represent."""

import re
from datetime import UTC, date, datetime, timedelta
from typing import Annotated

from pydantic import AfterValidator, AwareDatetime, BeforeValidator, Strict

from core.types.errors import FieldValueError

_DATE = re.compile(r"\d{4}-\d\d-\d\d", re.ASCII)
_MARGIN = timedelta(days=2)


def _as_written(value: object) -> object:
    """Refuse numbers, which pydantic would read as dates."""
    if isinstance(value, str) and not _DATE.match(value):
        error = "Use a date or a time such as 2026-03-17T09:00:00Z"
        raise FieldValueError(error, "请使用日期或时间，例如 2026-03-17T09:00:00Z")
    if isinstance(value, int | float):
        error = "Use a text such as 2026-03-17T09:00:00Z"
        raise FieldValueError(error, "请使用文本，例如 2026-03-17T09:00:00Z")
    return value


def _as_date(value: object) -> object:
    if isinstance(value, int | float) or (isinstance(value, str) and not _DATE.fullmatch(value)):
        raise FieldValueError("Use a date such as 2026-03-17", "请使用日期，例如 2026-03-17")
    return value


def to_utc(moment: datetime) -> datetime:
    """The datetime in UTC; one without a zone is taken as UTC.

    Raises:
        ValueError: in some time zone it lies outside the years 1 to 9999, Python's limit.
    """
    try:
        if moment.tzinfo is None:
            moment = moment.replace(tzinfo=UTC)
        in_utc = moment.astimezone(UTC)
        _ = in_utc - _MARGIN, in_utc + _MARGIN
    except OverflowError as error:
        words = "Use a time within the years 1 to 9999"
        raise FieldValueError(words, "请使用公元 1 年到 9999 年之间的时间") from error
    return in_utc


# JSON has no type for them.
_FROM_TEXT = Strict(False)
Moment = Annotated[AwareDatetime, _FROM_TEXT, BeforeValidator(_as_written), AfterValidator(to_utc)]
"""A moment with its offset; in UTC."""

MomentOrUtc = Annotated[datetime, _FROM_TEXT, BeforeValidator(_as_written), AfterValidator(to_utc)]
"""A moment; without an offset that of UTC."""

Day = Annotated[date, _FROM_TEXT, BeforeValidator(_as_date)]
"""A day such as 2026-03-17."""
