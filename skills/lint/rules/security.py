"""SEC901 to SEC910: text that could deceive the agent, the reader or the machine."""

from collections.abc import Iterable

from skills.diagnostics import Finding
from skills.lint.rules import exfiltration, hidden_text, prompt_injection, secrets
from skills.lint.scanner import scan
from skills.parser.draft import SkillDraft

SCANS = (
    hidden_text.check_hidden_characters,
    prompt_injection.check,
    hidden_text.check_comments,
    exfiltration.check,
    secrets.check,
)
"""What searches a text; adding one is a module and a line here."""


def check(draft: SkillDraft) -> Iterable[Finding]:
    """Everything dangerous in the file, frontmatter included."""
    scanned = scan(draft)
    for search in SCANS:
        yield from search(scanned)
