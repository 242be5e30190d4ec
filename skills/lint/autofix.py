"""Mends of diagnostics, applied until there is nothing more to mend: for the API and the terminal."""

import asyncio
from bisect import bisect_left
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass
from heapq import merge

from sqlmodel.ext.asyncio.session import AsyncSession

from core.errors.requests import InvalidRequest
from skills.lint.validate import ValidatedSkill, validate
from skills.models import SkillVersion
from skills.parser import source
from skills.schema import Diagnostic, SkillReport, TextEdit
from skills.store import access as skill_access
from skills.store.access import SkillView

MOST_ROUNDS = 20
"""A mend may show something else to mend; they come to an end long before."""

Linter = Callable[[bytes], SkillReport]
"""What is found in some bytes."""

FixChooser = Callable[[Sequence[Diagnostic], int], Sequence[Diagnostic]]
"""Which of the diagnostics that have a mend are mended in a round, counted from 0."""


@dataclass(frozen=True)
class AutofixResult:
    """What became of a content.

    Args:
        content: the bytes; all that no mend names are as they were.
        codes: of the diagnostics whose mends were applied, in that order, as often as they were.
        left: what is found in the bytes now.
    """

    content: bytes
    codes: tuple[str, ...]
    left: tuple[Diagnostic, ...]


def autofix(content: bytes, report: Linter, choose: FixChooser) -> AutofixResult:
    """Apply mends, and those of what is found afterwards, until nothing changes.

    Args:
        content: the bytes.
        report: finds what there is to mend, in these bytes and in those of later rounds.
        choose: which of it is wanted.
    """
    codes: list[str] = []
    found = report(content).diagnostics
    for number in range(MOST_ROUNDS):
        wanted = choose([one for one in found if one.fix is not None], number)
        taken, edits = _select_compatible(wanted)
        after = source.apply_edits(content, edits)
        if after == content:
            break
        content, found = after, report(after).diagnostics
        codes += (one.code for one in taken)
    return AutofixResult(content, tuple(codes), found)


def _select_compatible(
    diagnostics: Iterable[Diagnostic],
) -> tuple[list[Diagnostic], tuple[TextEdit, ...]]:
    """Those whose mends can be applied at once, and their edits in ascending order.

    Of mends of one place the first is taken, and with it those that ask for the very same edit; the
    others are found again in the next round.
    """
    taken: list[Diagnostic] = []
    chosen = _DisjointEdits()
    for one in diagnostics:
        edits = () if one.fix is None else one.fix.edits
        if chosen.take(edits):
            taken.append(one)
    return taken, chosen.in_order()


class _DisjointEdits:
    """Edits that do not overlap; looked up by place, as one mend may have thousands."""

    def __init__(self) -> None:
        self._edits: list[TextEdit] = []
        self._known: set[TextEdit] = set()

    def take(self, edits: Iterable[TextEdit]) -> bool:
        """Add edits, unless one of them overlaps another edit than its own like."""
        new = [edit for edit in edits if edit not in self._known]
        if any(_overlap(edit, other) for edit in new for other in self._around(edit)):
            return False
        self._known.update(new)
        self._edits = list(merge(self._edits, sorted(new, key=_span), key=_span))
        return True

    def _around(self, edit: TextEdit) -> list[TextEdit]:
        # None overlaps another: what this one could is beside its place, an insertion between them.
        at = bisect_left(self._edits, _span(edit), key=_span)
        return self._edits[max(at - 2, 0) : at + 2]

    def in_order(self) -> tuple[TextEdit, ...]:
        """All of them, ascending."""
        return tuple(self._edits)


def _span(edit: TextEdit) -> tuple[int, int]:
    return edit.start, edit.end


def _overlap(one: TextEdit, other: TextEdit) -> bool:
    return _span(one) == _span(other) or (one.start < other.end and other.start < one.end)


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

    def names(self, diagnostic: Diagnostic) -> bool:
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
        places: whose fixes; None for all. A place of a line or column is fixed once, as others may
            come to stand there. One where there is nothing to fix raises ``InvalidRequest``.
        reporters: says what there is to fix, as it was shown to the caller.

    ``codes`` are those of the diagnostics that were fixed.
    """

    def __init__(self, places: Sequence[FixTarget] | None, reporters: VersionLinter) -> None:
        self.codes: tuple[str, ...] = ()
        self._places = places
        self._reporters = reporters

    async def __call__(
        self, session: AsyncSession, _: SkillView, newest: SkillVersion
    ) -> ValidatedSkill | None:
        """What the next version is to hold; None where there is nothing to fix."""
        content, files = await skill_access.read_content_and_files(session, newest)
        report = await self._reporters(session, newest)
        # Each round reads the skill, which can take longer than an event loop may stand still.
        mended = await asyncio.to_thread(autofix, content, report, self._choose)
        self.codes = mended.codes
        return await validate(mended.content, files) if mended.content != content else None

    def _choose(self, fixable: Sequence[Diagnostic], number: int) -> Sequence[Diagnostic]:
        places = self._places
        if places is None:
            return fixable
        if number == 0:
            _check_targets(places, fixable)
        wanted = [place for place in places if number == 0 or place.is_code]
        return [one for one in fixable if any(place.names(one) for place in wanted)]


def _check_targets(places: Sequence[FixTarget], fixable: Sequence[Diagnostic]) -> None:
    for number, place in enumerate(places):
        if not any(place.names(one) for one in fixable):
            raise InvalidRequest(f"fixes.{number}", "There is no such fix in the newest version")
