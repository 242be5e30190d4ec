"""A parsed skill with its places in the file, for lint rules and editors."""

from dataclasses import dataclass, field

from skills.diagnostics import Finding
from skills.parser.frontmatter import Frontmatter
from skills.parser.outline import BodyOutline, DraftSection
from skills.parser.source import SkillSource
from skills.parser.steps import NumberedStep
from skills.schema import ParsedSkill, SkillFormat


@dataclass(frozen=True)
class SkillDraft:
    """A parsed file; the title's section has the key ``title``, and ``description_line`` is 0 without a description."""

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
        return self.model.format

    def of(self, key: str) -> tuple[DraftSection, ...]:
        return tuple(section for section in self.sections if section.key == key)
