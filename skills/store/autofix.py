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
    """A diagnostic, by its code and, where there are several of it, its line and column."""

    code: str
    line: int | None = None
    column: int | None = None

    @property
    def is_code(self) -> bool:
        """Whether it stands for all of a code."""
        return self.line is None and self.column is None

    def matches(self, diagnostic: Diagnostic) -> bool:
        """Whether it is this one."""
        return (
            diagnostic.code == self.code
            and self.line in {None, diagnostic.line}
            and self.column in {None, diagnostic.column}
        )


VersionLinter = Callable[[AsyncSession, SkillVersion], Awaitable[Linter]]
"""What finds the diagnostics of a version's content, and of that content with fixes."""


class SkillFixes:
    """The revision that applies fixes to the newest version, until nothing changes.

    Args:
        targets: whose fixes; None for all. A place of a line or column is fixed once, as others may
            come to stand there. One where there is nothing to fix raises ``InvalidRequest``.
        reporters: says what there is to fix, as it was shown to the caller.

    ``codes`` are those of the diagnostics that were fixed.
    """

    def __init__(self, targets: Sequence[FixTarget] | None, reporters: VersionLinter) -> None:
        self.codes: tuple[str, ...] = ()
        self._targets = targets
        self._reporters = reporters

    async def __call__(
        self, session: AsyncSession, _: SkillView, newest: SkillVersion
    ) -> ValidatedSkill | None:
        """What the next version is to hold; None where there is nothing to fix."""
        content, files = await skill_access.read_content_and_files(session, newest)
        report = await self._reporters(session, newest)
        # Each round reads the skill, which can take longer than an event loop may stand still.
        result = await asyncio.to_thread(autofix, content, report, self._choose)
        self.codes = result.codes
        return await validate(result.content, files) if result.content != content else None

    def _choose(self, fixable: Sequence[Diagnostic], number: int) -> Sequence[Diagnostic]:
        targets = self._targets
        if targets is None:
            return fixable
        if number == 0:
            _check_targets(targets, fixable)
        targets = [target for target in targets if number == 0 or target.is_code]
        return [
            diagnostic
            for diagnostic in fixable
            if any(target.matches(diagnostic) for target in targets)
        ]


def _check_targets(targets: Sequence[FixTarget], fixable: Sequence[Diagnostic]) -> None:
    for number, target in enumerate(targets):
        if not any(target.matches(diagnostic) for diagnostic in fixable):
            raise InvalidRequest(f"fixes.{number}", "There is no such fix in the newest version")
