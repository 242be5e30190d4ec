"""Whose work goes next: that of the account which has had the least."""

from collections import deque
from typing import Generic, Protocol, TypeVar

_CREDIT_SECONDS = 1.0
_MOST_REMEMBERED = 1_000


class Accounted(Protocol):
    """Work that is done on somebody's account."""

    @property
    def account(self) -> str:
        """Who the time is counted for; all that nobody is named for has one account."""
        ...


_Work = TypeVar("_Work", bound=Accounted)


class FairQueue(Generic[_Work]):
    """What waits, by account; those that have work all the while get equal shares of the time.

    Who had none for a while begins a little behind the others and is served first until that is
    used up: a single document need not share with the hundreds of somebody else. (Start-time fair
    queueing, P. Goyal et al., 1996, with a credit.) Within an account who comes first is first.

    Not for several threads at once.

    Args:
        credit: seconds that a newcomer is behind.
    """

    def __init__(self, credit: float = _CREDIT_SECONDS) -> None:
        self._credit = credit
        self._waiting: dict[str, deque[_Work]] = {}
        self._used: dict[str, float] = {}
        # How much those have had that are served now: it only grows.
        self._level = 0.0

    def __bool__(self) -> bool:
        """Whether anything waits."""
        return bool(self._waiting)

    def put(self, work: _Work) -> None:
        """Add work, behind all that waits for its account."""
        account = work.account
        if account not in self._waiting:
            used = self._used.get(account, 0.0)
            self._used[account] = max(used, self._level - self._credit)
            self._waiting[account] = deque()
            self._forget()
        self._waiting[account].append(work)

    def take(self) -> _Work:
        """Remove and give what goes next.

        Raises:
            ValueError: nothing waits.
        """
        account = min(self._waiting, key=self._used.__getitem__)
        self._level = max(self._level, self._used[account])
        work = self._waiting[account].popleft()
        self._leave(account)
        return work

    def remove(self, work: _Work) -> None:
        """Take back what waits."""
        self._waiting[work.account].remove(work)
        self._leave(work.account)

    def charge(self, account: str, seconds: float) -> None:
        """Count time that an account has had."""
        self._used[account] = self._used.get(account, 0.0) + seconds

    def _leave(self, account: str) -> None:
        if not self._waiting[account]:
            del self._waiting[account]

    def _forget(self) -> None:
        """Drop those who are furthest behind: their return is nearly a newcomer's anyway."""
        if len(self._used) <= _MOST_REMEMBERED:
            return
        kept = sorted(self._used, key=self._used.__getitem__)[-_MOST_REMEMBERED // 2 :]
        self._used = {account: self._used[account] for account in {*kept, *self._waiting}}
