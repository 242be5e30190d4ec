"""Tools: whether they are registered and allowed: SK043, SK044."""

from collections.abc import Iterable, Iterator

from skills.diagnostics import MOST_OF_A_KIND, Finding
from skills.draft import SkillDraft
from skills.grammar.nearest import Vocabulary
from skills.grammar.tools import AllowedTools, base_name

_Lines = tuple[int, int]


def check(draft: SkillDraft) -> Iterable[Finding]:
    """Tools that are not registered, and steps that use what the skill does not allow."""
    known = draft.surroundings.known_tools
    if known is not None:
        yield from _unregistered(draft, known)
    if draft.model.tools is not None:
        yield from _not_allowed(draft, AllowedTools(draft.model.tools))


def _unregistered(draft: SkillDraft, known: frozenset[str]) -> Iterator[Finding]:
    vocabulary = Vocabulary(sorted(known))
    seen: set[str] = set()
    for tool, (line, column) in _named(draft):
        name = base_name(tool)
        if name in seen or name in known or name.endswith("*"):
            continue
        seen.add(name)
        near = vocabulary.nearest(name)
        facts = {"tool": name, "meant": near or ""}
        edits = (draft.source.edit(line, column, len(name), near),) if near and column else ()
        variant = "meant" if near else ""
        yield Finding("SK043", line, column or 1, facts=facts, variant=variant, edits=edits)


def _named(draft: SkillDraft) -> Iterator[tuple[str, tuple[int, int]]]:
    """All tools that the file names, each with its line and column; column 0 where it is not found."""
    entry = draft.frontmatter.entry("allowed-tools") if draft.frontmatter else None
    sections = draft.of("tools")
    if entry:
        spans = [(entry.line, entry.end_line)]
    else:
        spans = [(one.section.start_line, one.section.end_line) for one in sections]
    lines = [number for first, last in spans for number in range(first, last + 1)]
    yield from _places(draft, draft.model.tools or (), lines)
    for step in draft.model.steps:
        yield from _places(draft, step.tools, range(step.line, step.end_line + 1))


def _places(
    draft: SkillDraft, tools: Iterable[str], lines: Iterable[int]
) -> Iterator[tuple[str, tuple[int, int]]]:
    """Names stand in the order in which they were read, so each is looked for from the last one on."""
    numbers = list(lines)
    at, missed = 0, 0
    for tool in tools:
        name = base_name(tool)
        found = at
        while missed < MOST_OF_A_KIND and found < len(numbers):
            if (place := draft.source.line(numbers[found]).find(name)) >= 0:
                at = found
                yield tool, (numbers[found], place + 1)
                break
            found += 1
        else:
            missed += 1
            yield tool, (numbers[0] if numbers else 1, 0)


def _not_allowed(draft: SkillDraft, allowed: AllowedTools) -> Iterator[Finding]:
    for step in draft.model.steps:
        lines = range(step.line, step.end_line + 1)
        for tool, (line, column) in _places(draft, step.tools, lines):
            if not allowed.allow(tool):
                facts = {"tool": tool, "step": step.index}
                yield Finding("SK044", line, column or 1, facts=facts)
