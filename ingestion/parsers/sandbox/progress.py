"""How far a long parse is: said by parsers that read page by page, heard where somebody listens."""

import time
from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TypeVar

Listener = Callable[[int], None]
"""Is told the percent that is done."""

_PAUSE_SECONDS = 0.25
_T = TypeVar("_T")


def _ignore(_: int) -> None:
    """Nobody listens."""


@dataclass(slots=True)
class _ListenerState:
    heard: Listener
    told: float = 0.0


_state = _ListenerState(_ignore)


@contextmanager
def reporting_to(heard: Listener) -> Generator[None]:
    """Tell somebody how far the parse in this block is."""
    _state.heard, _state.told = heard, time.monotonic()
    try:
        yield
    finally:
        _state.heard = _ignore


def track_progress(parts: Iterable[_T], count: int) -> Generator[_T]:
    """The parts of a parse, each a part of the work, telling how far it is, now and then.

    Args:
        parts: what is worked on one after the other.
        count: how many there are.
    """
    for number, part in enumerate(parts):
        now = time.monotonic()
        if number and now - _state.told >= _PAUSE_SECONDS:
            _state.told = now
            _state.heard(100 * number // count)
        yield part
