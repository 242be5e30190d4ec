"""Declared inputs: from what a list item or table row says to a parameter."""

import re
import unicodedata
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

import orjson

from skills.diagnostics import Finding
from skills.parser import outline, param_types
from skills.parser.fuzzy import Vocabulary
from skills.parser.headings import canonical
from skills.parser.outline import BodyOutline, DraftSection, ListItem, MarkdownBlock
from skills.parser.param_types import Mismatch, Type
from skills.parser.source import SkillSource
from skills.parser.text_blocks import NAME, is_list, list_items, says_nothing
from skills.schema import Param, TextEdit

_LONGEST_PATTERN = 128
_BETWEEN_SIGNS = re.compile(r"(?:`[^`]*`|[^|,，、;；/])+")
_BETWEEN_BARS = re.compile(r"(?:`[^`]*`|[^|])+")
# Not "默认为空", which says that there is none.
_JOINED_DEFAULT = re.compile(r"(?:默认|缺省)值?+(?:为|是)?+(?!空$)(?P<value>[^\s:：=].{0,99})")
_BAD_SIGNS = re.compile(r"[^\w\u3400-\u9fff.-]+")


@dataclass(slots=True)
class WrittenParam:
    """A parameter as a list item or a table row says it; empty texts say nothing.

    Args:
        name: as written, marks removed.
        line: where it stands.
        column: the first character of its name.
        name_length: how many characters the name takes in the file; 0 where it can't be replaced.
        texts: ``type``, ``default``, ``enum``, ``example``, ``min``, ``max``, ``pattern``.
        required: whether the file says that a run needs it.
        required_place: column and length of the word that says so in its line, for the mend.
        description: what it is for.
        unknown: attributes that are none, with their columns.
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
        """An attribute's text, ``None`` where nothing or "none" is said."""
        text = self.texts.get(attribute, "").strip()
        return None if not text or param_types.is_null(text) else text


def build_params(
    written: Sequence[WrittenParam], source: SkillSource, findings: list[Finding]
) -> tuple[Param, ...]:
    """Parameters in order, the first of each name kept; notes SK032 to SK038."""
    params: dict[str, Param] = {}
    for one in written:
        if one.name in params:
            facts = {"name": one.name, "first": params[one.name].line}
            findings.append(Finding("SK034", one.line, one.column, facts=facts))
        else:
            params[one.name] = _ParamBuilder(one, source, findings).build()
    return tuple(params.values())


