"""One cursor of a run's log."""

import asyncio

from agents import event_log
from agents.event_log import LogEntry
from agents.runs import store
from agents.runs.live.buffer import EventBuffer
from core.db.database import Database
from core.errors.server import DatabaseUnavailable
from core.logging import get_logger

log = get_logger(__name__)

_PAUSE_SECONDS = 0.5


class LogCursor:
    """Reads a run's log from a place on: what is new from memory, what is old from SQL.

    Args:
        database: where the log is.
        run_key: of the run.
        buffer: of the run.
        after: the last event that was read before.
    """

    def __init__(self, database: Database, run_key: str, buffer: EventBuffer, after: int) -> None:
        self._database = database
        self._run_key = run_key
        self._buffer = buffer
        self._after = after
        # A run that is driven here has told everything that there is to look for.
        self._looked = buffer.invalidations if buffer.is_live else None
        self.is_over = False

    @property
    def is_behind(self) -> bool:
        """Whether there is something to read or to look for."""
        return self._buffer.last_seq > self._after or self._looked != self._buffer.invalidations

    async def read(self) -> list[LogEntry]:
        """The next events, none when there are none now; sets ``is_over`` behind the last."""
        entries = self._buffer.entries_after(self._after)
        if entries is None or (not entries and self._looked != self._buffer.invalidations):
            entries = await self._look()
        if entries:
            self._after = entries[-1].seq
            self.is_over = entries[-1].is_terminal
        return entries

    async def _look(self) -> list[LogEntry]:
        self._looked = self._buffer.invalidations
        try:
            async with self._database.reading() as session:
                entries = await event_log.read(session, self._run_key, after=self._after)
                if not entries:
                    self.is_over = await store.is_read(session, self._run_key, up_to=self._after)
        except DatabaseUnavailable:
            log.warning("run.log_unreadable", run_key=self._run_key)
            self._looked = None
            await asyncio.sleep(_PAUSE_SECONDS)
            return []
        self._buffer.add(entries)
        return entries
