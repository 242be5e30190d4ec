"""Fixes of diagnostics, applied to a skill."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from sqlmodel.ext.asyncio.session import AsyncSession

from core.errors import InvalidRequest
from skills.lint.autofix import Reporter, mend
from skills.lint.validate import Judged, judge
from skills.models import SkillVersion
from skills.schema import Diagnostic
from skills.store import access as skill_access
from skills.store.access import Seen


@dataclass(frozen=True)
class Place:
    """A diagnostic, by its code and, where there are several of it, its line and column."""

    code: str
    line: int | None = None
    column: int | None = None

    @property
    def is_code(self) -> bool:
        """Whether it stands for all of a code."""
        return self.line is None and self.column is None

    def names(self, diagnostic: Diagnostic) -> bool:
        """Whether it is this one."""
        return (
            diagnostic.code == self.code
            and self.line in {None, diagnostic.line}
            and self.column in {None, diagnostic.column}
        )


Reporters = Callable[[AsyncSession, SkillVersion], Awaitable[Reporter]]
"""What finds the diagnostics of a version's content, and of that content with fixes."""


class Fixing:
    """The revision that applies fixes to the newest version, until nothing changes.

    Args:
        places: whose fixes; None for all. A place of a line or column is fixed once, as others may
            come to stand there. One where there is nothing to fix raises ``InvalidRequest``.
        reporters: says what there is to fix, as it was shown to the caller.

    ``codes`` are those of the diagnostics that were fixed.
    """

    def __init__(self, places: Sequence[Place] | None, reporters: Reporters) -> None:
        self.codes: tuple[str, ...] = ()
        self._places = places
        self._reporters = reporters

    async def __call__(self, session: AsyncSession, _: Seen, newest: SkillVersion) -> Judged | None:
        """What the next version is to hold; None where there is nothing to fix."""
        content, files = await skill_access.held(session, newest)
        report = await self._reporters(session, newest)
        # Each round reads the skill, which can take longer than an event loop may stand still.
        mended = await asyncio.to_thread(mend, content, report, self._choose)
        self.codes = mended.codes
        return await judge(mended.content, files) if mended.content != content else None

    def _choose(self, fixable: Sequence[Diagnostic], number: int) -> Sequence[Diagnostic]:
        places = self._places
        if places is None:
            return fixable
        if number == 0:
            _check(places, fixable)
        wanted = [place for place in places if number == 0 or place.is_code]
        return [one for one in fixable if any(place.names(one) for place in wanted)]


def _check(places: Sequence[Place], fixable: Sequence[Diagnostic]) -> None:
    for number, place in enumerate(places):
        if not any(place.names(one) for one in fixable):
            raise InvalidRequest(f"fixes.{number}", "There is no such fix in the newest version")
