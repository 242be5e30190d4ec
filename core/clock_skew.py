"""Detection of clock changes, by comparison with the monotonic clock."""

import time
from datetime import datetime


class ClockSkewMonitor:
    """Watches a wall clock; for ``rest_seconds`` after a jump, earlier timestamps are unreliable."""

    def __init__(self, *, jump_seconds: float = 5, rest_seconds: float = 30) -> None:
        self._jump = jump_seconds
        self._rest = rest_seconds
        self._offset: float | None = None
        self._jumped_at = float("-inf")

    def is_steady(self, now: datetime) -> bool:
        """Whether the clock, which shows ``now``, has not jumped recently."""
        elapsed = time.monotonic()
        offset = now.timestamp() - elapsed
        if self._offset is not None and abs(offset - self._offset) > self._jump:
            self._jumped_at = elapsed
        self._offset = offset
        return elapsed - self._jumped_at > self._rest
