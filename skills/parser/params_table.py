"""Parameters written as a table, its columns known by synonyms."""

import re
from collections.abc import Iterator, Mapping

from skills.lint.codes import Finding
from skills.parser import param_types, params_list
from skills.parser.headings import canon
from skills.parser.outline import Block
from skills.parser.params import ATTRIBUTE_NAMES, OPTIONAL_WORDS, REQUIRED_WORDS, Written
from skills.parser.source import Source

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


def read(block: Block, source: Source, findings: list[Finding]) -> Iterator[Written]:
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
    word = canon(text)
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


def _row(row: list[tuple[int, str]], head: list[str | None], line: int) -> Written | None:
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
    written = Written(name, line, column, len(name))
    _read_required(written, said)
    description = said.pop("description", (1, ""))[1]
    column, kind = said.get("type", (1, ""))
    if param_types.read_type(kind) is None and params_list.holds_type(kind):
        del said["type"]
        params_list.read_attributes(written, kind, (0, len(kind)), column)
    written.description = "" if param_types.is_null(description) else description
    written.texts |= {key: value for key, (_, value) in said.items()}
    return written


def _read_required(written: Written, said: dict[str, tuple[int, str]]) -> None:
    for key, wanted in (("required", True), ("optional", False)):
        column, text = said.pop(key, (1, ""))
        flag = param_types.read_flag(text)
        if flag is not None:
            written.required = flag is wanted
            if wanted:
                written.required_place = (column, len(text))
