"""How long body, description and name are: SK050, SK051, SK053, SK054."""

from collections.abc import Iterable

from skills.lint.codes import Finding
from skills.lint.context import SkillDraft

MOST_LINES = 500
MOST_TOKENS = 5000
LONGEST_DESCRIPTION = 1024
LONGEST_NAME = 64


def check(draft: SkillDraft) -> Iterable[Finding]:
    """What is longer than the open standard or a context advises."""
    model, first = draft.model, draft.outline.first_line
    lines = model.body.rstrip().count("\n") + 1
    if lines > MOST_LINES:
        facts = {"lines": lines, "limit": MOST_LINES}
        yield Finding("SK050", first + MOST_LINES, facts=facts)
    if model.token_estimate > MOST_TOKENS:
        facts = {"tokens": model.token_estimate, "limit": MOST_TOKENS}
        yield Finding("SK051", first, facts=facts)
    if len(model.description) > LONGEST_DESCRIPTION:
        facts = {"length": len(model.description), "limit": LONGEST_DESCRIPTION}
        yield Finding("SK053", draft.description_line or 1, facts=facts)
    if len(model.name) > LONGEST_NAME:
        title = next(iter(draft.of("title")), None)
        facts = {"length": len(model.name), "limit": LONGEST_NAME}
        yield Finding("SK054", title.section.start_line if title else 1, facts=facts)
