"""Progress of a long parse, reported by parsers that read page by page."""

import time
from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TypeVar

Listener = Callable[[int], None]
"""Called with the percent that is done."""

_PAUSE_SECONDS = 0.25
_T = TypeVar("_T")


def _ignore(_: int) -> None:
    """Progress is not reported."""


@dataclass(slots=True)
class _ListenerState:
    listener: Listener
    reported_at: float = 0.0


_state = _ListenerState(_ignore)


@contextmanager
def reporting_to(listener: Listener) -> Generator[None]:
    """Report the progress of the parse in this block."""
    _state.listener, _state.reported_at = listener, time.monotonic()
    try:
        yield
    finally:
        _state.listener = _ignore


def track_progress(parts: Iterable[_T], count: int) -> Generator[_T]:
    """Yield the ``count`` parts of a parse, reporting progress now and then."""
    for number, part in enumerate(parts):
        now = time.monotonic()
        if number and now - _state.reported_at >= _PAUSE_SECONDS:
            _state.reported_at = now
            _state.listener(100 * number // count)
        yield part
