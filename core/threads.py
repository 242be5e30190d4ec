"""Going through items on a thread that stops when nobody waits for it any more."""

from collections.abc import Callable, Iterable, Iterator
from threading import Event
from typing import TypeVar

from anyio import to_thread

_Item = TypeVar("_Item")
_Result = TypeVar("_Result")


class StopFlag:
    """Whether whoever waited is gone; a thread can't be killed, so it looks after each item."""

    def __init__(self) -> None:
        self._event = Event()

    def set(self) -> None:
        """Nobody waits any more."""
        self._event.set()

    def until(self, items: Iterable[_Item]) -> Iterator[_Item]:
        """The items, as long as somebody waits for them."""
        for item in items:
            if self._event.is_set():
                return
            yield item


async def run_stoppable(work: Callable[[StopFlag], _Result]) -> _Result:
    """Do this work on a thread.

    Who is cancelled does not wait for its end; ``StopFlag.until`` ends with the item at hand.

    Args:
        work: goes through what it goes through by ``StopFlag.until``.
    """
    stop = StopFlag()
    try:
        return await to_thread.run_sync(work, stop, abandon_on_cancel=True)
    finally:
        stop.set()
