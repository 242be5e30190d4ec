"""SK043, SK044, SK047: whether tools are registered and allowed, and any is left."""

import re
from collections.abc import Collection, Iterable, Iterator, Sequence

from skills.diagnostics import Finding
from skills.lint.context import LintContext
from skills.parser.draft import SkillDraft
from skills.parser.fuzzy import Vocabulary
from skills.parser.steps import outside_fences, tools_in
from skills.parser.tools import AllowedTools, base_name, declared_field, is_enforceable, tools_named_in
from skills.schema import Step

_Place = tuple[int, int]
"""Line and column from 1; column 0 where a tool is not found in the line."""

_IN_YAML = re.compile(r"[^\s,，、\"'`\[\](]+(?:\([^()]{0,200}\))?")
_MARKERS = "-*+ \t.)0123456789"


def check(draft: SkillDraft, context: LintContext) -> Iterable[Finding]:
    """Unregistered tools, steps that use tools that the skill does not allow, and skills that allow none."""
    if context.known_tools is not None:
        yield from _unregistered(draft, context.known_tools)
    if draft.model.tools is not None:
        yield from _none_left(draft, draft.model.tools)
        yield from _not_allowed(draft, AllowedTools(draft.model.tools))


def _none_left(draft: SkillDraft, tools: Sequence[str]) -> Iterator[Finding]:
    if any(map(is_enforceable, tools)):
        return
    entry = declared_field(draft.frontmatter)
    section = next(iter(draft.of("tools")), None)
    line = entry.line if entry else section.section.start_line if section else 1
    yield Finding("SK047", line, facts={"tools": ", ".join(tools)}, variant="patterns" if tools else "")


def _unregistered(draft: SkillDraft, known_tools: Collection[str]) -> Iterator[Finding]:
    vocabulary = Vocabulary(sorted(known_tools))
    places: dict[str, list[_Place]] = {}
    for tool, place in _named_tools(draft):
        places.setdefault(base_name(tool), []).append(place)
    for name, occurrences in places.items():
        if name in known_tools or name.endswith("*"):
            continue
        near = vocabulary.nearest(name)
        line, column = occurrences[0]
        facts = {"tool": name, "meant": near or ""}
        # All of them: a step that names what is allowed no more would be an error.
        edits = tuple(
            draft.source.edit(*place, len(name), near) for place in dict.fromkeys(occurrences) if near and place[1]
        )
        variant = "meant" if near else ""
        yield Finding("SK043", line, column or 1, facts=facts, variant=variant, edits=edits)


def _named_tools(draft: SkillDraft) -> Iterator[tuple[str, _Place]]:
    yield from _with_places(draft.model.tools or (), _declared(draft), 1)
    for step in draft.model.steps:
        yield from _used(draft, step)


def _used(draft: SkillDraft, step: Step) -> Iterator[tuple[str, _Place]]:
    return _with_places(step.tools, _in_step(draft, step), step.line)


def _with_places(tools: Sequence[str], places: Iterable[tuple[str, _Place]], line: int) -> Iterator[tuple[str, _Place]]:
    """The places of some tools; column 0 of the line for those without."""
    missing = dict.fromkeys(tools)
    names = frozenset(tools)
    for tool, place in places:
        if tool in names:
            missing.pop(tool, None)
            yield tool, place
    yield from ((tool, (line, 0)) for tool in missing)


def _declared(draft: SkillDraft) -> Iterator[tuple[str, _Place]]:
    if entry := declared_field(draft.frontmatter):
        value = entry.value
        for number in range(value.line, value.end_line + 1):
            begin = value.column - 1 if number == value.line else 0
            for word in _IN_YAML.finditer(draft.source.line(number), begin):
                yield word[0], (number, word.start() + 1)
        return
    for section in draft.of("tools"):
        for number in range(section.heading.end + 1, section.section.end_line + 1):
            line = draft.source.line(number)
            begin = len(line) - len(line.lstrip(_MARKERS))
            for tool, offset in tools_named_in(line[begin:]):
                yield tool, (number, begin + offset + 1)


def _in_step(draft: SkillDraft, step: Step) -> Iterator[tuple[str, _Place]]:
    first = step.instruction.partition("\n")[0]
    lines = draft.source.lines[step.line - 1 : step.end_line]
    for number, line in outside_fences(lines):
        # Before the instruction stands a marker or a title.
        begin = max(line.find(first), 0) if number == 0 else 0
        for tool, offset in tools_in(line[begin:]):
            yield tool, (step.line + number, begin + offset + 1)


def _not_allowed(draft: SkillDraft, allowed: AllowedTools) -> Iterator[Finding]:
    for step in draft.model.steps:
        first: dict[str, _Place] = {}
        for tool, place in _used(draft, step):
            first.setdefault(tool, place)
        for tool, (line, column) in first.items():
            if not allowed.allow(tool):
                facts = {"tool": tool, "step": step.index}
                yield Finding("SK044", line, column or 1, facts=facts)
