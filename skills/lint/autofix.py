"""Mends of diagnostics, applied until there is nothing more to mend: for the API and the terminal."""

from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from heapq import merge

from skills.parser import source
from skills.schema import Diagnostic, SkillReport, TextEdit

MOST_ROUNDS = 20
"""A mend may show something else to mend; they come to an end long before."""

Reporter = Callable[[bytes], SkillReport]
"""What is found in some bytes."""

Choice = Callable[[Sequence[Diagnostic], int], Sequence[Diagnostic]]
"""Which of the diagnostics that have a mend are mended in a round, counted from 0."""


@dataclass(frozen=True)
class Mended:
    """What became of a content.

    Args:
        content: the bytes; all that no mend names are as they were.
        codes: of the diagnostics whose mends were applied, in that order, as often as they were.
        left: what is found in the bytes now.
    """

    content: bytes
    codes: tuple[str, ...]
    left: tuple[Diagnostic, ...]


def mend(content: bytes, report: Reporter, choose: Choice) -> Mended:
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
        taken, edits = _together(wanted)
        after = source.apply(content, edits)
        if after == content:
            break
        content, found = after, report(after).diagnostics
        codes += (one.code for one in taken)
    return Mended(content, tuple(codes), found)


def _together(
    diagnostics: Iterable[Diagnostic],
) -> tuple[list[Diagnostic], tuple[TextEdit, ...]]:
    """Those whose mends can be applied at once, and their edits in ascending order.

    Of mends of one place the first is taken, and with it those that ask for the very same edit; the
    others are found again in the next round.
    """
    taken: list[Diagnostic] = []
    chosen = _Edits()
    for one in diagnostics:
        edits = () if one.fix is None else one.fix.edits
        if chosen.take(edits):
            taken.append(one)
    return taken, chosen.in_order()


class _Edits:
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
        self._edits = list(merge(self._edits, sorted(new, key=_place), key=_place))
        return True

    def _around(self, edit: TextEdit) -> list[TextEdit]:
        # None overlaps another: what this one could is beside its place, an insertion between them.
        at = bisect_left(self._edits, _place(edit), key=_place)
        return self._edits[max(at - 2, 0) : at + 2]

    def in_order(self) -> tuple[TextEdit, ...]:
        """All of them, ascending."""
        return tuple(self._edits)


def _place(edit: TextEdit) -> tuple[int, int]:
    return edit.start, edit.end


def _overlap(one: TextEdit, other: TextEdit) -> bool:
    return _place(one) == _place(other) or (one.start < other.end and other.start < one.end)
