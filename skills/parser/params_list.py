"""Parameters written as a list: ``- `name` (type, required, default: x): what it is``."""

import re
import unicodedata
from collections.abc import Iterator

from skills.lint.codes import Finding
from skills.parser import outline, param_types
from skills.parser.outline import Item
from skills.parser.params import ATTRIBUTE_NAMES, OPTIONAL_WORDS, REQUIRED_WORDS, Written
from skills.parser.source import Source
from skills.parser.text_blocks import NAME

_HEAD = re.compile(
    r"(?:\*\*|__)?(?:`(?P<code>[^`]{1,200})`|(?P<bare>[^\s`*(（:：|][^`*(（:：|]{0,199}?))(?:\*\*|__)?"
    r"\s{0,8}(?=[(（:：]|$|\s[-–—]{1,3}\s|[–—])"
)
_DESCRIPTION = re.compile(r"\s*(?:\*\*|__)?\s*(?:[:：]|[-–—]+)?\s*")
_OPENING = {"(": ")", "（": "）", "<": ">", "[": "]", "{": "}"}
_CLOSING = frozenset(")）>]}")
_SEPARATORS = frozenset(",，、;；")
_ATTRIBUTE = re.compile(r"([^:：=]{1,20}?)\s{0,8}[:：=]\s*(.*)", re.DOTALL)
_SPACED = re.compile(
    r"(min|max|minimum|maximum|最小|最大|最小值|最大值|pattern|正则|default|默认|默认值)\s+(.+)",
    re.IGNORECASE | re.DOTALL,
)
_LISTED = re.compile(
    r"(?P<word>[^(（\[<:：=]{1,20}?)\s{0,8}[(（\[<](?P<values>[^()（）\[\]<>]{1,2000})[)）\]>]"
)
_MARKER = re.compile(r"[ \t]*(?:[-*+]|\d{1,9}[.)])[ \t]+")


def read(item: Item, source: Source, findings: list[Finding]) -> Written | None:
    """The parameter that a list item declares; ``None`` and SK030 where it declares none."""
    text = outline.item_text(item, source)
    first, _, rest = text.partition("\n")
    marker = _MARKER.match(source.line(item.start))
    column = (marker.end() if marker else 0) + 1
    head = _HEAD.match(first)
    # A sentence is no bad name: a name has something behind it, or is a good one.
    if head is None or (
        head.end() == len(first) and not NAME.fullmatch(head["code"] or head["bare"])
    ):
        facts = {"text": first}
        findings.append(Finding("SK030", item.start, column, item.end, facts))
        return None
    kind = "code" if head["code"] is not None else "bare"
    name = head[kind].strip()
    written = Written(name, item.start, column + head.start(kind), len(head[kind].rstrip()))
    place = head.end()
    if first[place : place + 1] in ("(", "（"):
        end = _closing(first, place)
        read_attributes(written, first, (place + 1, end), column)
        place = end + 1
    told = _DESCRIPTION.match(first, place)
    description = first[told.end() if told else place :].strip()
    written.description = "\n".join([description, *_read_nested(written, rest)]).strip()
    return written


def _closing(text: str, start: int) -> int:
    """Where the bracket that opens at ``start`` closes; the text's end where it does not.

    Brackets in code marks and quotes do not count, unless a mark is left open.
    """
    for marks in ('`"', ""):
        if (end := _closing_outside(text, start, marks)) >= 0:
            return end
    return len(text)


def _closing_outside(text: str, start: int, marks: str) -> int:
    depth, inside = 0, ""
    for at in range(start, len(text)):
        sign = text[at]
        if inside or sign in marks:
            inside = sign if not inside else "" if sign == inside else inside
        elif sign in "(（":
            depth += 1
        elif sign in ")）":
            depth -= 1
            if depth == 0:
                return at
    return -1


