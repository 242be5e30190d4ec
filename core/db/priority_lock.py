"""A lock whose waiters stand in two lanes."""

import asyncio
from collections import deque


class PriorityLock:
    """Held by one at a time; where urgent and patient ones wait, they are let in by turns.

    So an urgent one waits for one other at most, however many patient ones there are, and a
    patient one never waits for ever. Within a lane, who came first goes first.
    """

    def __init__(self) -> None:
        self._is_held = False
        self._was_urgent = False
        self._lanes: dict[bool, deque[asyncio.Future[None]]] = {True: deque(), False: deque()}

    async def acquire(self, *, urgent: bool) -> None:
        """Wait for the lock; cancelling the caller gives its place up."""
        if not self._is_held:
            self._is_held, self._was_urgent = True, urgent
            return
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._lanes[urgent].append(turn)
        try:
            await turn
        except asyncio.CancelledError:
            if not turn.cancelled():
                # It was ours already, at the moment when nobody wanted it any more.
                self.release()
            raise

    def release(self) -> None:
        """Let the next one in."""
        for urgent in (not self._was_urgent, self._was_urgent):
            lane = self._lanes[urgent]
            while lane:
                turn = lane.popleft()
                if not turn.cancelled():
                    self._was_urgent = urgent
                    turn.set_result(None)
                    return
        self._is_held = False
