"""A skill that was read but not yet judged: what every check looks at."""

from dataclasses import dataclass, field

from skills.diagnostics import Finding
from skills.parser.frontmatter import Frontmatter
from skills.parser.outline import BodyOutline, DraftSection
from skills.parser.source import SkillSource
from skills.parser.steps import NumberedStep
from skills.schema import ParsedSkill, SkillFormat


@dataclass(frozen=True, slots=True)
class SiblingSkill:
    """Another skill that the caller can see: its name and description."""

    name: str
    description: str


@dataclass(frozen=True, slots=True)
class LintContext:
    """What is known around the file; what is not known is not judged.

    Args:
        known_tools: the tools that are registered.
        folder: the name of the folder that the file stands in.
        files: the paths of all files in that folder, relative, with ``/`` between the parts.
        neighbours: the skills that it could be confused with.
    """

    known_tools: frozenset[str] | None = None
    folder: str | None = None
    files: tuple[str, ...] | None = None
    neighbours: tuple[SiblingSkill, ...] = ()


@dataclass(frozen=True)
class SkillDraft:
    """What the grammar made of a file.

    Args:
        source: its bytes and lines.
        frontmatter: its YAML, where it has some.
        outline: the blocks of its body.
        sections: its top-level sections in order; the title's has the key ``title``.
        model: what it says.
        steps: the steps with the numbers that they bear in the file.
        prose: whether they are running text.
        surroundings: what is known around it.
        description_line: where the description stands; 0 without one.
        findings: what the grammar noticed.
    """

    source: SkillSource
    frontmatter: Frontmatter | None
    outline: BodyOutline
    sections: tuple[DraftSection, ...]
    model: ParsedSkill
    surroundings: LintContext
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
