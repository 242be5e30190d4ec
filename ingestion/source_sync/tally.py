"""Counts and examples of what a sync did."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Literal

Outcome = Literal["created", "updated", "renamed", "unchanged", "deleted", "failed", "skipped", "restricted", "opened"]
"""``skipped``: nothing in it, or of a type that no parser reads. ``restricted`` and ``opened`` count besides the others:
the source's permissions have changed who reads it."""

_MOST_EXAMPLES = 100
_LONGEST_EXAMPLE = 300
_UNNAMED = frozenset({"unchanged", "skipped"})


class SyncTally:
    """What became of a source's items; goes on from what an earlier try has written."""

    def __init__(self, counts: Mapping[str, int], examples: Mapping[str, Sequence[str]]) -> None:
        self._counts = Counter(counts)
        self._examples = {outcome: list(names) for outcome, names in examples.items()}

    def add(self, outcome: Outcome, name: str) -> None:
        """Count an item."""
        self.add_many(outcome, [name], 1)

    def add_many(self, outcome: Outcome, names: Sequence[str], number: int) -> None:
        """Count items, of which some are named."""
        self._counts[outcome] += number
        if outcome not in _UNNAMED:
            examples = self._examples.setdefault(outcome, [])
            room = _MOST_EXAMPLES - len(examples)
            examples += [name[:_LONGEST_EXAMPLE] for name in names[:room]]

    def reset(self, outcome: Outcome) -> None:
        """Count an outcome from the start: it is found out anew."""
        self._counts.pop(outcome, None)
        self._examples.pop(outcome, None)

    @property
    def values(self) -> dict[str, object]:
        """As columns of a sync."""
        examples = {outcome: names for outcome, names in self._examples.items() if names}
        return {"counts": dict(self._counts), "examples": examples}
