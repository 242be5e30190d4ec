"""Mends of diagnostics, applied until there is nothing more to mend: for the API and the terminal."""

from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from heapq import merge

from skills.lint.linter import Linter
from skills.parser import source
from skills.schema import Diagnostic, TextEdit

MOST_ROUNDS = 20
"""A mend may show something else to mend; they come to an end long before."""

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


def autofix(content: bytes, linter: Linter, choose: FixChooser) -> AutofixResult:
    """Apply mends, and those of what is found afterwards, until nothing changes.

    Args:
        content: the bytes.
        linter: finds what there is to mend, in these bytes and in those of later rounds.
        choose: which of it is wanted.
    """
    codes: list[str] = []
    diagnostics = linter(content).diagnostics
    for number in range(MOST_ROUNDS):
        chosen = choose(
            [diagnostic for diagnostic in diagnostics if diagnostic.fix is not None], number
        )
        applied, edits = _select_compatible(chosen)
        after = source.apply_edits(content, edits)
        if after == content:
            break
        content, diagnostics = after, linter(after).diagnostics
        codes += (diagnostic.code for diagnostic in applied)
    return AutofixResult(content, tuple(codes), diagnostics)


def _select_compatible(
    diagnostics: Iterable[Diagnostic],
) -> tuple[list[Diagnostic], tuple[TextEdit, ...]]:
    """Those whose mends can be applied at once, and their edits in ascending order.

    Of mends of one place the first is taken, and with it those that ask for the very same edit; the
    others are found again in the next round.
    """
    applied: list[Diagnostic] = []
    chosen = _DisjointEdits()
    for diagnostic in diagnostics:
        edits = () if diagnostic.fix is None else diagnostic.fix.edits
        if chosen.take(edits):
            applied.append(diagnostic)
    return applied, chosen.in_order()


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


def _overlap(edit: TextEdit, other: TextEdit) -> bool:
    return _span(edit) == _span(other) or (edit.start < other.end and other.start < edit.end)