class _ParamBuilder:
    """Reads one parameter's attributes, noting what can't be read."""

    def __init__(self, written: WrittenParam, source: SkillSource, findings: list[Finding]) -> None:
        self._written = written
        self._source = source
        self._findings = findings

    def build(self) -> Param:
        """The parameter."""
        written = self._written
        self._check_name()
        of = self._type()
        enum = self._enum(of)
        for text, column in written.unknown:
            if not self._takes_default(text, of, enum):
                self._note_unknown(text, column)
        default = self._default(of, enum)
        required = written.required if written.required is not None else default is None
        if required and default is not None:
            self._note("SK037", edits=self._make_optional())
        if not written.description:
            self._note("SK038")
        bounds = {name: self._bound(name) for name in ("min", "max")}
        return Param(
            name=written.name,
            type=of.name,
            required=required,
            line=written.line,
            default=default,
            description=written.description,
            enum=enum,
            items=of.items,
            example=self._example(of),
            pattern=self._pattern(),
            **bounds,
        )

    def _note(
        self, code: str, *, variant: str = "", edits: tuple[TextEdit, ...] = (), **more: object
    ) -> None:
        """Note something at the parameter's name."""
        facts: Mapping[str, object] = {"name": self._written.name, **more}
        line, column = self._written.line, self._written.column
        self._findings.append(
            Finding(code, line, column, facts=facts, variant=variant, edits=edits)
        )

    def _check_name(self) -> None:
        written = self._written
        if NAME.fullmatch(written.name):
            return
        better = _BAD_SIGNS.sub("_", written.name).strip("_.-")[:64]
        edits = ()
        if written.name_length and NAME.fullmatch(better):
            edit = self._source.edit(written.line, written.column, written.name_length, better)
            edits = (edit,)
        self._note("SK033", edits=edits)

    def _note_unknown(self, text: str, column: int) -> None:
        near = _KNOWN_WORDS.nearest(text.lower())
        facts: dict[str, object] = {"text": text, "name": self._written.name}
        edits = ()
        if near:
            facts["meant"] = near
            if self._source.line(self._written.line)[column - 1 :].startswith(text):
                edits = (self._source.edit(self._written.line, column, len(text), near),)
        variant = "meant" if near else ""
        self._findings.append(
            Finding("SK032", self._written.line, column, facts=facts, variant=variant, edits=edits)
        )

    def _note_value(self, attribute: str, text: str, expected: str, expected_zh: str) -> None:
        self._note(
            "SK032",
            variant="value",
            attribute=attribute,
            text=text,
            expected=expected,
            expected_zh=expected_zh,
        )

    def _type(self) -> Type:
        text = self._written.says("type")
        if text is None:
            return Type("string")
        if of := param_types.read_type(text):
            return of
        if "|" in text or self._is_values(text):
            self._written.texts.setdefault("enum", text)
            return Type("string")
        place = self._source.line(self._written.line).find(text)
        self._note_unknown(text, place + 1 if place >= 0 else self._written.column)
        return Type("string")

    @staticmethod
    def _is_values(text: str) -> bool:
        return bool(re.fullmatch(r"[`\"'\w.-]+(?:\s*/\s*[`\"'\w.-]+)+", text))

    def _enum(self, of: Type) -> tuple[Any, ...] | None:
        text = self._written.says("enum")
        if text is None:
            if of.name == "enum":
                self._note("SK032", variant="no values")
            return None
        between = _BETWEEN_BARS if "|" in text else _BETWEEN_SIGNS
        words = [word for one in between.findall(text.strip("[]")) if (word := one.strip())]
        member = Type(of.items or "string") if of.name == "array" else of
        values: list[Any] = []
        for word in words:
            try:
                values.append(param_types.coerce(word, member))
            except Mismatch:
                self._note_value(
                    "enum", word, f"a value of type {member.name}", f"{member.name} 类型的值"
                )
        return tuple(values) or None

    def _takes_default(self, text: str, of: Type, enum: tuple[Any, ...] | None) -> bool:
        """Take an unknown attribute as the default that stands behind the word, as in 默认正式.

        Only where it is a value of the parameter: otherwise it says something else.
        """
        match = _JOINED_DEFAULT.fullmatch(text)
        if match is None or "default" in self._written.texts:
            return False
        try:
            is_value = _is_among(param_types.coerce(match["value"], of), enum)
        except Mismatch:
            return False
        if is_value:
            self._written.texts["default"] = match["value"]
        return is_value

    def _default(self, of: Type, enum: tuple[Any, ...] | None) -> object:
        text = self._written.says("default")
        if text is None:
            return None
        try:
            default = param_types.coerce(text, of)
        except Mismatch:
            self._note("SK035", default=text, type=of.name)
            return None
        if enum and not _is_among(default, enum):
            values = ", ".join(f"`{value}`" for value in enum[:10])
            self._note("SK036", default=text, values=values)
        return default

    def _example(self, of: Type) -> object:
        text = self._written.says("example")
        if text is None:
            return None
        try:
            return param_types.coerce(text, of)
        except Mismatch:
            return param_types.bare(text)

    def _bound(self, attribute: str) -> float | None:
        text = self._written.says(attribute)
        if text is None:
            return None
        try:
            return param_types.read_number(text)
        except Mismatch:
            self._note_value(attribute, text, "a number", "数字")
            return None

    def _pattern(self) -> str | None:
        text = self._written.says("pattern")
        if text is None:
            return None
        pattern = param_types.bare(text)
        try:
            if len(pattern) > _LONGEST_PATTERN:
                raise ValueError
            re.compile(pattern)
        except (re.error, ValueError, RecursionError, OverflowError, Warning):
            expected = f"a regular expression of at most {_LONGEST_PATTERN} characters"
            self._note_value(
                "pattern", text, expected, f"不超过 {_LONGEST_PATTERN} 个字符的正则表达式"
            )
            return None
        return pattern

    def _make_optional(self) -> tuple[TextEdit, ...]:
        place = self._written.required_place
        if place is None:
            return ()
        line = self._written.line
        column, length = place
        word = self._source.line(line)[column - 1 : column - 1 + length]
        better = {"必填": "可选", "是": "否", "必须": "可选", "必需": "可选", "✓": "✗"}.get(
            word,
            "no" if word.lower() == "yes" else "false" if word.lower() == "true" else "optional",
        )
        return (self._source.edit(line, column, length, better),)


