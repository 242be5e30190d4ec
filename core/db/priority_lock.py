"""Asyncio lock with urgent and patient waiters."""

import asyncio
from collections import deque


class PriorityLock:
    """Lock that alternates between urgent and patient waiters, each first come, first served.

    An urgent waiter waits for at most one patient one, and a patient one never starves.
    """

    def __init__(self) -> None:
        self._is_held = False
        self._was_urgent = False
        self._waiters: dict[bool, deque[asyncio.Future[None]]] = {True: deque(), False: deque()}

    async def acquire(self, *, urgent: bool) -> None:
        """Wait for the lock; a cancelled caller leaves the queue."""
        if not self._is_held:
            self._is_held, self._was_urgent = True, urgent
            return
        waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiters[urgent].append(waiter)
        try:
            await waiter
        except asyncio.CancelledError:
            if not waiter.cancelled():
                # The lock was handed over just before the cancellation.
                self.release()
            raise

    def release(self) -> None:
        """Hand the lock to the next waiter."""
        for urgent in (not self._was_urgent, self._was_urgent):
            waiters = self._waiters[urgent]
            while waiters:
                waiter = waiters.popleft()
                if not waiter.cancelled():
                    self._was_urgent = urgent
                    waiter.set_result(None)
                    return
        self._is_held = False
