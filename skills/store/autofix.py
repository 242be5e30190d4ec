"""Fixes of diagnostics as the next version of a skill."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from sqlmodel.ext.asyncio.session import AsyncSession

from core.errors.requests import InvalidRequest
from skills.lint.autofix import autofix
from skills.lint.linter import Linter
from skills.models import SkillVersion
from skills.schema import Diagnostic
from skills.store import access as skill_access
from skills.store.access import SkillView
from skills.validation import ValidatedSkill, validate


@dataclass(frozen=True)
class FixTarget:
    """A diagnostic, by its code and, where needed, its line and column."""

    code: str
    line: int | None = None
    column: int | None = None

    @property
    def is_code(self) -> bool:
        return self.line is None and self.column is None

    def matches(self, diagnostic: Diagnostic) -> bool:
        return (
            diagnostic.code == self.code
            and self.line in {None, diagnostic.line}
            and self.column in {None, diagnostic.column}
        )


VersionLinter = Callable[[AsyncSession, SkillVersion], Awaitable[Linter]]
"""Makes a linter for the contents of a version, fixed or not."""


class SkillFixes:
    """A version builder that applies fixes to the newest version until nothing changes; ``codes`` are the fixed ones.

    Targets with a line or column are fixed once, as other diagnostics may appear there; those without a fix raise
    ``InvalidRequest``, and None means all. ``linter_for`` makes the linter whose diagnostics the caller was shown.
    """

    def __init__(self, targets: Sequence[FixTarget] | None, linter_for: VersionLinter) -> None:
        self.codes: tuple[str, ...] = ()
        self._targets = targets
        self._linter_for = linter_for

    async def __call__(self, session: AsyncSession, _: SkillView, newest: SkillVersion) -> ValidatedSkill | None:
        content, files = await skill_access.read_content_and_files(session, newest)
        linter = await self._linter_for(session, newest)
        # Each round lints the skill, which may take longer than the event loop should block.
        result = await asyncio.to_thread(autofix, content, linter, self._choose)
        self.codes = result.codes
        if result.content == content:
            return None
        return await validate(result.content, files, default_name=newest.name)

    def _choose(self, fixable: Sequence[Diagnostic], number: int) -> Sequence[Diagnostic]:
        targets = self._targets
        if targets is None:
            return fixable
        if number == 0:
            _check_targets(targets, fixable)
        targets = [target for target in targets if number == 0 or target.is_code]
        return [diagnostic for diagnostic in fixable if any(target.matches(diagnostic) for target in targets)]


def _check_targets(targets: Sequence[FixTarget], fixable: Sequence[Diagnostic]) -> None:
    for number, target in enumerate(targets):
        if not any(target.matches(diagnostic) for diagnostic in fixable):
            raise InvalidRequest(
                f"fixes.{number}", "There is no such fix in the newest version", "最新版本中没有这项修复"
            )
