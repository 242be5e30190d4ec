"""A row of the table of diagnostic codes."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from skills.schema import Severity, SkillFormat

ERROR, WARNING, INFO = Severity.ERROR, Severity.WARNING, Severity.INFO

BilingualText = tuple[str, str]
"""A text in English and in Chinese, with ``{fact}`` places."""


@dataclass(frozen=True)
class DiagnosticRule:
    """The messages, with placeholders for a finding's facts, and the severity of a code such as ``SK005``.

    Args:
        variants: other texts for the same code, by the finding's ``variant``.
        publishing: severity when the skill is published; ``None``: as ``severity``.
        fix: label of the fix button.
        portability: concerns the open standard only and never makes a skill invalid.
        accepted: variants (the first message is "") that the standard's reference validator accepts all the same.
    """

    code: str
    severity: Severity
    message: BilingualText
    variants: Mapping[str, BilingualText] = field(default_factory=dict[str, BilingualText])
    by_format: Mapping[SkillFormat, Severity] = field(default_factory=dict[SkillFormat, Severity])
    publishing: Severity | None = None
    fix: BilingualText | None = None
    portability: bool = False
    accepted: frozenset[str] = frozenset()

    def severity_in(self, spelling: SkillFormat) -> Severity:
        return self.by_format.get(spelling, self.severity)

    def blocks_portability(self, variant: str = "") -> bool:
        return self.portability and variant not in self.accepted

    def blocks_publishing(self, spelling: SkillFormat) -> bool:
        return not self.portability and ERROR in (self.severity_in(spelling), self.publishing)
