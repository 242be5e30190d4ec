"""Parameters as written in list items and table rows."""

import re
import unicodedata
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from skills.diagnostics import Finding
from skills.parser import outline, param_types
from skills.parser.headings import canonical
from skills.parser.outline import ListItem, OutlineBlock
from skills.parser.source import SkillSource
from skills.parser.text_blocks import NAME

ATTRIBUTES: Mapping[str, tuple[str, ...]] = {
    "type": ("type", "类型", "数据类型"),
    "default": ("default", "默认", "默认值", "缺省", "缺省值"),
    "enum": (
        *("enum", "枚举", "枚举值", "可选值", "取值", "取值范围", "values", "options"),
        *("allowed values", "choices", "one of"),
    ),
    "example": ("example", "示例", "例子", "样例", "示例值", "e.g.", "例如"),
    "min": ("min", "minimum", "最小", "最小值"),
    "max": ("max", "maximum", "最大", "最大值"),
    "pattern": ("pattern", "regex", "正则", "格式", "正则表达式"),
}
"""Attributes with a value, and how they are written; in a table also the heads of columns."""

ATTRIBUTE_NAMES: Mapping[str, str] = {name: key for key, names in ATTRIBUTES.items() for name in names}
REQUIRED_WORDS = frozenset({"required", "必填", "必需", "必须", "mandatory"})
OPTIONAL_WORDS = frozenset({"optional", "可选", "选填", "非必填"})

_HEAD = re.compile(
    r"(?:\*\*|__)?(?:`(?P<code>[^`]{1,200})`|(?P<bare>[^\s`*(（:：|][^`*(（:：|]{0,199}?))(?:\*\*|__)?"
    r"\s{0,8}(?=[(（:：]|$|\s[-–—]{1,3}\s|[–—])"
)
_DESCRIPTION = re.compile(r"\s*(?:\*\*|__)?\s*(?:[:：]|[-–—]+)?\s*")
_OPENING = {"(": ")", "（": "）", "<": ">", "[": "]", "{": "}"}
_CLOSING = frozenset(")）>]}")
_SEPARATORS = frozenset(",，、;；")
_ATTRIBUTE = re.compile(r"([^:：=]{1,20}?)\s{0,8}[:：=]\s*(.*)", re.DOTALL)
_SPACED_ATTRIBUTE = re.compile(
    r"(min|max|minimum|maximum|最小|最大|最小值|最大值|pattern|正则|default|默认|默认值)\s+(.+)",
    re.IGNORECASE | re.DOTALL,
)
_LISTED = re.compile(r"(?P<word>[^(（\[<:：=]{1,20}?)\s{0,8}[(（\[<](?P<values>[^()（）\[\]<>]{1,2000})[)）\]>]")
_MARKER = re.compile(r"[ \t]*(?:[-*+]|\d{1,9}[.)])[ \t]+")
_COLUMNS: Mapping[str, str] = {
    **ATTRIBUTE_NAMES,
    **dict.fromkeys(
        (
            *("名称", "参数", "参数名", "参数名称", "字段", "字段名", "变量", "键"),
            *("name", "parameter", "param", "argument", "arg", "field", "input", "key", "variable"),
        ),
        "name",
    ),
    **dict.fromkeys((*REQUIRED_WORDS, "是否必填", "必填项", "必选"), "required"),
    **dict.fromkeys(OPTIONAL_WORDS, "optional"),
    **dict.fromkeys(
        ("说明", "描述", "含义", "备注", "用途", "description", "meaning", "notes", "purpose"), "description"
    ),
}
_BAR = re.compile(r"(?<!\\)\|")


