"""The section of inputs: a list, a table, or the word for none."""

from collections.abc import Sequence
from typing import Any

from skills.lint.codes import Finding
from skills.parser import params, params_list, params_table
from skills.parser.outline import DraftSection, Outline
from skills.parser.params import Written
from skills.parser.source import Source
from skills.parser.text_blocks import is_list, list_items, says_nothing
from skills.schema import Param

_JSON_TYPES = {"date": "string", "datetime": "string", "file": "string", "enum": "string"}
_FORMATS = {"date": "date", "datetime": "date-time"}


def read(
    sections: Sequence[DraftSection], source: Source, body: Outline, findings: list[Finding]
) -> tuple[Param, ...]:
    """The declared parameters; notes SK030 to SK039."""
    written: list[Written] = []
    for section in sections:
        _read_section(section, source, body, (written, findings))
    return params.build(written, source, findings)


def _read_section(
    section: DraftSection,
    source: Source,
    body: Outline,
    into: tuple[list[Written], list[Finding]],
) -> None:
    written, findings = into
    structured = any(is_list(block) or block.kind == "table" for block in section.blocks)
    for block in section.blocks:
        if block.kind == "table":
            written += params_table.read(block, source, findings)
        elif is_list(block):
            for item in list_items(block, source, body):
                first = source.line(item.start).strip("-*+ \t")
                if not says_nothing(first) and (one := params_list.read(item, source, findings)):
                    written.append(one)
        elif block.kind == "paragraph" and not structured and not says_nothing(block.text):
            facts = {"text": block.text}
            findings.append(Finding("SK030", block.start, 1, block.end, facts))


def schema_of(declared: Sequence[Param]) -> dict[str, Any]:
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
