"""Pages of a text: where in it each begins."""

from bisect import bisect_right
from collections.abc import Sequence
from operator import itemgetter


def page_at(place: int, first: int | None, later: Sequence[Sequence[int]]) -> int | None:
    """The page on which a character stands.

    Args:
        place: Offset of the character, counted as those of ``later`` are.
        first: Page on which the text begins; None where it has no pages.
        later: Offset and number of each page that begins within the text, ascending.
    """
    passed = bisect_right(later, place, key=itemgetter(0))
    return later[passed - 1][1] if passed else first
