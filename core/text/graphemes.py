"""Places at which a text may be cut without breaking a visible character."""

import unicodedata

_ZERO_WIDTH_JOINER = "\u200d"
_REGIONAL_INDICATORS = ("\U0001f1e6", "\U0001f1ff")
# Characters that modify the previous one and are no marks: skin colours, tags of flags, jamo.
_EXTENDING = (("\U0001f3fb", "\U0001f3ff"), ("\U000e0020", "\U000e007f"), ("\u1160", "\u11ff"), ("\ud7b0", "\ud7ff"))


def grapheme_boundary(text: str, place: int) -> int:
    """The last index up to ``place`` that does not split a character of several code points; 0 if there is none.

    It follows UAX #29 as far as titles need it: marks, joiners, flags, Hangul syllables.
    """
    place = min(place, len(text))
    while 0 < place < len(text) and _holds_together(text, place):
        place -= 1
    return place


def shorten(text: str, most: int) -> str:
    """The text, or its beginning with an ellipsis, in at most ``most`` code points (at least 1)."""
    if len(text) <= most:
        return text
    # Endlessly stacked marks on one letter are cut within.
    place = grapheme_boundary(text, most - 1) or most - 1
    return text[:place].rstrip() + "…"


def _holds_together(text: str, place: int) -> bool:
    before, after = text[place - 1], text[place]
    if _ZERO_WIDTH_JOINER in (before, after) or unicodedata.category(after)[0] == "M":
        return True
    if any(first <= after <= last for first, last in _EXTENDING):
        return True
    return _is_regional(after) and _regional_before(text, place) % 2 == 1


def _is_regional(sign: str) -> bool:
    first, last = _REGIONAL_INDICATORS
    return first <= sign <= last


def _regional_before(text: str, place: int) -> int:
    """Number of adjacent regional indicators before a place: two make a flag."""
    start = place
    while start > 0 and _is_regional(text[start - 1]):
        start -= 1
    return place - start
