"""The checks of a draft: one module each, one line here."""

from collections.abc import Callable, Iterable

from skills.diagnostics import Finding
from skills.lint.rules import (
    inputs,
    portability,
    procedure,
    quality,
    references,
    security,
    structure,
    tools,
)
from skills.parser.draft import SkillDraft

Check = Callable[[SkillDraft], Iterable[Finding]]
"""Looks at a draft and tells what it noticed; never raises, takes time linear in the file."""

CHECKS: tuple[Check, ...] = (
    structure.check,
    structure.check_sizes,
    inputs.check,
    procedure.check,
    tools.check,
    quality.check,
    references.check,
    security.check,
    portability.check,
)
