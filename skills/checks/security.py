"""SEC901 to SEC910: what could deceive the agent, the reader or the machine."""

from collections.abc import Iterable

from skills.checks import comments, hidden_characters, literals, outgoing, phrases
from skills.checks.scan import scan
from skills.diagnostics import Finding
from skills.draft import SkillDraft

SCANS = (
    hidden_characters.check,
    phrases.check,
    comments.check,
    outgoing.check,
    literals.check,
)
"""What searches a text; adding one is a module and a line here."""


def check(draft: SkillDraft) -> Iterable[Finding]:
    """Everything dangerous in the file, frontmatter included."""
    scanned = scan(draft)
    for search in SCANS:
        yield from search(scanned)
