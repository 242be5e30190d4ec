"""YAML frontmatter: read without anchors, tags or repeated keys, each value with its place."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import yaml

from skills.diagnostics import Finding
from skills.parser import yaml_reader
from skills.parser.source import SkillSource
from skills.parser.yaml_reader import YamlField, YamlValue

LARGEST = 16 * 1024
"""Bytes that the frontmatter may have: YAML takes far longer to read than markdown."""

_FENCE = re.compile(r"---[ \t]*$")
_CLOSE = re.compile(r"(?:---|\.\.\.)[ \t]*$")
_FIELD = re.compile(r"[ \t]|#[^ #]?.*:|[\w-]+[ \t]*:|- |$")


@dataclass(frozen=True)
class Frontmatter:
    """The YAML at the head of a file, up to the last line taken for YAML; no entries if it is unreadable."""

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
    """The frontmatter of a file, perhaps behind blank lines; notes SK010, SK011, SK012, SK016 and SK017."""
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
    entries = _entries(source, start, last, findings)
    return Frontmatter(start, end, closed, entries or (), readable=entries is not None)


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


def _entries(source: SkillSource, start: int, last: int, findings: list[Finding]) -> tuple[YamlField, ...] | None:
    text = "\n".join([*source.lines[start:last], ""])
    try:
        value = yaml_reader.read(text, first_line=start + 1, findings=findings)
    except yaml_reader.YamlRefused as refused:
        findings.append(refused.finding)
        return None
    except yaml.YAMLError as error:
        findings.append(_yaml_error(error, start, last))
        return None
    if value is None:
        return ()
    if value.kind != "map":
        findings.append(Finding("SK012", value.line, value.column, value.end_line))
        return None
    return value.entries


def _yaml_error(error: yaml.YAMLError, start: int, last: int) -> Finding:
    mark: Any = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
    problem = getattr(error, "problem", None) or getattr(error, "reason", None) or "not readable"
    line, column = (mark.line, mark.column) if mark else (0, 0)
    place = min(start + 1 + line, max(last, start))
    return Finding("SK011", place, column + 1, facts={"problem": problem})


def flow_values(entries: tuple[YamlField, ...]) -> Iterator[tuple[str, YamlValue]]:
    """All values written as ``[…]`` or ``{…}``, with their fields."""
    for entry in entries:
        if entry.value.flow:
            yield entry.key, entry.value
        else:
            yield from ((entry.key, value) for _, value in flow_values(entry.value.entries))
            yield from ((entry.key, value) for value in entry.value.items if value.flow)
