"""Fixes of diagnostics, applied to a skill."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from core.accounts.access import Action
from core.errors import InvalidRequest
from skills import library, publishing, reading
from skills.judging import judge
from skills.library import Desk, Update
from skills.models import Diagnostic, TextEdit
from skills.reading import Seen
from skills.source import apply as apply_edits
from skills.writing import Change, check_base


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


async def apply(
    desk: Desk, skill_id: str, places: Sequence[Place] | None, change: Change
) -> tuple[Seen, bool]:
    """Apply fixes to a skill's newest version, as a new version.

    Args:
        desk: where the caller works.
        skill_id: of which skill.
        places: whose fixes; None for all.
        change: what is told of the new version.

    Raises:
        InvalidRequest: a place where there is nothing to fix.
        AgentexError: as ``library.update``.
    """
    session = desk.work.session
    seen = await reading.hold(session, desk.principal, skill_id, Action.WRITE)
    newest = await publishing.version_at(session, seen.skill, seen.skill.version)
    # Before the places: in another version there is something else.
    check_base(newest, change.base)
    content = await reading.content_of(session, newest)
    judged = await judge(content, await reading.read_files(session, newest))
    edits = edits_of(_chosen(judged.report.diagnostics, places))
    return await library.update(desk, skill_id, Update(apply_edits(content, edits), change=change))


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
