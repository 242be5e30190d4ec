"""SK041, SK042: whether ``{{name}}`` placeholders and declared inputs match."""

import re
from collections.abc import Iterable, Iterator

from skills.diagnostics import Finding
from skills.parser.draft import SkillDraft
from skills.parser.fuzzy import Vocabulary
from skills.parser.text_blocks import PLACEHOLDER

_USING = ("steps", "outputs", "examples")
_CODE = re.compile(r"`([^`\n]{1,64})`")


def check(draft: SkillDraft) -> Iterable[Finding]:
    """Undeclared placeholders and unused inputs."""
    declared = {param.name for param in draft.model.input_params}
    yield from _undeclared(draft, declared)
    if draft.model.steps and declared:
        used = _used(draft)
        for param in draft.model.input_params:
            if param.name not in used:
                yield Finding("SK042", param.line, facts={"name": param.name})


def _undeclared(draft: SkillDraft, declared: set[str]) -> Iterator[Finding]:
    vocabulary = Vocabulary(declared)
    for section in draft.sections:
        if section.key not in _USING:
            continue
        for number in range(section.section.start_line, section.section.end_line + 1):
            line = draft.source.line(number)
            for match in PLACEHOLDER.finditer(line) if "{{" in line else ():
                name = match[1]
                if name in declared or name.partition(".")[0] in declared:
                    continue
                yield _finding(draft, number, match, vocabulary)


def _finding(draft: SkillDraft, number: int, match: re.Match[str], vocabulary: Vocabulary) -> Finding:
    near = vocabulary.nearest(match[1])
    facts = {"name": match[1], "meant": near or ""}
    column = match.start(1) + 1
    edits = (draft.source.edit(number, column, len(match[1]), near),) if near else ()
    variant = "meant" if near else ""
    return Finding("SK041", number, match.start() + 1, facts=facts, variant=variant, edits=edits)


def _used(draft: SkillDraft) -> set[str]:
    used: set[str] = set()
    for section in draft.sections:
        if section.key != "input_params":
            span = slice(section.section.start_line - 1, section.section.end_line)
            text = "\n".join(draft.source.lines[span])
            names = PLACEHOLDER.findall(text)
            used.update(names, (name.partition(".")[0] for name in names), _CODE.findall(text))
    return used
