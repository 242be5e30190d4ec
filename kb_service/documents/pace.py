"""How long the open documents of a knowledge base will take, as those like them took."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

# A document of a tenth or of ten times the size says little: each has work that no byte makes.
_ALIKE = 10
_SHORTEST_SECONDS = 0.1


@dataclass(frozen=True)
class Work:
    """What was done of a document: all of it, or a part that is known.

    Args:
        size: the document's bytes.
        percent: of it that is done.
        since: when its processing began.
        until: when it was done; now, where it is in work.
    """

    size: int
    percent: int
    since: datetime
    until: datetime

    @property
    def seconds_left(self) -> float:
        """The seconds that the rest of it takes at its own pace."""
        elapsed = max(0.0, (self.until - self.since).total_seconds())
        return elapsed * (100 - self.percent) / self.percent


@dataclass(frozen=True)
class Backlog:
    """Documents that wait, or are in work and do not say how far they are.

    Args:
        count: how many they are.
        size: their bytes.
    """

    count: int
    size: int


def seconds_left(done: Sequence[Work], backlog: Backlog) -> float | None:
    """The seconds until all is done; None when nothing like it was done.

    Args:
        done: what was completed lately, and what is in work and says how far it is.
        backlog: what is open beside the latter.
    """
    in_work = [work for work in done if work.percent < 100]
    longest = max((work.seconds_left for work in in_work), default=0.0)
    if not backlog.count:
        return longest
    mean = backlog.size / backlog.count
    alike = [work for work in done if mean <= _ALIKE * work.size <= _ALIKE**2 * mean]
    finished = sum(work.size * work.percent / 100 for work in alike)
    if not finished:
        return None
    rest = sum(work.size * (100 - work.percent) / 100 for work in in_work)
    return max(longest, (backlog.size + rest) * _busy_seconds(alike) / finished)


def _busy_seconds(works: Sequence[Work]) -> float:
    """The time in which some of these were in work: what overlaps is counted once."""
    busy, reached = 0.0, None
    for work in sorted(works, key=lambda one: one.since):
        since = work.since if reached is None else max(work.since, reached)
        if work.until > since:
            busy += (work.until - since).total_seconds()
            reached = work.until
    return max(busy, _SHORTEST_SECONDS)
