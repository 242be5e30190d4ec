"""Tools: whether they are registered and allowed: SK043, SK044."""

import difflib
from collections.abc import Iterable, Iterator

from skills.diagnostics import Finding
from skills.draft import SkillDraft
from skills.grammar.tools import base_name
from skills.models import Step

_MOST_SUGGESTIONS = 50


def check(draft: SkillDraft) -> Iterable[Finding]:
    """Tools that are not registered, and steps that use what the skill does not allow."""
    yield from _unregistered(draft)
    yield from _not_allowed(draft)


def allows(allowed: Iterable[str], tool: str) -> bool:
    """Whether a tool is among the allowed ones, of which one may end with ``*``."""
    name = base_name(tool)
    return any(
        name == one or (one.endswith("*") and name.startswith(one[:-1]))
        for one in map(base_name, allowed)
    )


def _unregistered(draft: SkillDraft) -> Iterator[Finding]:
    known = draft.surroundings.known_tools
    if known is None:
        return
    seen: set[str] = set()
    named = [*((tool, None) for tool in draft.model.tools or ())]
    named += [(tool, step) for step in draft.model.steps for tool in step.tools]
    for tool, step in named:
        name = base_name(tool)
        if name in seen or name in known or name.endswith("*"):
            continue
        seen.add(name)
        yield _finding(draft, name, step, known if len(seen) < _MOST_SUGGESTIONS else frozenset())


def _finding(draft: SkillDraft, tool: str, step: Step | None, known: frozenset[str]) -> Finding:
    near = difflib.get_close_matches(tool, sorted(known), n=1, cutoff=0.7)
    line, column = _place(draft, tool, step)
    facts = {"tool": tool, "meant": near[0] if near else ""}
    edits = (draft.source.edit(line, column, len(tool), near[0]),) if near and column else ()
    return Finding(
        "SK043", line, column or 1, facts=facts, variant="meant" if near else "", edits=edits
    )


def _place(draft: SkillDraft, tool: str, step: Step | None) -> tuple[int, int]:
    """Line and column of a tool's name in its step or declaration; column 0 where it is not found."""
    if step is not None:
        spans = [(step.line, step.end_line)]
    else:
        entry = draft.frontmatter.entry("allowed-tools") if draft.frontmatter else None
        spans = [(entry.line, entry.end_line)] if entry else []
        spans += [(one.section.start_line, one.section.end_line) for one in draft.of("tools")]
    for first, last in spans:
        for number in range(first, last + 1):
            if (place := draft.source.line(number).find(tool)) >= 0:
                return number, place + 1
    return (spans[0][0] if spans else 1), 0


def _not_allowed(draft: SkillDraft) -> Iterator[Finding]:
    allowed = draft.model.tools
    if allowed is None:
        return
    for step in draft.model.steps:
        for tool in step.tools:
            if not allows(allowed, tool):
                line, column = _place(draft, tool, step)
                facts = {"tool": tool, "step": step.index}
                yield Finding("SK044", line, column or 1, facts=facts)
