"""YAML frontmatter: read without anchors, tags or repeated keys, each value with its place."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

import yaml

from skills.diagnostics import Finding
from skills.parser import unquoted_fields, yaml_reader
from skills.parser.source import SkillSource
from skills.parser.yaml_reader import YamlField, YamlValue

LARGEST = 16 * 1024
"""Bytes that the frontmatter may have: YAML takes far longer to read than markdown."""

_FENCE = re.compile(r"---[ \t]*$")
_CLOSE = re.compile(r"(?:---|\.\.\.)[ \t]*$")
_FIELD = re.compile(r"[ \t]|#[^ #]?.*:|[\w-]+[ \t]*:|- |$")


@dataclass(frozen=True)
class Frontmatter:
    """The YAML at the head of a file, up to the last line taken for YAML; with the readable entries if not all are."""

    start_line: int
    end_line: int
    closed: bool
    entries: tuple[YamlField, ...] = ()
    readable: bool = True

    def entry(self, key: str) -> YamlField | None:
        return next((entry for entry in self.entries if entry.key == key), None)

    def text(self, key: str) -> str:
        entry = self.entry(key)
        return entry.value.text.strip() if entry and entry.value.kind == "scalar" else ""


def read(source: SkillSource, findings: list[Finding]) -> Frontmatter | None:
    """The frontmatter of a file, perhaps behind blank lines; notes SK010 to SK012 and SK016 to SK018.

    What YAML refuses is read field by field, so that one unreadable field takes no other with it.
    """
    start = next((at for at, line in enumerate(source.lines, start=1) if line.strip()), 0)
    if not start or not _FENCE.match(source.line(start)):
        return None
    end = _closing_line(source, start)
    closed = end > 0
    if not closed:
        end = _last_field_line(source, start)
        findings.append(Finding("SK010", start, edits=(source.edit_lines(end + 1, end, "---\n"),)))
    last = end - 1 if closed else end
    size = source.offset(last + 1) - source.offset(start + 1)
    if size > LARGEST:
        facts = {"size": size, "limit": LARGEST}
        findings.append(Finding("SK017", start, end_line=end, facts=facts, variant="size"))
        return Frontmatter(start, end, closed, readable=False)
    entries, readable = _entries(source, start, last, findings)
    return Frontmatter(start, end, closed, entries, readable)


def _closing_line(source: SkillSource, start: int) -> int:
    for number in range(start + 1, len(source.lines) + 1):
        line = source.lines[number - 1]
        if line.startswith(("---", "...")) and _CLOSE.match(line):
            return number
    return 0


def _last_field_line(source: SkillSource, start: int) -> int:
    last = start
    for number in range(start + 1, len(source.lines) + 1):
        line = source.lines[number - 1]
        if not line.strip() or line.startswith("#") or not _FIELD.match(line):
            break
        last = number
    return last


def _entries(source: SkillSource, start: int, last: int, findings: list[Finding]) -> tuple[tuple[YamlField, ...], bool]:
    """The readable entries, and whether these are all."""
    text = "\n".join([*source.lines[start:last], ""])
    notes: list[Finding] = []
    try:
        value = yaml_reader.read(text, first_line=start + 1, findings=notes)
    except yaml_reader.YamlRefused as refused:
        problem = refused.finding
    except yaml.YAMLError as error:
        problem = unquoted_fields.yaml_error(error, start + 1, last)
    else:
        findings += notes
        if value is None:
            return (), True
        if value.kind == "map":
            return unquoted_fields.with_texts(source, value.entries, findings), True
        problem = Finding("SK012", value.line, value.column, value.end_line)
    fields = unquoted_fields.read_fields(source, start + 1, last, findings)
    if fields is None:
        findings.append(problem)
        return (), False
    return fields.entries, fields.complete


def flow_values(entries: tuple[YamlField, ...]) -> Iterator[tuple[str, YamlValue]]:
    """All values written as ``[…]`` or ``{…}``, with their fields."""
    for entry in entries:
        if entry.value.flow:
            yield entry.key, entry.value
        else:
            yield from ((entry.key, value) for _, value in flow_values(entry.value.entries))
            yield from ((entry.key, value) for value in entry.value.items if value.flow)