@dataclass(slots=True)
class WrittenParam:
    """A parameter as written in a list item or a table row; empty texts are absent.

    Args:
        name_length: in the file; 0 if the name can't be replaced.
        texts: ``type``, ``default``, ``enum``, ``example``, ``min``, ``max``, ``pattern``.
        required_place: column and length of the word for required, for the fix.
        unknown: unrecognised attributes with their columns.
    """

    name: str
    line: int
    column: int
    name_length: int = 0
    texts: dict[str, str] = field(default_factory=dict[str, str])
    required: bool | None = None
    required_place: tuple[int, int] | None = None
    description: str = ""
    unknown: list[tuple[str, int]] = field(default_factory=list[tuple[str, int]])

    def says(self, attribute: str) -> str | None:
        """An attribute's text; ``None`` for an absent one or "none"."""
        text = self.texts.get(attribute, "").strip()
        return None if not text or param_types.is_null(text) else text


def read_table(block: OutlineBlock, source: SkillSource, findings: list[Finding]) -> Iterator[WrittenParam]:
    """The parameters of a table; none and SK031 if no column names them."""
    head = [column_key(text) for _, text in cells(source.line(block.start))]
    if "name" not in head:
        findings.append(Finding("SK031", block.start, 1, block.end))
        return
    for line in range(block.start + 2, block.end + 1):
        row = cells(source.line(line))
        if len(row) != len(head):
            facts = {"cells": len(row), "columns": len(head)}
            findings.append(Finding("SK039", line, facts=facts))
        if written := _row(row, head, line):
            yield written
        else:
            facts = {"text": source.line(line)}
            findings.append(Finding("SK030", line, facts=facts))


def column_key(text: str) -> str | None:
    """What a column of a table of inputs says, by its head; None if that is not known."""
    word = canonical(text)
    return _COLUMNS.get(word) or _COLUMNS.get(word.removesuffix("s"))


def cells(line: str) -> list[tuple[int, str]]:
    """A row's cells with their columns, ``\\|`` unescaped."""
    begin = len(line) - len(line.lstrip())
    end = len(line.rstrip())
    if line[begin : begin + 1] == "|":
        begin += 1
    if end > begin and line[end - 1] == "|" and line[end - 2] != "\\":
        end -= 1
    row: list[tuple[int, str]] = []
    for bar in [*_BAR.finditer(line, begin, end), None]:
        stop = bar.start() if bar else end
        text = line[begin:stop]
        row.append((begin + len(text) - len(text.lstrip()) + 1, text.strip().replace("\\|", "|")))
        begin = stop + 1
    return row


def _row(row: list[tuple[int, str]], head: list[str | None], line: int) -> WrittenParam | None:
    cells_by_key: dict[str, tuple[int, str]] = {}
    for key, cell in zip(head, row, strict=False):
        if key and key not in cells_by_key:
            cells_by_key[key] = cell
    column, text = cells_by_key.pop("name", (1, ""))
    name = text.strip("*_ ") if "`" not in text else text.strip("*` ")
    if not name:
        return None
    column += max(text.find(name), 0)
    written = WrittenParam(name, line, column, len(name))
    _read_required(written, cells_by_key)
    description = cells_by_key.pop("description", (1, ""))[1]
    column, kind = cells_by_key.get("type", (1, ""))
    if param_types.read_type(kind) is None and holds_type(kind):
        del cells_by_key["type"]
        read_attributes(written, kind, (0, len(kind)), column)
    written.description = "" if param_types.is_null(description) else description
    written.texts |= {key: value for key, (_, value) in cells_by_key.items()}
    return written


def _read_required(written: WrittenParam, cells_by_key: dict[str, tuple[int, str]]) -> None:
    for key, means_required in (("required", True), ("optional", False)):
        column, text = cells_by_key.pop(key, (1, ""))
        flag = param_types.read_flag(text)
        if flag is not None:
            written.required = flag is means_required
            if means_required:
                written.required_place = (column, len(text))