def _is_among(default: object, enum: tuple[Any, ...] | None) -> bool:
    """Whether a default, or each member of an array, is one of the allowed values."""
    members = cast("list[object]", default) if isinstance(default, list) else [default]
    return not enum or set(map(_comparable, members)) <= set(map(_comparable, enum))


def _comparable(value: object) -> Hashable:
    """A value, or the JSON of an object, as a member of a set."""
    return (
        value if isinstance(value, Hashable) else orjson.dumps(value, option=orjson.OPT_SORT_KEYS)
    )


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

ATTRIBUTE_NAMES: Mapping[str, str] = {
    name: key for key, names in ATTRIBUTES.items() for name in names
}
REQUIRED_WORDS = frozenset({"required", "必填", "必需", "必须", "mandatory"})
OPTIONAL_WORDS = frozenset({"optional", "可选", "选填", "非必填"})
_KNOWN_WORDS = Vocabulary(
    {*param_types.TYPES, *ATTRIBUTE_NAMES, *REQUIRED_WORDS, *OPTIONAL_WORDS} - {"是否", "格式"}
)


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
        ("说明", "描述", "含义", "备注", "用途", "description", "meaning", "notes", "purpose"),
        "description",
    ),
}
_BAR = re.compile(r"(?<!\\)\|")


def read_table(
    block: MarkdownBlock, source: SkillSource, findings: list[Finding]
) -> Iterator[WrittenParam]:
    """The parameters that a table declares; none and SK031 where no column names them."""
    head = [_column(text) for _, text in cells(source.line(block.start))]
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


def _column(text: str) -> str | None:
    word = canonical(text)
    return _COLUMNS.get(word) or _COLUMNS.get(word.removesuffix("s"))


def cells(line: str) -> list[tuple[int, str]]:
    """A row's cells with the columns at which they begin, ``\\|`` unescaped."""
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
    """One row as a parameter, ``None`` without a name."""
    said: dict[str, tuple[int, str]] = {}
    for key, cell in zip(head, row, strict=False):
        if key and key not in said:
            said[key] = cell
    column, text = said.pop("name", (1, ""))
    name = text.strip("*_ ") if "`" not in text else text.strip("*` ")
    if not name:
        return None
    column += max(text.find(name), 0)
    written = WrittenParam(name, line, column, len(name))
    _read_required(written, said)
    description = said.pop("description", (1, ""))[1]
    column, kind = said.get("type", (1, ""))
    if param_types.read_type(kind) is None and holds_type(kind):
        del said["type"]
        read_attributes(written, kind, (0, len(kind)), column)
    written.description = "" if param_types.is_null(description) else description
    written.texts |= {key: value for key, (_, value) in said.items()}
    return written


def _read_required(written: WrittenParam, said: dict[str, tuple[int, str]]) -> None:
    for key, wanted in (("required", True), ("optional", False)):
        column, text = said.pop(key, (1, ""))
        flag = param_types.read_flag(text)
        if flag is not None:
            written.required = flag is wanted
            if wanted:
                written.required_place = (column, len(text))


_JSON_TYPES = {"date": "string", "datetime": "string", "file": "string", "enum": "string"}
_FORMATS = {"date": "date", "datetime": "date-time"}


def read_params(
    sections: Sequence[DraftSection],
    source: SkillSource,
    body: BodyOutline,
    findings: list[Finding],
) -> tuple[Param, ...]:
    """The declared parameters; notes SK030 to SK039."""
    written: list[WrittenParam] = []
    for section in sections:
        _read_section(section, source, body, (written, findings))
    return build_params(written, source, findings)


