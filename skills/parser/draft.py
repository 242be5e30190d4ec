"""A parsed skill with its places in the file, as lint rules and editors need it."""

from dataclasses import dataclass, field

from skills.diagnostics import Finding
from skills.parser.frontmatter import Frontmatter
from skills.parser.outline import BodyOutline, DraftSection
from skills.parser.source import SkillSource
from skills.parser.steps import NumberedStep
from skills.schema import ParsedSkill, SkillFormat


@dataclass(frozen=True)
class SkillDraft:
    """A parsed file.

    Args:
        source: its bytes and lines.
        frontmatter: its YAML, where it has some.
        sections: its top-level sections in order; the title's has the key ``title``.
        steps: the steps with the numbers that they bear in the file.
        description_line: where the description stands; 0 without one.
    """

    source: SkillSource
    frontmatter: Frontmatter | None
    outline: BodyOutline
    sections: tuple[DraftSection, ...]
    model: ParsedSkill
    steps: tuple[NumberedStep, ...] = ()
    prose: bool = False
    description_line: int = 0
    findings: list[Finding] = field(default_factory=list[Finding])

    @property
    def spelling(self) -> SkillFormat:
        """How the file is spelled."""
        return self.model.format

    def of(self, key: str) -> tuple[DraftSection, ...]:
        """The sections that have a key of the model."""
        return tuple(section for section in self.sections if section.key == key)
