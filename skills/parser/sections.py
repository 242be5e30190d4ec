"""Top-level sections of a body and their keys."""

import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from skills.diagnostics import Finding
from skills.parser import headings
from skills.parser.headings import HeadingMatch, usual_heading
from skills.parser.outline import BodyOutline, DraftSection, OutlineBlock
from skills.parser.source import SkillSource
from skills.schema import Section, TextEdit

_PREFIXES = frozenset({"skill", "技能"})
_MARKS = "*_`~"


def name_behind_prefix(heading: str) -> str | None:
    """The name in ``SKILL: name`` or ``技能：name``, without surrounding emphasis or code marks; else ``None``."""
    at = min((place for sign in ":：" if (place := heading.find(sign)) >= 0), default=-1)
    prefix = heading[: max(at, 0)].strip()
    word = prefix.strip(_MARKS)
    if unicodedata.normalize("NFKC", word).strip().lower() not in _PREFIXES:
        return None
    marks = prefix[: prefix.find(word)]
    name = heading[at + 1 :]
    return (name.replace(marks[::-1], "", 1) if marks and prefix.endswith(word) else name).strip()


@dataclass(frozen=True, slots=True)
class DividedBody:
    """The sections in order, and the one with the title, if any."""

    sections: tuple[DraftSection, ...]
    title: DraftSection | None


def divide(outline: BodyOutline, source: SkillSource) -> DividedBody:
    """The top-level sections, an H1 or H2 with all blocks up to the next; keys are not set yet."""
    sections = tuple(_sections(outline, source))
    firsts = [section for section in sections if section.section.level == 1]
    prefixed = [section for section in firsts if name_behind_prefix(section.section.title) is not None]
    title = next(iter([*prefixed, *firsts]), None)
    return DividedBody(sections, title)


def _sections(outline: BodyOutline, source: SkillSource) -> Iterator[DraftSection]:
    blocks = outline.blocks
    heads = [at for at, block in enumerate(blocks) if block.level in (1, 2)]
    for at, following in pairwise([*heads, len(blocks)]):
        head = blocks[at]
        end_line = blocks[following].start - 1 if following < len(blocks) else len(source.lines)
        section = Section(
            key=None,
            title=head.text.strip(),
            level=head.level,
            start_line=head.start,
            end_line=_last_line(source, end_line),
            start=source.line_start(head.start),
            end=source.line_start(end_line + 1),
        )
        yield DraftSection(section, head, blocks[at + 1 : following])


def _last_line(source: SkillSource, line: int) -> int:
    """The last line as people count: nothing follows the file's last line end."""
    return line - 1 if line == len(source.lines) > 1 and not source.line(line) else line


def assign(divided: DividedBody, source: SkillSource, findings: list[Finding]) -> tuple[DraftSection, ...]:
    """The sections with their keys; notes SK020, SK021 and SK023."""
    matches = {
        at: heading_match
        for at, section in enumerate(divided.sections)
        if section.section.level == 2 and (heading_match := headings.resolve(section.section.title))
    }
    best = _best_strengths(matches.values())
    weak = Counter(match.key for match in matches.values() if match.strength == "weak")
    notes = _NoteContext(source, findings, _is_chinese(divided.sections), weak)
    firsts: dict[str, Section] = {}
    keyed: list[DraftSection] = []
    for at, section in enumerate(divided.sections):
        heading_match = matches.get(at)
        key = heading_match.key if heading_match and heading_match.strength == best[heading_match.key] else None
        if section is divided.title:
            key = "title"
        elif section.section.level == 2:
            _note(section, heading_match if key else None, firsts, notes)
        if key:
            firsts.setdefault(key, section.section)
            keyed.append(replace(section, section=replace(section.section, key=key)))
        else:
            keyed.append(section)
    return tuple(keyed)


_ORDER = ("weak", "prefix", "strong")


def _best_strengths(heading_match: Iterable[HeadingMatch]) -> dict[str, str]:
    """Per key the most certain heading; less certain ones then name nothing."""
    best: dict[str, str] = {}
    for match in heading_match:
        if match.key not in best or _ORDER.index(match.strength) > _ORDER.index(best[match.key]):
            best[match.key] = match.strength
    return best


@dataclass(frozen=True, slots=True)
class _NoteContext:
    """Where findings go, and how many headings name each key weakly."""

    source: SkillSource
    findings: list[Finding]
    chinese: bool
    weak: Counter[str]


def _note(
    section: DraftSection, heading_match: HeadingMatch | None, firsts: dict[str, Section], notes: _NoteContext
) -> None:
    source, findings = notes.source, notes.findings
    line, title = section.section.start_line, section.section.title
    facts: dict[str, object] = {"title": title}
    if heading_match is None:
        suggestion = headings.suggest(title)
        edits = ()
        if suggestion:
            facts["meant"] = suggestion = suggestion.capitalize()
            edits = rename(section.heading, source, suggestion)
        findings.append(Finding("SK020", line, facts=facts, variant="meant" if suggestion else "", edits=edits))
        return
    if heading_match.strength == "weak":
        facts["meant"] = suggestion = usual_heading(heading_match.key, chinese=notes.chinese)
        # With one of several renamed, the others would name nothing any more.
        alone = notes.weak[heading_match.key] == 1
        edits = rename(section.heading, source, suggestion) if alone else ()
        findings.append(Finding("SK023", line, facts=facts, edits=edits))
    if (first := firsts.get(heading_match.key)) and heading_match.key != "metadata":
        facts = {"title": title, "first": first.title, "line": first.start_line}
        findings.append(Finding("SK021", line, facts=facts))


def rename(heading: OutlineBlock, source: SkillSource, title: str) -> tuple[TextEdit, ...]:
    """The fix that renames a heading; none if it spans several lines oddly."""
    line = source.line(heading.start)
    at = line.find(heading.text)
    if not heading.text or at < 0:
        return ()
    return (source.edit(heading.start, at + 1, len(heading.text), title),)


def _is_chinese(sections: Sequence[DraftSection]) -> bool:
    titles = "".join(section.section.title for section in sections)
    return any("\u3400" <= sign <= "\u9fff" for sign in titles)
