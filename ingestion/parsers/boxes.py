"""Boxes from what a parser or a service says of places on a page, where any number may be anything."""

import math
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate
from typing import NamedTuple

from core.types.text_boxes import BOX_SCALE, TextBox

TO_END = 2**31 - 1
"""End of a box that stands for all the rest of its element's text."""
_OUTSIDE = 0.05
"""Share of a page by which a rectangle may reach beyond it: scanners and models are that inexact."""
_MOST_PER_SPAN = 16
"""Boxes of the same characters: parts of a tilted line, or of a table over several pages."""


class PageRectangle(NamedTuple):
    """Part of a page in shares of its width and height, from its top left corner."""

    left: float
    top: float
    right: float
    bottom: float


def text_box(sides: Sequence[float], page: int | None, start: int = 0, end: int = TO_END) -> TextBox | None:
    """The box of an element's characters from ``start`` to ``end``.

    Args:
        sides: left, top, right and bottom in shares of the page.
        page: from 1.

    Returns:
        None for what is no place on a page: no page, no number, no area, or beyond the page.
    """
    if not page or start >= end or len(sides) != 4 or not all(map(math.isfinite, sides)):
        return None
    if min(sides) < -_OUTSIDE or max(sides) > 1 + _OUTSIDE:
        return None
    left, top, right, bottom = (round(BOX_SCALE * min(1.0, max(0.0, side))) for side in sides)
    if left >= right or top >= bottom:
        return None
    return TextBox(start, end, page, left, top, right - left, bottom - top)


def disjoint(boxes: Iterable[TextBox]) -> Iterator[TextBox]:
    """The boxes of one element by their characters, without those whose characters overlap others'.

    So a chunk has no more boxes than it has characters to place, whatever a service answers.
    """
    span, count, place = (0, 0), 0, 0
    for box in sorted(boxes):
        if (box.start, box.end) == span:
            count += 1
        elif box.start >= place:
            span, count, place = (box.start, box.end), 1, box.end
        else:
            continue
        if count <= _MOST_PER_SPAN:
            yield box


class BoxIndex:
    """The boxes of a document by the characters that stand in them."""

    def __init__(self, boxes: Sequence[TextBox]) -> None:
        self._boxes = boxes
        self._starts = [box.start for box in boxes]
        self._ends = list(accumulate((box.end for box in boxes), max))

    def within(self, start: int, end: int) -> list[TextBox]:
        """The boxes of any of the characters from ``start`` to ``end``."""
        first, last = bisect_right(self._ends, start), bisect_left(self._starts, end)
        return [box for box in self._boxes[first:last] if box.end > start]
