"""SEC901: characters that a reader cannot see and a model reads."""

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import replace

from core.text.invisible import FLAG, FLAGS, HIDDEN
from skills.lint.codes import MOST_OF_A_KIND, Finding
from skills.lint.scanner import Scan

_TAGS = (0xE0000, 0xE007F)
_MORE_SELECTORS = (0xE0100, 0xE01EF)
_HIDDEN = re.compile(
    f"{FLAG}|[{HIDDEN}]+|[\u200c\u200d]+|[\ufe00-\ufe0f\U000e0100-\U000e01ef]{{2,}}"
)
_JOINERS = "\u200c\u200d"
# Hebrew and Arabic to Khmer and Mongolian: scripts that need joiners to be spelled right.
_JOINING_SCRIPTS = (("\u0590", "\u109f"), ("\u1780", "\u18af"), ("\ua8e0", "\uabff"))
_EMOJI_PARTS = frozenset(("So", "Sk", "Mn", "Me"))
_MOST_SHOWN = 4


def check(scan: Scan) -> Iterator[Finding]:
    """SEC901 for each run of hidden characters, with what it spells where it spells something."""
    if scan.text.isascii():
        return
    count = 0
    for found in _HIDDEN.finditer(scan.text):
        run = found[0]
        if run in FLAGS or (run[0] in _JOINERS and _is_joining(scan.text, found.start(), run)):
            continue
        count += 1
        facts: dict[str, object] = {"characters": _names(run)}
        if decoded := decode(run):
            facts["decoded"] = decoded
        finding = scan.finding("SEC901", found.span(), facts, "decoded" if decoded else "")
        # Those that nobody is told of need no mend, which takes time on a long line.
        edits = (scan.edit(found.span(), ""),) if count <= MOST_OF_A_KIND else ()
        yield replace(finding, edits=edits)


def decode(run: str) -> str:
    """What a run of hidden characters spells: ASCII as tags, or UTF-8 bytes as variation selectors.

    Returns:
        The text, empty where the run spells none.
    """
    places = [ord(sign) for sign in run]
    if any(_TAGS[0] <= place <= _TAGS[1] for place in places):
        letters = (place - _TAGS[0] for place in places if _TAGS[0] <= place <= _TAGS[1])
        return "".join(chr(letter) for letter in letters if 0x20 <= letter < 0x7F)
    values = [_selected(place) for place in places]
    if not all(0 <= value <= 255 for value in values):
        return ""
    text = bytes(values).decode("utf-8", "replace")
    return text if text.isprintable() and "\ufffd" not in text else ""


def _selected(place: int) -> int:
    """The number of a variation selector from 0; -1 for any other character."""
    if 0xFE00 <= place <= 0xFE0F:
        return place - 0xFE00
    if _MORE_SELECTORS[0] <= place <= _MORE_SELECTORS[1]:
        return place - _MORE_SELECTORS[0] + 16
    return -1


def _is_joining(text: str, start: int, run: str) -> bool:
    """Whether a joiner does its work: inside an emoji, or in a script that needs it."""
    if len(run) > 1 or start == 0 or start + 1 >= len(text):
        return False
    before, after = text[start - 1], text[start + 1]
    if any(first <= before <= last for first, last in _JOINING_SCRIPTS):
        return True
    is_emoji = unicodedata.category(before) in _EMOJI_PARTS and unicodedata.category(after) == "So"
    # Gender and other signs behind the joiner are older than emoji.
    return run == "\u200d" and (is_emoji or "\u2600" <= after <= "\u27bf")


def _names(run: str) -> str:
    kinds = list(dict.fromkeys(run))
    shown = ", ".join(f"U+{ord(sign):04X}" for sign in kinds[:_MOST_SHOWN])
    more = ", …" if len(kinds) > _MOST_SHOWN else ""
    return f"{shown}{more} × {len(run)}" if len(run) > 1 else shown
