"""Invisible characters that change how people or models read a text."""

HIDDEN = "\u200b\u2060-\u2064\u180e\ufeff\u202a-\u202e\u2066-\u2069\U000e0000-\U000e007f"
"""For a set in a regular expression: the zero width space, word joiner and invisible operators, the
Mongolian vowel separator, the byte order mark, forced directions, isolates, tags. Joiners and
direction marks are none: scripts are spelled with them."""

FLAG = "\U0001f3f4[\U000e0020-\U000e007e]{1,10}\U000e007f"
"""A regular expression for a flag that is spelled with tags."""

_FIRST_TAG = 0xE0000

FLAGS = frozenset(
    "\U0001f3f4" + "".join(chr(_FIRST_TAG + ord(sign)) for sign in region) + "\U000e007f"
    for region in ("gbeng", "gbsct", "gbwls")
)
"""The flags of England, Scotland and Wales: the only tag sequences in use."""
