"""Autofix: fixes of diagnostics applied until none is left."""

from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from heapq import merge

from skills.lint.linter import Linter
from skills.parser import source
from skills.schema import Diagnostic, TextEdit

MOST_ROUNDS = 20
"""A fix may reveal more to fix; in practice far fewer rounds are needed."""

FixChooser = Callable[[Sequence[Diagnostic], int], Sequence[Diagnostic]]
"""Chooses which of the fixable diagnostics are fixed in a round, counted from 0."""


@dataclass(frozen=True)
class AutofixResult:
    """Fixed bytes, and the codes of the fixed diagnostics, as often as each was fixed."""

    content: bytes
    codes: tuple[str, ...]
    left: tuple[Diagnostic, ...]


def autofix(content: bytes, linter: Linter, choose: FixChooser) -> AutofixResult:
    """Apply fixes, and those of diagnostics that appear afterwards, until nothing changes."""
    codes: list[str] = []
    diagnostics = linter(content).diagnostics
    for number in range(MOST_ROUNDS):
        chosen = choose([diagnostic for diagnostic in diagnostics if diagnostic.fix is not None], number)
        applied, edits = _select_compatible(chosen)
        after = source.apply_edits(content, edits)
        if after == content:
            break
        content, diagnostics = after, linter(after).diagnostics
        codes += (diagnostic.code for diagnostic in applied)
    return AutofixResult(content, tuple(codes), diagnostics)


def _select_compatible(diagnostics: Iterable[Diagnostic]) -> tuple[list[Diagnostic], tuple[TextEdit, ...]]:
    """Diagnostics whose fixes can be applied together, and their edits in ascending order.

    Of overlapping fixes the first is applied, along with identical ones; later rounds find the others.
    """
    applied: list[Diagnostic] = []
    chosen = _DisjointEdits()
    for diagnostic in diagnostics:
        edits = () if diagnostic.fix is None else diagnostic.fix.edits
        if chosen.add(edits):
            applied.append(diagnostic)
    return applied, chosen.in_order()


class _DisjointEdits:
    """Edits that do not overlap, looked up by position: one fix may have thousands."""

    def __init__(self) -> None:
        self._edits: list[TextEdit] = []
        self._known: set[TextEdit] = set()

    def add(self, edits: Iterable[TextEdit]) -> bool:
        new = [edit for edit in edits if edit not in self._known]
        if any(_overlap(edit, other) for edit in new for other in self._around(edit)):
            return False
        self._known.update(new)
        self._edits = list(merge(self._edits, sorted(new, key=_span), key=_span))
        return True

    def _around(self, edit: TextEdit) -> list[TextEdit]:
        # They are disjoint, so only direct neighbours can overlap, with an insertion between them.
        at = bisect_left(self._edits, _span(edit), key=_span)
        return self._edits[max(at - 2, 0) : at + 2]

    def in_order(self) -> tuple[TextEdit, ...]:
        return tuple(self._edits)


def _span(edit: TextEdit) -> tuple[int, int]:
    return edit.start, edit.end


def _overlap(edit: TextEdit, other: TextEdit) -> bool:
    return _span(edit) == _span(other) or (edit.start < other.end and other.start < edit.end)
