"""The tokens of rich text (RTF 1.9): groups, control words and text bytes; its character sets."""

import codecs
import re
from collections.abc import Iterator
from enum import Enum
from typing import NamedTuple

_TOKEN = re.compile(
    rb"([{}])|\\([A-Za-z]{1,32})(-?\d{1,10})?\x20?|\\'([0-9A-Fa-f]{2})|\\([^A-Za-z])"
    rb"|[\r\n]+|([^\\{}\r\n]+)|\\"
)
# Character sets of fonts (``\fcharset``) as Python codecs; 0 and 1 mean the document's own.
_CHARSETS = {
    77: "mac_roman",
    128: "cp932",
    129: "cp949",
    130: "johab",
    134: "gb18030",
    136: "big5hkscs",
    161: "cp1253",
    162: "cp1254",
    163: "cp1258",
    177: "cp1255",
    178: "cp1256",
    186: "cp1257",
    204: "cp1251",
    222: "cp874",
    238: "cp1250",
}
_CODE_PAGES = {936: "gb18030", 950: "big5hkscs", 10000: "mac_roman", 65001: "utf-8"}


class Sort(Enum):
    """The kind of a token."""

    OPEN = 1
    CLOSE = 2
    WORD = 3
    TEXT = 4


class Token(NamedTuple):
    """One token.

    Attributes:
        word: Name of a control word, or the sign of a control symbol.
        number: The control word's number, None without one.
        data: Bytes of text, in the encoding in force.
    """

    sort: Sort
    word: str = ""
    number: int | None = None
    data: bytes = b""


_OPEN, _CLOSE = Token(Sort.OPEN), Token(Sort.CLOSE)


def tokens(content: bytes) -> Iterator[Token]:
    """The tokens in order; binary data (``\\bin``) and line ends are left out."""
    place = 0
    while match := _TOKEN.match(content, place):
        place = match.end()
        brace, word, number, byte, symbol, text = match.groups()
        if word is not None:
            count = int(number) if number is not None else None
            if word == b"bin":
                place += max(0, count or 0)
            else:
                yield Token(Sort.WORD, word.decode("ascii"), count)
        elif text is not None:
            yield Token(Sort.TEXT, data=text)
        elif byte is not None:
            yield Token(Sort.TEXT, data=bytes([int(byte, 16)]))
        elif brace is not None:
            yield _OPEN if brace == b"{" else _CLOSE
        elif symbol is not None:
            yield from _symbol(symbol)


def _symbol(sign: bytes) -> Iterator[Token]:
    if sign in (b"\\", b"{", b"}"):
        yield Token(Sort.TEXT, data=sign)
    else:
        # A line end behind a backslash ends a paragraph.
        yield Token(Sort.WORD, "par" if sign in (b"\r", b"\n") else sign.decode("latin-1"))


def charset_codec(charset: int | None) -> str | None:
    """The codec of a font's character set; None for the document's own."""
    return _CHARSETS.get(charset or 0)


def page_codec(page: int | None) -> str | None:
    """The codec of a code page's number (``\\ansicpg``, ``\\cpg``), None if unknown."""
    if page is None:
        return None
    codec = _CODE_PAGES.get(page, f"cp{page}")
    try:
        codecs.lookup(codec)
    except LookupError:
        return None
    return codec
