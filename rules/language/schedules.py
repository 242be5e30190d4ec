"""Schedules: the due times of a cron expression in a time zone."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo
from functools import lru_cache
from itertools import islice
from typing import cast

from cronsim import CronSim, CronSimError

from core.time_zones import UTC_NAME, find_zone
from rules.language.errors import InvalidSchedule

LONGEST_CRON = 200
MOST_CATCH_UP_MINUTES = 1_440
ON_TIME = timedelta(minutes=1)
"""How long after its time a due time still counts as on time."""

_FIELDS = 5
_REFERENCE = datetime(2000, 1, 1, tzinfo=UTC)
_WINDOWS = (ON_TIME, timedelta(minutes=10), timedelta(hours=2))


@dataclass(frozen=True, slots=True)
class DueTime:
    """A time that a schedule is due at, in UTC; late, if it was missed and is caught up on."""

    time: datetime
    is_late: bool


@dataclass(frozen=True, slots=True)
class CronSchedule:
    """A cron expression in a time zone.

    Where clocks are put forward, a fixed time that day lacks is due when the gap ends; where they are put back, it is due
    only the first time. Expressions with ``*`` as their hour or minute go by elapsed time.
    """

    cron: str
    zone: tzinfo

    def times_after(self, moment: datetime) -> Iterator[datetime]:
        """The due times after a moment, in UTC, each later than the one before; ends with the year 9999."""
        latest = moment.astimezone(UTC)
        times = CronSim(self.cron, latest.astimezone(self.zone))
        while True:
            try:
                due = next(times, None)
            except (OverflowError, ValueError):
                return
            if due is None:
                return
            # Where a day has an hour twice, CronSim takes its first one, which may lie behind.
            in_utc = due.astimezone(UTC)
            if in_utc > latest:
                latest = in_utc
                yield in_utc

    def next_after(self, moment: datetime) -> datetime | None:
        """The next due time after a moment, in UTC."""
        return next(self.times_after(moment), None)

    def preview(self, moment: datetime, count: int) -> list[datetime]:
        """The next ``count`` due times."""
        return list(islice(self.times_after(moment), count))

    def due(self, last: datetime, now: datetime, catch_up_minutes: int) -> DueTime | None:
        """The newest due time since the last look, if it is to be carried out now.

        Of all that were missed only the newest counts, and only within the minutes to catch up on.

        Args:
            last: the time of the last look; a due time at that very moment was dealt with.
            now: later than ``last``, else nothing is due.
            catch_up_minutes: 0 to leave out what was missed by more than a minute.
        """
        last, now = last.astimezone(UTC), now.astimezone(UTC)
        widest = max(timedelta(minutes=catch_up_minutes), ON_TIME)
        for window in (*(window for window in _WINDOWS if window < widest), widest):
            newest = self._newest(max(last, now - window), now)
            if newest is not None:
                return DueTime(newest, is_late=now - newest > ON_TIME)
            if last >= now - window:
                return None
        return None

    def _newest(self, start: datetime, end: datetime) -> datetime | None:
        newest = None
        for time in self.times_after(start):
            if time > end:
                break
            newest = time
        return newest


@lru_cache(maxsize=4096)
def parse_schedule(cron: str, timezone: str = UTC_NAME) -> CronSchedule:
    """Read a cron expression of five fields and the name of a time zone.

    Raises:
        InvalidSchedule: one of them can't be read, it never happens, or it names seconds.
    """
    zone = find_zone(timezone)
    if zone is None:
        raise InvalidSchedule(
            "Use the IANA name of a time zone, such as Asia/Shanghai", "请使用 IANA 时区名称，例如 Asia/Shanghai"
        )
    fields = cron.split()
    if len(cron) > LONGEST_CRON or len(fields) != _FIELDS:
        raise InvalidSchedule(
            "A cron expression has five fields: minute, hour, day, month, weekday, such as 0 9 * * MON-FRI; "
            "once a minute is the most often",
            "cron 表达式有五个字段：分、时、日、月、星期，例如 0 9 * * MON-FRI；最多每分钟一次",
        )
    schedule = CronSchedule(" ".join(fields), cast(tzinfo, UTC if timezone == UTC_NAME else zone))
    try:
        first = schedule.next_after(_REFERENCE)
    except CronSimError as error:
        raise InvalidSchedule(
            f"{error}; an example of a cron expression is 0 9 * * MON-FRI",
            f"无法识别（{error}）；cron 表达式示例：0 9 * * MON-FRI",
        ) from error
    if first is None:
        raise InvalidSchedule(
            "This time never comes; choose a day that its month has", "该时间永远不会出现；请选择该月存在的日期"
        )
    return schedule
