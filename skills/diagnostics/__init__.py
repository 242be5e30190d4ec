"""The table of diagnostic codes, and the conversion of findings to diagnostics."""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from skills.diagnostics import portability, procedure, quality, security, structure
from skills.diagnostics.rule import DiagnosticRule
from skills.diagnostics.secret_patterns import hide_secrets
from skills.schema import Diagnostic, Fix, SkillFormat, TextEdit

RULES: Mapping[str, DiagnosticRule] = {
    rule.code: rule for part in (structure, procedure, quality, portability, security) for rule in part.RULES
}

MOST_OF_A_KIND = 50
"""How many diagnostics of one code a report names; the last one counts the others."""

_LONGEST_FACT = 80
_MOST_LOOKED_AT = 4096
_INVISIBLE = re.compile(
    "[\x00-\x1f\x7f-\x9f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff"
    "\ufff0-\uffff\U000e0000-\U000e0fff]+"
)


@dataclass(frozen=True, slots=True)
class Finding:
    """What a rule found, before the table adds messages and severity.

    Args:
        line: in the stored file, from 1, like ``column``.
        end_line: the last line; 0 for ``line``.
        facts: values for the placeholders of the message.
        variant: which of the code's messages, if not the first.
        edits: the fix: disjoint spans of stored bytes in ascending order; empty if there is none.
    """

    code: str
    line: int
    column: int = 1
    end_line: int = 0
    facts: Mapping[str, object] = field(default_factory=dict[str, object])
    variant: str = ""
    edits: tuple[TextEdit, ...] = ()


def diagnose(findings: Iterable[Finding], spelling: SkillFormat) -> tuple[Diagnostic, ...]:
    """Findings as diagnostics in file order, at most ``MOST_OF_A_KIND`` of each code; the last one counts the rest."""
    counts: dict[str, int] = {}
    reported: list[Finding] = []
    for finding in sorted(findings, key=lambda finding: (finding.line, finding.column, finding.code)):
        count = counts[finding.code] = counts.get(finding.code, 0) + 1
        if count <= MOST_OF_A_KIND:
            reported.append(finding)
    return tuple(_worded(reported, counts, spelling))


def _worded(reported: Iterable[Finding], counts: Mapping[str, int], spelling: SkillFormat) -> Iterator[Diagnostic]:
    numbers: dict[str, int] = {}
    for finding in reported:
        rule = RULES[finding.code]
        numbers[finding.code] = numbers.get(finding.code, 0) + 1
        more = counts[finding.code] - MOST_OF_A_KIND
        facts = {name: display_fact(value) for name, value in finding.facts.items()}
        english, chinese = rule.variants.get(finding.variant, rule.message)
        if numbers[finding.code] == MOST_OF_A_KIND and more > 0:
            english += f" ({more} more of this kind.)"
            chinese += f"（还有 {more} 处同类问题。）"
        yield Diagnostic(
            code=finding.code,
            severity=rule.severity_in(spelling),
            line=finding.line,
            column=finding.column,
            end_line=max(finding.end_line, finding.line),
            message=english.format_map(facts),
            message_zh=chinese.format_map(facts),
            fix=Fix(*rule.fix, finding.edits) if finding.edits and rule.fix else None,
        )


def display_fact(fact: object) -> str:
    """A fact for a message: one short line without secrets and invisible characters."""
    # A secret that is cut is known no more, so that they are taken out before.
    public = hide_secrets(str(fact)[:_MOST_LOOKED_AT])
    text = " ".join(_INVISIBLE.sub(" ", public[: 4 * _LONGEST_FACT]).split())
    return text if len(text) <= _LONGEST_FACT else f"{text[:_LONGEST_FACT]}…"
