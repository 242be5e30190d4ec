"""Work on threads: loops that stop when their caller is cancelled, and imports that take long."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Iterator
from concurrent import futures
from importlib import import_module
from threading import Event, Lock
from types import ModuleType
from typing import TypeVar

from anyio import to_thread

_Item = TypeVar("_Item")
_Result = TypeVar("_Result")
_importing = Lock()
_CHECK_SECONDS = 0.5


class CallerGone(Exception):
    """A thread's caller was cancelled, so what the thread waited for was, too."""


class StopFlag:
    """Whether the caller is gone; a thread can't be killed, so it checks after each item."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._event = Event()
        self._loop = loop

    def set(self) -> None:
        self._event.set()

    def until(self, items: Iterable[_Item]) -> Iterator[_Item]:
        """The items, until the flag is set."""
        for item in items:
            if self._event.is_set():
                return
            yield item

    def wait_for(self, call: Callable[[], Awaitable[_Result]]) -> _Result:
        """The result of a call on the caller's event loop, for the thread; CallerGone once the flag is set."""

        async def answer() -> _Result:
            return await call()

        if self._event.is_set():
            raise CallerGone
        future = asyncio.run_coroutine_threadsafe(answer(), self._loop)
        while not future.done():
            # A loop that has ended would answer never.
            futures.wait([future], timeout=_CHECK_SECONDS)
            if self._event.is_set():
                future.cancel()
                raise CallerGone
        return future.result()


async def run_stoppable(work: Callable[[StopFlag], _Result]) -> _Result:
    """Run this work, which loops over ``StopFlag.until``, on a thread.

    A cancelled caller does not wait for its end; the loop ends after the current item.
    """
    stop = StopFlag(asyncio.get_running_loop())
    try:
        return await to_thread.run_sync(work, stop, abandon_on_cancel=True)
    finally:
        stop.set()


async def import_in_thread(name: str) -> ModuleType:
    """A module that takes long to load, without holding up the event loop; one at a time.

    Libraries whose modules import each other are seen half loaded by a thread that begins elsewhere in them.
    """

    def load() -> ModuleType:
        with _importing:
            return import_module(name)

    return await to_thread.run_sync(load)
