"""Live events between processes: one Redis Stream per run, beside the log in SQL.

The SQL log is the truth. A stream entry's id is ``{seq of its last event}-0``, so lost entries
show as a gap, which readers fill from SQL.
"""

# redis has partial types.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import orjson
from redis.asyncio import Redis
from redis.exceptions import RedisError

from agents.event_log import LogEntry
from core.db.types import new_id
from core.logging import get_logger

log = get_logger(__name__)

_PREFIX = "agentex:run-events:"
_FIELD = b"entries"
# Late readers use SQL; the text of runs must not stay in Redis for longer than needed.
_STREAM_BATCHES = 200
_STREAM_SECONDS = 60
_MOST_WAITING = 2_000
_MOST_AT_ONCE = 100
# Below the client's socket timeout of five seconds.
_BLOCK_MS = 2_000
_PAUSE_SECONDS = 1.0
_Answer = Sequence[tuple[bytes, list[tuple[bytes, dict[bytes, bytes]]]]]


class EventBroadcaster:
    """Sends the events of this process's runs and receives those of other processes."""

    def __init__(self, redis: Redis) -> None:
        self._redis = redis
        self._waiting: list[tuple[str, Sequence[LogEntry]]] = []
        self._sender: asyncio.Task[None] | None = None
        self._bell = f"{_PREFIX}bell:{new_id()}"
        self._bell_place = "0-0"
        self._is_reachable = True
        self.is_receiving = False

    def send(self, run_key: str, entries: Sequence[LogEntry]) -> None:
        """Send committed events soon; readers get unsent ones from the log."""
        if len(self._waiting) < _MOST_WAITING:
            self._waiting.append((run_key, entries))
        if self._sender is None or self._sender.done():
            self._sender = asyncio.create_task(self._send_waiting())

    async def receive(
        self, last_seqs: Callable[[], Mapping[str, int]], arrived: Callable[[str, Sequence[LogEntry]], None]
    ) -> None:
        """Receive until there are no runs to follow.

        Args:
            last_seqs: The followed runs, each with the number of its last known event.
            arrived: Gets new entries in log order, perhaps with gaps.
        """
        try:
            while runs := last_seqs():
                try:
                    answer = await self._read(runs)
                except (RedisError, OSError) as error:
                    self._log_reachability(error)
                    self.is_receiving = False
                    await asyncio.sleep(_PAUSE_SECONDS)
                    continue
                self._log_reachability(None)
                self.is_receiving = True
                for run_key, entries in self._entries_by_run(answer):
                    arrived(run_key, entries)
        finally:
            self.is_receiving = False

    async def refresh(self) -> None:
        """Make ``receive`` call ``last_seqs`` again now."""
        try:
            async with self._redis.pipeline(transaction=False) as pipe:
                pipe.xadd(self._bell, {b"again": b""}, maxlen=1)
                pipe.expire(self._bell, _STREAM_SECONDS)
                await pipe.execute()
        except (RedisError, OSError) as error:
            self._log_reachability(error)

    async def close(self) -> None:
        """Send what is queued, in one attempt."""
        if self._sender is not None:
            await asyncio.wait({self._sender})

    async def _send_waiting(self) -> None:
        while self._waiting:
            batches, self._waiting = self._waiting, []
            try:
                async with self._redis.pipeline(transaction=False) as pipe:
                    for run_key, entries in batches:
                        name = _PREFIX + run_key
                        place = f"{entries[-1].seq}-0"
                        pipe.xadd(name, {_FIELD: _packed(entries)}, id=place, maxlen=_STREAM_BATCHES)
                        pipe.expire(name, _STREAM_SECONDS)
                    # Redis refuses an id older than the newest: readers see a gap and read SQL.
                    await pipe.execute(raise_on_error=False)
            except (RedisError, OSError) as error:
                self._log_reachability(error)
            else:
                self._log_reachability(None)

    async def _read(self, runs: Mapping[str, int]) -> _Answer:
        places: dict[Any, Any] = {_PREFIX + key: f"{seq}-0" for key, seq in runs.items()}
        places[self._bell] = self._bell_place
        return await self._redis.xread(places, count=_MOST_AT_ONCE, block=_BLOCK_MS)

    def _entries_by_run(self, answer: _Answer) -> list[tuple[str, list[LogEntry]]]:
        arrived: list[tuple[str, list[LogEntry]]] = []
        for name, messages in answer:
            if name.decode() == self._bell:
                self._bell_place = messages[-1][0].decode()
                continue
            run_key = name.decode().removeprefix(_PREFIX)
            arrived += [(run_key, _unpacked(fields[_FIELD])) for _, fields in messages]
        return arrived

    def _log_reachability(self, error: Exception | None) -> None:
        """Log once when Redis is lost and once when it is back."""
        if error is not None and self._is_reachable:
            log.warning("run_events.redis_unreachable", cause=type(error).__name__)
        elif error is None and not self._is_reachable:
            log.info("run_events.redis_reachable")
        self._is_reachable = error is None


def _packed(entries: Sequence[LogEntry]) -> bytes:
    return orjson.dumps([(entry.seq, entry.type, entry.payload) for entry in entries])


def _unpacked(packed: bytes) -> list[LogEntry]:
    return [LogEntry(*entry) for entry in orjson.loads(packed)]
