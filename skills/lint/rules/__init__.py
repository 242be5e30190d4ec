"""The checks of a draft: one module each, one line here."""

from collections.abc import Callable, Iterable

from skills.lint.codes import Finding
from skills.lint.context import SkillDraft
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

Check = Callable[[SkillDraft], Iterable[Finding]]
"""Looks at a draft and tells what it noticed; never raises, takes time linear in the file."""

CHECKS: tuple[Check, ...] = (
    structure.check,
    structure.sizes_check,
    inputs.check,
    procedure.check,
    tools.check,
    quality.check,
    references.check,
    security.check,
    portability.check,
)
