"""SK040, SK045, SK046: the steps' form, numbers and references to each other."""

import re
from collections.abc import Iterable, Iterator

from skills.diagnostics import Finding
from skills.parser.draft import SkillDraft
from skills.parser.steps import NumberedStep, to_number
from skills.schema import TextEdit

# Each gap is mended by numbering all steps anew; of many steps the first finding says it for all.
_MOST_EDITS_EACH = 100
_HAN_NUMBER = "[一二三四五六七八九十]{1,3}"
_REFERENCE = re.compile(
    rf"步骤\s?(\d{{1,4}}|{_HAN_NUMBER})|第\s?(\d{{1,4}}|{_HAN_NUMBER})\s?步|\bstep\s(\d{{1,4}})\b", re.IGNORECASE
)


def check(draft: SkillDraft) -> Iterable[Finding]:
    """Running text, gaps in the numbers, references to missing steps."""
    if draft.prose:
        yield Finding("SK040", draft.of("steps")[0].section.start_line)
    yield from _gaps(draft)
    yield from _references(draft)


def _gaps(draft: SkillDraft) -> Iterator[Finding]:
    numbered = [step for step in draft.steps if step.length]
    # "1." before every item is a way of writing, not a gap.
    if not numbered or len({step.number for step in numbered}) == 1 == numbered[0].number:
        return
    edits = _renumber(draft, numbered)
    before: int | None = None
    for step in numbered:
        wrong = step.number not in (0, 1) if before is None else step.number not in (before + 1, 1)
        if wrong:
            facts = {"number": step.number, "before": before}
            variant = "start" if before is None else ""
            yield Finding("SK045", step.line, step.column, facts=facts, variant=variant, edits=edits)
            edits = edits if len(edits) <= _MOST_EDITS_EACH else ()
        before = step.number


def _renumber(draft: SkillDraft, numbered: list[NumberedStep]) -> tuple[TextEdit, ...]:
    edits: list[TextEdit] = []
    right = 0
    for at, step in enumerate(numbered):
        right = step.number if step.number in (0, 1) and (at == 0 or step.number == 1) else right + 1
        column = step.column - 1
        if not draft.source.line(step.line)[column : column + step.length].isdecimal():
            return ()
        if step.number != right:
            edits.append(draft.source.edit(step.line, step.column, step.length, str(right)))
    return tuple(edits)


def _references(draft: SkillDraft) -> Iterator[Finding]:
    count = len(draft.steps)
    if count < 2:
        return
    most = max(count, *(step.number for step in draft.steps))
    for step in draft.steps:
        for line in range(step.step.line, step.step.end_line + 1):
            text = draft.source.line(line)
            if text.startswith("#"):
                continue
            for match in _REFERENCE.finditer(text):
                number = to_number(next(filter(None, match.groups())))
                if number > most:
                    facts = {"step": step.step.index, "number": number, "count": count}
                    yield Finding("SK046", line, match.start() + 1, facts=facts)
