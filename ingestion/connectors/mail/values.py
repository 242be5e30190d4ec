"""Values of IMAP answers (RFC 3501, section 9): atoms, strings, lists, and names of folders."""

import base64
import re
from collections.abc import Sequence
from contextlib import suppress
from typing import TypeAlias

Value: TypeAlias = "bytes | list[Value] | None"
"""An atom or a string, a list, or NIL."""

_DEEPEST = 64
_MOST_VALUES = 200_000
_TOKEN = re.compile(
    rb"""\ *(?:
    (?P<open>\()
    |(?P<close>\))
    |"(?P<quoted>(?:[^"\\]|\\.)*)"
    |(?P<literal>\{[0-9]+\}$)
    |(?P<atom>(?:[^\ ()"\[]+|\[[^\]]*\]?)+)
    )""",
    re.VERBOSE,
)
_ESCAPE = re.compile(rb"\\(.)")
_CONTROLS = re.compile("[\x00-\x1f\x7f-\x9f\ud800-\udfff]")
# Modified UTF-7 (section 5.1.3).
_SHIFT = re.compile(r"&([A-Za-z0-9+,]*)-")


def parse_values(parts: Sequence[bytes]) -> list[Value]:
    """The values of an answer; ValueError if it is none.

    Args:
        parts: lines and literals in turns; each line but the last ends with the size of the literal behind it.
    """
    stack: list[list[Value]] = [[]]
    rest = _MOST_VALUES
    for number in range(0, len(parts), 2):
        line, position = parts[number].rstrip(b" "), 0
        literal = parts[number + 1] if number + 1 < len(parts) else b""
        while position < len(line):
            token = _TOKEN.match(line, position)
            rest -= 1
            if token is None or not rest:
                raise ValueError("no value")
            _add(stack, token, literal)
            position = token.end()
    if len(stack) > 1:
        raise ValueError("not closed")
    return stack[0]


def _add(stack: list[list[Value]], token: re.Match[bytes], literal: bytes) -> None:
    match token.lastgroup:
        case "open":
            if len(stack) > _DEEPEST:
                raise ValueError("too deep")
            inner: list[Value] = []
            stack[-1].append(inner)
            stack.append(inner)
        case "close":
            stack.pop()
            if not stack:
                raise ValueError("not open")
        case "literal":
            stack[-1].append(literal)
        case "quoted":
            stack[-1].append(_ESCAPE.sub(rb"\1", token["quoted"]))
        case _:
            atom = token["atom"]
            stack[-1].append(None if atom.upper() == b"NIL" else atom)


def pairs_of(values: Sequence[Value]) -> dict[bytes, Value]:
    """Names and values in turns, as FETCH has them; names in capitals."""
    names = [name.upper() if isinstance(name, bytes) else b"" for name in values[::2]]
    return dict(zip(names, values[1::2], strict=False))


def text_of(value: Value) -> str:
    """A string as text; empty for anything else."""
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else ""


def number_of(value: Value) -> int | None:
    """A number; None for anything else."""
    return int(value) if isinstance(value, bytes) and value.isdigit() and len(value) < 20 else None


def quote_string(text: bytes) -> bytes | None:
    """A quoted string; None for what only a literal can hold."""
    if len(text) > 1000 or not text.isascii() or re.search(rb"[\x00-\x1f\x7f]", text):
        return None
    return b'"' + re.sub(rb'(["\\])', rb"\\\1", text) + b'"'


def folder_name(raw: bytes) -> str:
    """The name of a folder for people, who write it in patterns."""

    def shifted(match: re.Match[str]) -> str:
        code = match[1].replace(",", "/")
        return base64.b64decode(code + "=" * (-len(code) % 4)).decode("utf-16-be") if code else "&"

    text = raw.decode("utf-8", "replace")
    with suppress(ValueError):
        text = _SHIFT.sub(shifted, text)
    return _CONTROLS.sub("\N{REPLACEMENT CHARACTER}", text)
