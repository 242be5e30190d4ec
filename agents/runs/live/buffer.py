"""The newest events of one run, kept for those of this process who follow it."""

import asyncio
from collections import deque
from collections.abc import Sequence
from itertools import islice

from agents.event_log import LogEntry

_KEPT = 512


class EventBuffer:
    """The last events of a run's log, as far as this process was told.

    Attributes:
        last_seq: Number of the newest event it knows of, 0 for none.
        is_live: Whether the run is driven here: then it is told everything at once.
        invalidations: Counts the occasions to look into the log itself.
    """

    def __init__(self) -> None:
        self.last_seq = 0
        self.is_live = False
        self.invalidations = 0
        self._entries: deque[LogEntry] = deque(maxlen=_KEPT)
        self._waiting: set[asyncio.Future[bool]] = set()

    def open(self, last_seq: int) -> None:
        """Say that all from behind a number on will be told."""
        self.is_live = True
        self.last_seq = max(self.last_seq, last_seq)

    def close(self) -> None:
        """Say that the run is not driven here any more."""
        self.is_live = False
        self.invalidate()

    def add(self, entries: Sequence[LogEntry]) -> None:
        """Tell what was committed; what is known already is passed over."""
        new = [entry for entry in entries if entry.seq > self.last_seq]
        if not new:
            return
        if new[0].seq > self.last_seq + 1:
            # Something in between was not told: who needs it reads it from the log.
            self._entries.clear()
        self._entries.extend(new)
        self.last_seq = new[-1].seq
        self._wake()

    def invalidate(self) -> None:
        """Have everybody look into the log."""
        self.invalidations += 1
        self._wake()

    def entries_after(self, after: int) -> list[LogEntry] | None:
        """All that is known behind a number; None when some of it is in the log only."""
        if after >= self.last_seq:
            return []
        if not self._entries or self._entries[0].seq > after + 1:
            return None
        return list(islice(self._entries, after + 1 - self._entries[0].seq, None))

    async def wait_for_change(self, seconds: float) -> bool:
        """Wait until something is told, at most so long; whether it was."""
        # Thousands wait here: an event and a timeout would each hold more than this does.
        clock = asyncio.get_running_loop()
        waiting: asyncio.Future[bool] = clock.create_future()
        self._waiting.add(waiting)
        late = clock.call_later(seconds, _answer, waiting, False)
        try:
            return await waiting
        finally:
            late.cancel()
            self._waiting.discard(waiting)

    def _wake(self) -> None:
        for waiting in self._waiting:
            _answer(waiting, True)


def _answer(waiting: asyncio.Future[bool], outcome: bool) -> None:
    if not waiting.done():
        waiting.set_result(outcome)