def read_item(item: ListItem, source: SkillSource, findings: list[Finding]) -> WrittenParam | None:
    """The parameter that a list item declares; ``None`` and SK030 for none."""
    text = outline.item_text(item, source)
    first, _, rest = text.partition("\n")
    marker = _MARKER.match(source.line(item.start))
    column = (marker.end() if marker else 0) + 1
    head = _HEAD.match(first)
    # A sentence is no bad name: a name has something behind it, or is a good one.
    if head is None or (head.end() == len(first) and not NAME.fullmatch(head["code"] or head["bare"])):
        facts = {"text": first}
        findings.append(Finding("SK030", item.start, column, item.end, facts))
        return None
    kind = "code" if head["code"] is not None else "bare"
    name = head[kind].strip()
    written = WrittenParam(name, item.start, column + head.start(kind), len(head[kind].rstrip()))
    place = head.end()
    if first[place : place + 1] in ("(", "（"):
        end = _closing(first, place)
        read_attributes(written, first, (place + 1, end), column)
        place = end + 1
    separator = _DESCRIPTION.match(first, place)
    description = first[separator.end() if separator else place :].strip()
    written.description = "\n".join([description, *_read_nested(written, rest)]).strip()
    return written


def _closing(text: str, start: int) -> int:
    """The end of the bracket at ``start``, else of the text; brackets in closed code marks and quotes do not count."""
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
    pieces = [text[slice(*span)].strip() for span in _pieces(text, 0, len(text))]
    return any(param_types.read_type(piece) or _listed_values(piece) for piece in pieces)


def read_attributes(written: WrittenParam, text: str, span: tuple[int, int], column: int) -> None:
    """Read attributes between commas; ``column`` is the place of the span's first character in the file's line."""
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


def _read_attribute(written: WrittenParam, piece: str, column: int) -> bool:
    word = unicodedata.normalize("NFKC", piece).strip("`* ").lower()
    if word in REQUIRED_WORDS or word in OPTIONAL_WORDS:
        written.required = word in REQUIRED_WORDS
        written.required_place = (column, len(piece))
    elif param_types.read_type(piece):
        written.texts.setdefault("type", piece)
    elif listed := _listed_values(piece):
        kind, values = listed
        written.texts.setdefault("enum", values)
        if param_types.read_type(kind):
            written.texts.setdefault("type", kind)
    elif key_and_value := _named_value(piece):
        _set_attribute(written, *key_and_value)
    elif "|" in piece:
        written.texts.setdefault("enum", piece)
    else:
        return False
    return True


def _listed_values(piece: str) -> tuple[str, str] | None:
    match = _LISTED.fullmatch(piece)
    if match is None:
        return None
    word = unicodedata.normalize("NFKC", match["word"]).strip("`* ").lower()
    return (word, match["values"].strip()) if ATTRIBUTE_NAMES.get(word) == "enum" else None


def _named_value(piece: str) -> tuple[str, str] | None:
    match = _ATTRIBUTE.fullmatch(piece) or _SPACED_ATTRIBUTE.fullmatch(piece)
    if match is None:
        return None
    word = unicodedata.normalize("NFKC", match[1]).strip("`* ").lower()
    if word in REQUIRED_WORDS or word == "是否必填":
        return "required", match[2]
    key = ATTRIBUTE_NAMES.get(word)
    return (key, match[2]) if key else None


def _set_attribute(written: WrittenParam, key: str, value: str) -> None:
    if key == "required":
        written.required = param_types.read_flag(value)
    else:
        written.texts.setdefault(key, value.strip())


def _read_nested(written: WrittenParam, rest: str) -> Iterator[str]:
    """Read nested bullets below an item: attributes are taken, the rest is description."""
    for line in rest.split("\n"):
        marker = _MARKER.match(line)
        key_and_value = _named_value(line[marker.end() :].replace("**", "").strip()) if marker else None
        if key_and_value is None or (key_and_value[0] == "type" and param_types.read_type(key_and_value[1]) is None):
            yield line
        else:
            _set_attribute(written, *key_and_value)
