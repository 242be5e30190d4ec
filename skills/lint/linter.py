"""The linter: from the bytes of a skill to its model and diagnostics."""

from collections.abc import Callable, Iterable

from skills.diagnostics import RULES, Finding, diagnose
from skills.lint.context import NO_CONTEXT, LintContext
from skills.lint.rules import CHECKS, CONTEXT_CHECKS
from skills.parser.draft import SkillDraft
from skills.parser.parse import parse
from skills.schema import Diagnostic, ParsedSkill, Severity, SkillFormat, SkillReport

Linter = Callable[[bytes], SkillReport]
"""Lints contents in a context of its own."""


def lint(content: bytes, context: LintContext = NO_CONTEXT) -> SkillReport:
    """Parse and lint a SKILL file in linear time, never raising; too large and non-text files have no model."""
    return lint_draft(parse(content, context.default_name or context.folder or ""), context)


def lint_draft(draft: SkillDraft | Finding, context: LintContext = NO_CONTEXT) -> SkillReport:
    """Lint a parsed file."""
    if isinstance(draft, Finding):
        return _report(None, [draft], SkillFormat.NATIVE)
    findings = [
        *draft.findings,
        *(finding for check in CHECKS for finding in check(draft)),
        *(finding for check in CONTEXT_CHECKS for finding in check(draft, context)),
    ]
    return _report(draft.model, findings, draft.spelling)


def _report(model: ParsedSkill | None, findings: list[Finding], spelling: SkillFormat) -> SkillReport:
    codes = {finding.code for finding in findings}
    rules = [RULES[code] for code in codes]
    valid = not any(rule.severity_in(spelling) is Severity.ERROR for rule in rules if not rule.portability)
    return SkillReport(
        parsed=model,
        diagnostics=diagnose(findings, spelling),
        valid=valid,
        publishable=valid and not any(rule.blocks_publishing(spelling) for rule in rules),
        portable=model is not None
        and not any(RULES[finding.code].blocks_portability(finding.variant) for finding in findings),
    )


def diagnostic_details(diagnostics: Iterable[Diagnostic]) -> list[dict[str, object]]:
    """Diagnostics for the details of an error, without their fixes."""
    return [
        {
            "code": diagnostic.code,
            "severity": diagnostic.severity.value,
            "line": diagnostic.line,
            "column": diagnostic.column,
            "message": diagnostic.message,
            "message_zh": diagnostic.message_zh,
        }
        for diagnostic in diagnostics
    ]