def _read_section(
    section: DraftSection,
    source: SkillSource,
    body: BodyOutline,
    into: tuple[list[WrittenParam], list[Finding]],
) -> None:
    written, findings = into
    structured = any(is_list(block) or block.kind == "table" for block in section.blocks)
    for block in section.blocks:
        if block.kind == "table":
            written += read_table(block, source, findings)
        elif is_list(block):
            for item in list_items(block, source, body):
                first = source.line(item.start).strip("-*+ \t")
                if not says_nothing(first) and (one := read_item(item, source, findings)):
                    written.append(one)
        elif block.kind == "paragraph" and not structured and not says_nothing(block.text):
            facts = {"text": block.text}
            findings.append(Finding("SK030", block.start, 1, block.end, facts))


def input_schema(declared: Sequence[Param]) -> dict[str, Any]:
    """JSON Schema (draft 2020-12) of parameters: an object, no additional properties."""
    schema: dict[str, Any] = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "properties": {param.name: _property(param) for param in declared},
        "additionalProperties": False,
    }
    if required := [param.name for param in declared if param.required]:
        schema["required"] = required
    return schema


def _property(param: Param) -> dict[str, Any]:
    kind = _JSON_TYPES.get(param.type, param.type)
    written: dict[str, Any] = {"type": kind}
    if format_name := _FORMATS.get(param.type):
        written["format"] = format_name
    if param.description:
        written["description"] = param.description
    if param.type == "array":
        items = param.items or "string"
        members: dict[str, Any] = {"type": _JSON_TYPES.get(items, items)}
        written["items"] = members
    else:
        members = written
    if param.enum is not None:
        members["enum"] = list(param.enum)
    if param.pattern is not None and kind == "string":
        written["pattern"] = param.pattern
    written |= _bounds(param, kind)
    if param.default is not None:
        written["default"] = param.default
    if param.example is not None:
        written["examples"] = [param.example]
    return written


def _bounds(param: Param, kind: str) -> dict[str, Any]:
    names = {
        "string": ("minLength", "maxLength"),
        "array": ("minItems", "maxItems"),
        "integer": ("minimum", "maximum"),
        "number": ("minimum", "maximum"),
    }.get(kind)
    if names is None:
        return {}
    lengths = kind in {"string", "array"}
    bounds: dict[str, Any] = {}
    for name, bound in zip(names, (param.min, param.max), strict=True):
        if bound is not None and not (lengths and (bound < 0 or bound != int(bound))):
            bounds[name] = int(bound) if bound == int(bound) else bound
    return bounds


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
_LISTED = re.compile(
    r"(?P<word>[^(（\[<:：=]{1,20}?)\s{0,8}[(（\[<](?P<values>[^()（）\[\]<>]{1,2000})[)）\]>]"
)
_MARKER = re.compile(r"[ \t]*(?:[-*+]|\d{1,9}[.)])[ \t]+")


def read_item(item: ListItem, source: SkillSource, findings: list[Finding]) -> WrittenParam | None:
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
    written = WrittenParam(name, item.start, column + head.start(kind), len(head[kind].rstrip()))
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
    return any(param_types.read_type(piece) or _listed_values(piece) for piece in pieces)


def read_attributes(written: WrittenParam, text: str, span: tuple[int, int], column: int) -> None:
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


def _read_attribute(written: WrittenParam, piece: str, column: int) -> bool:
    """Take one attribute; ``False`` where it is none."""
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
    elif named := _named_value(piece):
        _set_attribute(written, *named)
    elif "|" in piece:
        written.texts.setdefault("enum", piece)
    else:
        return False
    return True


def _listed_values(piece: str) -> tuple[str, str] | None:
    """The allowed values in brackets, behind what calls them so: ``枚举（甲/乙）``, ``one of [a, b]``."""
    match = _LISTED.fullmatch(piece)
    if match is None:
        return None
    word = unicodedata.normalize("NFKC", match["word"]).strip("`* ").lower()
    return (word, match["values"].strip()) if ATTRIBUTE_NAMES.get(word) == "enum" else None


def _named_value(piece: str) -> tuple[str, str] | None:
    """An attribute with a value: its key and the value as written."""
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
    """What stands below an item's first line: attributes as nested bullets are taken, the rest is
    description."""
    for line in rest.split("\n"):
        marker = _MARKER.match(line)
        named = _named_value(line[marker.end() :].replace("**", "").strip()) if marker else None
        if named is None or (named[0] == "type" and param_types.read_type(named[1]) is None):
            yield line
        else:
            _set_attribute(written, *named)
