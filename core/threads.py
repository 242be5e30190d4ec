"""Loops on threads that stop when their caller is cancelled."""

from collections.abc import Callable, Iterable, Iterator
from threading import Event
from typing import TypeVar

from anyio import to_thread

_Item = TypeVar("_Item")
_Result = TypeVar("_Result")


class StopFlag:
    """Whether the caller is gone; a thread can't be killed, so it checks after each item."""

    def __init__(self) -> None:
        self._event = Event()

    def set(self) -> None:
        self._event.set()

    def until(self, items: Iterable[_Item]) -> Iterator[_Item]:
        """The items, until the flag is set."""
        for item in items:
            if self._event.is_set():
                return
            yield item


async def run_stoppable(work: Callable[[StopFlag], _Result]) -> _Result:
    """Run this work, which loops over ``StopFlag.until``, on a thread.

    A cancelled caller does not wait for its end; the loop ends after the current item.
    """
    stop = StopFlag()
    try:
        return await to_thread.run_sync(work, stop, abandon_on_cancel=True)
    finally:
        stop.set()
