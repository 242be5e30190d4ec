"""Which backups of a folder to keep."""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

_ID = re.compile(r"(\d{8}T\d{6})\d{3}Z-[0-9a-f]{6}")


@dataclass(frozen=True)
class RetentionPolicy:
    """How many backups to keep; what any of the numbers keeps is kept.

    Args:
        last: the newest ones.
        daily: the newest one of each of so many days that have backups, by UTC.
        weekly: the newest one of each of so many weeks that have backups.
    """

    last: int = 0
    daily: int = 0
    weekly: int = 0

    def __post_init__(self) -> None:
        if max(self.last, self.daily, self.weekly) < 1:
            raise ValueError("a policy must keep a backup")


def moment_of(backup_id: str) -> datetime | None:
    """When a backup was made, by its id; None for a name that is no id."""
    match = _ID.fullmatch(backup_id)
    try:
        return datetime.strptime(match[1], "%Y%m%dT%H%M%S").replace(tzinfo=UTC) if match else None
    except ValueError:
        return None


def expired(backup_ids: Iterable[str], policy: RetentionPolicy) -> list[str]:
    """The backups that a policy does not keep, oldest first; what has another name than an id is kept."""
    moments = {backup_id: moment for backup_id in sorted(backup_ids) if (moment := moment_of(backup_id)) is not None}
    newest_first = sorted(moments, reverse=True)
    survivors = set(newest_first[: policy.last])
    survivors |= _newest_of_each(newest_first, lambda id_: moments[id_].date(), policy.daily)
    survivors |= _newest_of_each(newest_first, lambda id_: moments[id_].isocalendar()[:2], policy.weekly)
    return [backup_id for backup_id in moments if backup_id not in survivors]


def _newest_of_each(newest_first: Sequence[str], period: Callable[[str], object], count: int) -> set[str]:
    newest: dict[object, str] = {}
    for backup_id in newest_first:
        newest.setdefault(period(backup_id), backup_id)
    return set(list(newest.values())[:count])
