"""Fast search for patterns that begin with one of several literals."""

import re
from collections.abc import Iterable, Iterator

_ASCII_LOWER = str.maketrans({chr(place): chr(place + 32) for place in range(65, 91)})


def lower_keeping_length(text: str) -> str:
    """A text in lower case, of the same length."""
    lower = text.lower()
    return lower if len(lower) == len(text) else text.translate(_ASCII_LOWER)


def find_anchored(pattern: re.Pattern[str], text: str, anchors: Iterable[str], lower: str) -> Iterator[re.Match[str]]:
    """The matches of a pattern that begin with one of some words, in order, without overlaps.

    Finding literals is a hundred times as fast as trying a pattern with many alternatives. ``lower`` is the text from
    ``lower_keeping_length``, or the text itself if case matters.
    """
    end = 0
    for place in sorted({place for word in anchors for place in occurrences(word, lower)}):
        if place >= end and (match := pattern.match(text, place)):
            end = max(match.end(), place + 1)
            yield match


def occurrences(word: str, text: str) -> Iterator[int]:
    """The offsets of a word in a text."""
    place = text.find(word)
    while place >= 0:
        yield place
        place = text.find(word, place + 1)
