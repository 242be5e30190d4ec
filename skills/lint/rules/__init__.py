"""The lint rules: a module for each group, and a line here."""

from collections.abc import Callable, Iterable

from skills.diagnostics import Finding
from skills.lint.context import LintContext
from skills.lint.rules import inputs, portability, procedure, quality, references, security, structure, tools
from skills.parser.draft import SkillDraft

Check = Callable[[SkillDraft], Iterable[Finding]]
"""The findings in a draft; never raises, takes time linear in the file."""

ContextCheck = Callable[[SkillDraft, LintContext], Iterable[Finding]]
"""The same by what is known around the file."""

CHECKS: tuple[Check, ...] = (structure.check, structure.check_sizes, inputs.check, procedure.check, security.check)

CONTEXT_CHECKS: tuple[ContextCheck, ...] = (tools.check, quality.check, references.check, portability.check)
