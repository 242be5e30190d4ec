"""Fixes of diagnostics, applied to a skill."""

from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass

from sqlmodel.ext.asyncio.session import AsyncSession

from core.errors import InvalidRequest
from skills import reading
from skills.judging import Judged, judge
from skills.models import Diagnostic, SkillReport, TextEdit
from skills.reading import Seen
from skills.revisions import Revision
from skills.source import apply as apply_edits
from skills.tables import SkillVersion


@dataclass(frozen=True)
class Place:
    """A diagnostic, by its code and, where there are several of it, its line and column."""

    code: str
    line: int | None = None
    column: int | None = None

    def names(self, diagnostic: Diagnostic) -> bool:
        """Whether it is this one."""
        return (
            diagnostic.code == self.code
            and self.line in {None, diagnostic.line}
            and self.column in {None, diagnostic.column}
        )


Reports = Callable[[AsyncSession, SkillVersion, bytes], Awaitable[SkillReport]]
"""What is found in a version, whose content is handed over."""


def fixed(places: Sequence[Place] | None, reports: Reports) -> Revision:
    """The newest version with fixes applied to it.

    Args:
        places: whose fixes; None for all. A place where there is nothing to fix raises
            ``InvalidRequest``.
        reports: says what there is to fix, as it was shown to the caller.
    """

    async def revise(session: AsyncSession, _: Seen, newest: SkillVersion) -> Judged | None:
        content, files = await reading.held(session, newest)
        report = await reports(session, newest, content)
        edits = edits_of(_chosen(report.diagnostics, places))
        return await judge(apply_edits(content, edits), files) if edits else None

    return revise


def _chosen(diagnostics: Iterable[Diagnostic], places: Sequence[Place] | None) -> list[Diagnostic]:
    fixable = [one for one in diagnostics if one.fix is not None]
    if places is None:
        return fixable
    for number, place in enumerate(places):
        if not any(place.names(one) for one in fixable):
            raise InvalidRequest(f"fixes.{number}", "There is no such fix in the newest version")
    return [one for one in fixable if any(place.names(one) for place in places)]


def edits_of(diagnostics: Iterable[Diagnostic]) -> tuple[TextEdit, ...]:
    """The edits of some fixes in ascending order, of fixes that overlap the first one's alone."""
    taken: list[TextEdit] = []
    for one in diagnostics:
        edits = () if one.fix is None else one.fix.edits
        if not any(_overlap(edit, other) for edit in edits for other in taken):
            taken.extend(edits)
    return tuple(sorted(taken, key=lambda edit: (edit.start, edit.end)))


def _overlap(one: TextEdit, other: TextEdit) -> bool:
    is_same_place = one.start == other.start and one.end == other.end
    return is_same_place or (one.start < other.end and other.start < one.end)