def _pieces(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """The spans between separators that stand in no bracket, code or quotes."""
    depth, quote, begin = 0, "", start
    for at in range(start, end):
        sign = text[at]
        if quote:
            quote = "" if sign == quote else quote
        elif sign in '`"':
            quote = sign
        elif sign in _OPENING:
            depth += 1
        elif sign in _CLOSING:
            depth -= 1
        elif depth <= 0 and sign in _SEPARATORS:
            yield begin, at
            begin = at + 1
    yield begin, end


def holds_type(text: str) -> bool:
    """Whether attributes between commas name a type."""
    pieces = [text[slice(*one)].strip() for one in _pieces(text, 0, len(text))]
    return any(param_types.read_type(piece) or _listed(piece) for piece in pieces)


def read_attributes(written: Written, text: str, span: tuple[int, int], column: int) -> None:
    """Take attributes between commas.

    Args:
        written: the parameter that gets them.
        text: where they stand.
        span: from which character of it to which.
        column: of its first character in the file's line.
    """
    valued = ""
    for begin, end in _pieces(text, *span):
        piece = text[begin:end]
        stripped = piece.strip()
        before = set(written.texts)
        place = column + begin + len(piece) - len(piece.lstrip())
        if not stripped or _read_attribute(written, stripped, place):
            valued = next(iter(written.texts.keys() - before - {"type"}), "")
        elif valued and text[begin - 1] == "、":
            # "默认：甲、乙" is one list, whose mark stands between attributes as well.
            written.texts[valued] += f"、{stripped}"
        else:
            written.unknown.append((stripped, place))


def _read_attribute(written: Written, piece: str, column: int) -> bool:
    """Take one attribute; ``False`` where it is none."""
    word = unicodedata.normalize("NFKC", piece).strip("`* ").lower()
    if word in REQUIRED_WORDS or word in OPTIONAL_WORDS:
        written.required = word in REQUIRED_WORDS
        written.required_place = (column, len(piece))
    elif param_types.read_type(piece):
        written.texts.setdefault("type", piece)
    elif listed := _listed(piece):
        kind, values = listed
        written.texts.setdefault("enum", values)
        if param_types.read_type(kind):
            written.texts.setdefault("type", kind)
    elif named := _named(piece):
        _take(written, *named)
    elif "|" in piece:
        written.texts.setdefault("enum", piece)
    else:
        return False
    return True


def _listed(piece: str) -> tuple[str, str] | None:
    """The allowed values in brackets, behind what calls them so: ``枚举（甲/乙）``, ``one of [a, b]``."""
    match = _LISTED.fullmatch(piece)
    if match is None:
        return None
    word = unicodedata.normalize("NFKC", match["word"]).strip("`* ").lower()
    return (word, match["values"].strip()) if ATTRIBUTE_NAMES.get(word) == "enum" else None


def _named(piece: str) -> tuple[str, str] | None:
    """An attribute with a value: its key and the value as written."""
    match = _ATTRIBUTE.fullmatch(piece) or _SPACED.fullmatch(piece)
    if match is None:
        return None
    word = unicodedata.normalize("NFKC", match[1]).strip("`* ").lower()
    if word in REQUIRED_WORDS or word == "是否必填":
        return "required", match[2]
    key = ATTRIBUTE_NAMES.get(word)
    return (key, match[2]) if key else None


def _take(written: Written, key: str, value: str) -> None:
    if key == "required":
        written.required = param_types.read_flag(value)
    else:
        written.texts.setdefault(key, value.strip())


def _read_nested(written: Written, rest: str) -> Iterator[str]:
    """What stands below an item's first line: attributes as nested bullets are taken, the rest is
    description."""
    for line in rest.split("\n"):
        marker = _MARKER.match(line)
        named = _named(line[marker.end() :].replace("**", "").strip()) if marker else None
        if named is None or (named[0] == "type" and param_types.read_type(named[1]) is None):
            yield line
        else:
            _take(written, *named)
