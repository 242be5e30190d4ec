"""A row of the table of diagnostic codes."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from skills.schema import Severity, SkillFormat

ERROR, WARNING, INFO = Severity.ERROR, Severity.WARNING, Severity.INFO

BilingualText = tuple[str, str]
"""A text in English and in Chinese, with ``{fact}`` places."""


@dataclass(frozen=True)
class DiagnosticRule:
    """The messages and severity of a code.

    Args:
        code: its key, for example ``SK005``.
        message: fact and next step; the places are filled from the finding's facts.
        variants: other texts for the same code, by the finding's ``variant``.
        publishing: how much it matters for showing the skill to others; ``None``: as ``severity``.
        fix: what the button says, where the finding carries a mend.
        portability: it tells about the open standard only and never makes a skill invalid.
    """

    code: str
    severity: Severity
    message: BilingualText
    variants: Mapping[str, BilingualText] = field(default_factory=dict[str, BilingualText])
    by_format: Mapping[SkillFormat, Severity] = field(default_factory=dict[SkillFormat, Severity])
    publishing: Severity | None = None
    fix: BilingualText | None = None
    portability: bool = False

    def severity_in(self, spelling: SkillFormat) -> Severity:
        """The severity in files of a format."""
        return self.by_format.get(spelling, self.severity)

    def blocks_publishing(self, spelling: SkillFormat) -> bool:
        """Whether it keeps a skill from being published."""
        return not self.portability and ERROR in (self.severity_in(spelling), self.publishing)
