"""Declared inputs built from their written forms, and their JSON Schema."""

import re
from collections.abc import Hashable, Mapping, Sequence
from typing import Any, cast

import orjson

from skills.diagnostics import Finding
from skills.parser import param_types
from skills.parser.fuzzy import Vocabulary
from skills.parser.outline import BodyOutline, DraftSection
from skills.parser.param_forms import (
    ATTRIBUTE_NAMES,
    OPTIONAL_WORDS,
    REQUIRED_WORDS,
    WrittenParam,
    read_item,
    read_table,
)
from skills.parser.param_types import Mismatch, Type
from skills.parser.source import SkillSource
from skills.parser.text_blocks import NAME, is_list, list_items, says_nothing
from skills.schema import Param, TextEdit

_LONGEST_PATTERN = 128
_BETWEEN_SIGNS = re.compile(r"(?:`[^`]*`|[^|,，、;；/])+")
_BETWEEN_BARS = re.compile(r"(?:`[^`]*`|[^|])+")
# Not "默认为空", which says that there is none.
_JOINED_DEFAULT = re.compile(r"(?:默认|缺省)值?+[为是]?+(?!空$)(?P<value>[^\s:：=].{0,99})")
_BAD_SIGNS = re.compile(r"[^\w\u3400-\u9fff.-]+")
_KNOWN_WORDS = Vocabulary({*param_types.TYPES, *ATTRIBUTE_NAMES, *REQUIRED_WORDS, *OPTIONAL_WORDS} - {"是否", "格式"})
_JSON_TYPES = {"date": "string", "datetime": "string", "file": "string", "enum": "string"}
_FORMATS = {"date": "date", "datetime": "date-time"}


def read_params(
    sections: Sequence[DraftSection], source: SkillSource, body: BodyOutline, findings: list[Finding]
) -> tuple[Param, ...]:
    """The declared parameters; notes SK030 to SK039."""
    written: list[WrittenParam] = []
    for section in sections:
        _read_section(section, source, body, (written, findings))
    return build_params(written, source, findings)


def _read_section(
    section: DraftSection, source: SkillSource, body: BodyOutline, into: tuple[list[WrittenParam], list[Finding]]
) -> None:
    written, findings = into
    structured = any(is_list(block) or block.kind == "table" for block in section.blocks)
    for block in section.blocks:
        if block.kind == "table":
            written += read_table(block, source, findings)
        elif is_list(block):
            for item in list_items(block, source, body):
                first = source.line(item.start).strip("-*+ \t")
                if not says_nothing(first) and (param := read_item(item, source, findings)):
                    written.append(param)
        elif block.kind == "paragraph" and not structured and not says_nothing(block.text):
            facts = {"text": block.text}
            findings.append(Finding("SK030", block.start, 1, block.end, facts))


def build_params(written: Sequence[WrittenParam], source: SkillSource, findings: list[Finding]) -> tuple[Param, ...]:
    """Parameters in order, the first of each name kept; notes SK032 to SK038."""
    params: dict[str, Param] = {}
    for param in written:
        if param.name in params:
            facts = {"name": param.name, "first": params[param.name].line}
            findings.append(Finding("SK034", param.line, param.column, facts=facts))
        else:
            params[param.name] = _ParamBuilder(param, source, findings).build()
    return tuple(params.values())


class _ParamBuilder:
    """Reads one parameter's attributes, noting errors."""

    def __init__(self, written: WrittenParam, source: SkillSource, findings: list[Finding]) -> None:
        self._written = written
        self._source = source
        self._findings = findings

    def build(self) -> Param:
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

    def _note(self, code: str, *, variant: str = "", edits: tuple[TextEdit, ...] = (), **more: object) -> None:
        facts: Mapping[str, object] = {"name": self._written.name, **more}
        line, column = self._written.line, self._written.column
        self._findings.append(Finding(code, line, column, facts=facts, variant=variant, edits=edits))

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
        self._findings.append(Finding("SK032", self._written.line, column, facts=facts, variant=variant, edits=edits))

    def _note_value(self, attribute: str, text: str, expected: str, expected_zh: str) -> None:
        self._note("SK032", variant="value", attribute=attribute, text=text, expected=expected, expected_zh=expected_zh)

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
        words = [word for part in between.findall(text.strip("[]")) if (word := part.strip())]
        member = Type(of.items or "string") if of.name == "array" else of
        values: list[Any] = []
        for word in words:
            try:
                values.append(param_types.coerce(word, member))
            except Mismatch:
                self._note_value("enum", word, f"a value of type {member.name}", f"{member.name} 类型的值")
        return tuple(values) or None

    def _takes_default(self, text: str, of: Type, enum: tuple[Any, ...] | None) -> bool:
        """Take an unknown attribute, such as 默认正式, as the default that follows the word, if it is a valid value."""
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
            self._note_value("pattern", text, expected, f"不超过 {_LONGEST_PATTERN} 个字符的正则表达式")
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
            word, "no" if word.lower() == "yes" else "false" if word.lower() == "true" else "optional"
        )
        return (self._source.edit(line, column, length, better),)


def _is_among(default: object, enum: tuple[Any, ...] | None) -> bool:
    members = cast("list[object]", default) if isinstance(default, list) else [default]
    return not enum or set(map(_comparable, members)) <= set(map(_comparable, enum))


def _comparable(value: object) -> Hashable:
    return value if isinstance(value, Hashable) else orjson.dumps(value, option=orjson.OPT_SORT_KEYS)


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
