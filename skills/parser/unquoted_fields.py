"""Frontmatter that YAML refuses, read field by field: unquoted texts as they stand, all else as YAML."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import yaml

from skills.diagnostics import Finding
from skills.parser import yaml_reader, yaml_writer
from skills.parser.source import SkillSource
from skills.parser.yaml_reader import YamlField, YamlValue

_TEXT_FIELDS = frozenset({"name", "description", "license", "compatibility", "allowed-tools", "argument-hint"})
"""Fields that are one text, whatever signs it begins with."""

_NEVER_LISTS = frozenset({"name", "description"})
# Each is read on its own; nobody writes so many.
_MOST_FIELDS = 200
_KEY = re.compile(r"(?P<quote>[\"']?)(?P<key>[\w./-]+)(?P=quote)[ \t]*:(?=[ \t]|$)[ \t]*")
_BLOCK_TEXT = re.compile(r"[|>][-+]?\d?[-+]?[ \t]*$")
_YAML_TAG = re.compile(r"!!|![\w-]*!|!<")
_ANCHOR = re.compile(r"&([^\s,\[\]{}]+)")


@dataclass(frozen=True, slots=True)
class _FieldLines:
    """The lines of one field; ``column`` is where its value begins."""

    key: str
    line: int
    column: int
    lines: tuple[str, ...]

    @property
    def end_line(self) -> int:
        return self.line + len(self.lines) - 1

    @property
    def value_lines(self) -> tuple[str, ...]:
        return (self.lines[0][self.column - 1 :].strip(), *(line.strip() for line in self.lines[1:]))


@dataclass(frozen=True, slots=True)
class FieldReading:
    """The fields that are readable; ``complete`` if these are all."""

    entries: tuple[YamlField, ...]
    complete: bool


def read_fields(source: SkillSource, first: int, last: int, findings: list[Finding]) -> FieldReading | None:
    """The fields in some lines, each for itself; ``None`` where no field begins.

    Notes SK018 for texts that need quotes, SK011, SK012 and SK017 for what stays unreadable, SK016 for repeated keys.
    """
    fields = list(_fields(source, first, last))
    if not 0 < len(fields) <= _MOST_FIELDS:
        return None
    left = source.lines[first - 1 : last]
    texts: list[YamlField] = []
    complete = True
    for field in fields:
        problem = _problem(field)
        if problem is None:
            continue
        left[field.line - first : field.end_line - first + 1] = [""] * len(field.lines)
        if _is_text(field, problem, source.lines[first - 1 : last]):
            texts.append(_unquoted(source, field))
        else:
            findings.append(problem)
            complete = False
    value = _read_rest(left, first, last, findings)
    entries = _merged([*texts, *(value.entries if value else ())], findings)
    findings.extend(quotes_finding(source, entry) for entry in texts)
    return FieldReading(entries, complete and value is not None)


def with_texts(source: SkillSource, entries: Sequence[YamlField], findings: list[Finding]) -> tuple[YamlField, ...]:
    """Fields that YAML can read, with ``[BETA]`` as a text where a list is never meant; notes SK018."""
    read: list[YamlField] = []
    for entry in entries:
        if entry.key in _NEVER_LISTS and entry.value.flow and entry.column == 1 and entry.line == entry.end_line:
            line = source.line(entry.line)
            key = _KEY.match(line)
            entry = _unquoted(source, _FieldLines(entry.key, entry.line, key.end() + 1 if key else 1, (line,)))
            findings.append(quotes_finding(source, entry))
        read.append(entry)
    return tuple(read)


def quotes_finding(source: SkillSource, entry: YamlField) -> Finding:
    """SK018 with the quoting as its fix."""
    quoted = source.edit_lines(entry.line, entry.end_line, yaml_writer.field(entry.key, entry.value.text))
    facts = {"key": entry.key}
    return Finding("SK018", entry.value.line, entry.value.column, entry.end_line, facts, edits=(quoted,))


def yaml_error(error: yaml.YAMLError, first: int, last: int) -> Finding:
    """SK011 at the place of an error in the lines from ``first`` to ``last``."""
    mark: Any = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
    problem = getattr(error, "problem", None) or getattr(error, "reason", None) or "not readable"
    line, column = (mark.line, mark.column) if mark else (0, 0)
    place = min(first + line, max(last, first - 1))
    return Finding("SK011", place, column + 1, facts={"problem": problem})


def _fields(source: SkillSource, first: int, last: int) -> Iterator[_FieldLines]:
    """The lines from each key up to the next one, or to a comment, without blank lines at their end."""
    begun: tuple[int, re.Match[str]] | None = None
    for number in range(first, last + 2):
        line = source.line(number) if number <= last else "#"
        key = _KEY.match(line)
        if begun and (key or line.startswith("#")):
            yield _field(source, *begun, number - 1)
        if key or line.startswith("#"):
            begun = (number, key) if key else None


def _field(source: SkillSource, line: int, key: re.Match[str], end: int) -> _FieldLines:
    while end > line and not source.line(end).strip():
        end -= 1
    return _FieldLines(key["key"], line, key.end() + 1, tuple(source.lines[line - 1 : end]))


def _problem(field: _FieldLines) -> Finding | None:
    """Why YAML cannot read a field, if so."""
    try:
        value = yaml_reader.read("\n".join([*field.lines, ""]), first_line=field.line, findings=[])
    except yaml_reader.YamlRefused as refused:
        return refused.finding
    except yaml.YAMLError as error:
        return yaml_error(error, field.line, field.end_line)
    is_field = value is not None and value.kind == "map" and len(value.entries) == 1
    return None if is_field else Finding("SK012", field.line, end_line=field.end_line)


def _is_text(field: _FieldLines, problem: Finding, lines: Iterable[str]) -> bool:
    """Whether the value is a text that only lacks quotes; a broken list or mapping of another field is none."""
    begin = field.value_lines[0]
    if problem.variant or not any(field.value_lines):
        return False
    if field.key not in _TEXT_FIELDS:
        single = len(field.lines) == 1 and not begin.startswith(("[", "{", "|", ">"))
        return single and problem.code == "SK011" and field.key != "metadata"
    anchor = _ANCHOR.match(begin)
    is_used = anchor is not None and any(f"*{anchor[1]}" in line for line in lines)
    return not is_used and not _YAML_TAG.match(begin)


def _unquoted(source: SkillSource, field: _FieldLines) -> YamlField:
    text = _intended_text(field)
    end_column = len(source.line(field.end_line)) + 1
    place = (field.line, field.column, field.end_line, end_column)
    return YamlField(field.key, field.line, 1, YamlValue("scalar", *place, text=text, scalar=text, unquoted=True))


def _intended_text(field: _FieldLines) -> str:
    """The text of a field: its lines joined, without quotes around it all."""
    first, *others = field.value_lines
    if _BLOCK_TEXT.match(first):
        return ("\n" if first.startswith("|") else " ").join(others).strip()
    text = " ".join(filter(None, (first, *others)))
    if field.key == "allowed-tools" and text.startswith("[") and text.endswith("]"):
        return text[1:-1].strip()
    return text[1:-1].strip() if _is_quoted_whole(text) else text


def _is_quoted_whole(text: str) -> bool:
    """Whether the quote at the beginning is closed at the end: ``"a "b" c"``, not ``"a" and "b"``."""
    quote = text[:1]
    if quote not in {'"', "'"} or len(text) < 3 or not text.endswith(quote):
        return False
    inner = text[1:-1]
    at = inner.find(quote)
    if at <= 0:
        return True
    behind = inner[at + 1 : at + 2]
    closes = not inner[at - 1].isspace() and not behind.isalnum()
    return not closes


def _read_rest(lines: Sequence[str], first: int, last: int, findings: list[Finding]) -> YamlValue | None:
    """The fields that YAML reads, as a mapping; ``None`` if even they are unreadable together."""
    try:
        value = yaml_reader.read("\n".join([*lines, ""]), first_line=first, findings=findings)
    except yaml_reader.YamlRefused as refused:
        findings.append(refused.finding)
        return None
    except yaml.YAMLError as error:
        findings.append(yaml_error(error, first, last))
        return None
    if value is None or (value.kind == "scalar" and not value.text):
        return YamlValue("map", first, 1, last, 1)
    if value.kind != "map":
        findings.append(Finding("SK012", value.line, value.column, value.end_line))
        return None
    return value


def _merged(entries: Iterable[YamlField], findings: list[Finding]) -> tuple[YamlField, ...]:
    merged: dict[str, YamlField] = {}
    for entry in sorted(entries, key=lambda entry: entry.line):
        if entry.key in merged:
            facts = {"key": entry.key, "first": merged[entry.key].line}
            findings.append(Finding("SK016", entry.line, entry.column, facts=facts))
        else:
            merged[entry.key] = entry
    return tuple(merged.values())
