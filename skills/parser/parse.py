"""The one door to the grammar: bytes in, the parsed skill and its diagnostics out."""

from collections.abc import Collection

from skills.diagnostics import RULES, Finding, diagnose
from skills.lint.rules import CHECKS
from skills.parser import assemble
from skills.parser import source as sources
from skills.parser.draft import LintContext, SiblingSkill, SkillDraft
from skills.schema import ParsedSkill, Severity, SkillFormat, SkillReport

PARSER_VERSION = 3
"""Goes up when the same bytes are read otherwise than before."""


def parse(
    content: bytes,
    *,
    known_tools: Collection[str] | None = None,
    folder: str | None = None,
    files: Collection[str] | None = None,
    neighbours: Collection[SiblingSkill] = (),
) -> SkillReport:
    """Read and judge a SKILL file; never raises, in time linear in its size (docs/skills.md).

    Args:
        content: the stored bytes.
        known_tools: the registered tools; ``None``: tool names are not judged.
        folder: the name of the folder that the file stands in, if it stands in one.
        files: the paths of all files in that folder, relative; ``None``: links are not judged.
        neighbours: other skills that the caller can see, to tell near-duplicates.

    Returns:
        What the file says and what was noticed; without ``parsed`` for what is too large or no text.
    """
    surroundings = LintContext(
        known_tools=None if known_tools is None else frozenset(known_tools),
        folder=folder,
        files=None if files is None else tuple(files),
        neighbours=tuple(neighbours),
    )
    draft = read(content, surroundings)
    return report(draft)


def report(draft: SkillDraft | Finding) -> SkillReport:
    """Judge what :func:`read` gave, by the surroundings that it was read with."""
    if isinstance(draft, Finding):
        return _report(None, [draft], SkillFormat.NATIVE)
    findings = [*draft.findings, *(found for check in CHECKS for found in check(draft))]
    return _report(draft.model, findings, draft.spelling)


def read(content: bytes, surroundings: LintContext | None = None) -> SkillDraft | Finding:
    """The draft of a skill without the checks, or why there is none (SK015, SK052)."""
    source = sources.read(content)
    if isinstance(source, Finding):
        return source
    return assemble.assemble(source, surroundings or LintContext())


def _report(
    model: ParsedSkill | None, findings: list[Finding], spelling: SkillFormat
) -> SkillReport:
    codes = {finding.code for finding in findings}
    rules = [RULES[code] for code in codes]
    valid = not any(
        rule.severity_in(spelling) is Severity.ERROR for rule in rules if not rule.portability
    )
    return SkillReport(
        parsed=model,
        diagnostics=diagnose(findings, spelling),
        valid=valid,
        publishable=valid and not any(rule.blocks_publishing(spelling) for rule in rules),
        portable=model is not None and not any(rule.portability for rule in rules),
    )
