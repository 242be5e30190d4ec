"""What surrounds a skill file while it is linted."""

from collections.abc import Collection
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class SiblingSkill:
    """Another skill that the caller can see."""

    name: str
    description: str


@dataclass(frozen=True, slots=True)
class LintContext:
    """What is known around a file; rules do not judge by what is not known.

    Args:
        folder: the name of the folder that the file stands in.
        files: the paths of all files in that folder, relative, with ``/`` between the parts.
        siblings: the skills that it could be confused with.
    """

    known_tools: Collection[str] | None = None
    folder: str | None = None
    files: Collection[str] | None = None
    siblings: Collection[SiblingSkill] = ()


NO_CONTEXT = LintContext()
