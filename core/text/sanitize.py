"""Checks that make outside text safe for every database, hash and log."""

import re
import unicodedata
from typing import Annotated

from pydantic import AfterValidator

from core.text.invisible import FLAG, FLAGS, HIDDEN
from core.types.errors import FieldValueError


def refuse_half_characters(value: str) -> str:
    """Refuse lone surrogates: JSON can spell them, UTF-8 can't."""
    if any("\ud800" <= character <= "\udfff" for character in value):
        raise FieldValueError("must not contain half a character", "不能包含不完整的字符")
    return value


def refuse_nul(value: str) -> str:
    """Refuse NUL: PostgreSQL can't store it, and no text needs it."""
    if "\x00" in value:
        raise FieldValueError("must not contain the character NUL", "不能包含 NUL 字符")
    return value


Storable = Annotated[str, AfterValidator(refuse_half_characters), AfterValidator(refuse_nul)]
"""Text from a caller that may be stored or compared with what is stored."""


_BLACK_FLAG = "\U0001f3f4"
_HIDDEN = re.compile(f"{FLAG}|[{HIDDEN}]+")


def strip_hidden(text: str) -> str:
    """The text without hidden characters, in linear time."""
    if text.isascii():
        return text
    return _HIDDEN.sub(_visible, text)


def _visible(match: re.Match[str]) -> str:
    run = match[0]
    if run in FLAGS:
        return run
    return _BLACK_FLAG if run.startswith(_BLACK_FLAG) else ""


_INVISIBLE = frozenset(("Cc", "Cf", "Co", "Cs"))
_JOINERS = "\u200c\u200d"
_BLANKS = re.compile(r"\s+")


def plain_line(text: str) -> str:
    """A text on one line, blanks collapsed, invisible characters removed."""
    visible = (sign if sign in _JOINERS or unicodedata.category(sign) not in _INVISIBLE else " " for sign in text)
    return _BLANKS.sub(" ", "".join(visible)).strip()
