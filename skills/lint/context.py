"""Surroundings of a skill file for the linter."""

from collections.abc import Collection
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class SiblingSkill:
    """Another skill that the caller can see."""

    name: str
    description: str


@dataclass(frozen=True, slots=True)
class LintContext:
    """Known surroundings of a file, with paths within its ``folder``; rules ignore what is unknown.

    ``default_name`` names a skill that gives itself no name; empty: its folder does.
    """

    known_tools: Collection[str] | None = None
    folder: str | None = None
    files: Collection[str] | None = None
    siblings: Collection[SiblingSkill] = ()
    default_name: str = ""


NO_CONTEXT = LintContext()
