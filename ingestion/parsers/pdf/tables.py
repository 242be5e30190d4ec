"""Tables that rules draw: grids of cells, and which cell a place on the page belongs to."""

import re
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from ingestion.parsers.pdf.ruling_lines import RulingLine, RulingLines
from ingestion.parsers.text_cleanup import flow

# Points: what is closer is the same line (a border is drawn as a thin rectangle, or twice).
_TOLERANCE = 2.5
# Points by which rules that meet may miss each other.
_GAP = 4.0
_SHORTEST = 6.0
_MOST_RULES = 600
_MOST_CELLS = 4_000
# Less is a chart or a form, more in one cell is a page that is laid out by boxes.
_LEAST_FILLED = 0.3
_MOST_IN_A_CELL = 1_500
# As PDFium marks a hyphen that parts a word at the end of a line.
_HYPHEN = re.compile("[\x02\ufffe\xad]\\s*")

TableRows = tuple[tuple[str, ...], ...]
_Cell = tuple[int, int]


@dataclass(slots=True)
class RuledGrid:
    """Where the cells of a table are.

    Attributes:
        xs: Borders of the columns, from the left.
        ys: Borders of the rows, from the foot.
    """

    xs: Sequence[float]
    ys: Sequence[float]
    _across: Sequence[RulingLine]
    _down: Sequence[RulingLine]
    _owners: dict[_Cell, _Cell] = field(init=False, default_factory=dict[_Cell, _Cell])
    _at_x: dict[int, list[RulingLine]] = field(init=False)
    _at_y: dict[int, list[RulingLine]] = field(init=False)

    def __post_init__(self) -> None:
        self._at_x = _by_border(self._down, self.xs)
        self._at_y = _by_border(self._across, self.ys)
        for row in range(len(self.ys) - 1):
            for column in range(len(self.xs) - 1):
                self._owners[row, column] = self._owner(row, column)

    def cell(self, x: float, y: float) -> tuple[int, int] | None:
        """Row (from the top) and column of a place; of cells that are one, the upper left."""
        if not (self.xs[0] <= x < self.xs[-1] and self.ys[0] <= y < self.ys[-1]):
            return None
        row = len(self.ys) - 1 - bisect_right(self.ys, y)
        return self._owners[row, bisect_right(self.xs, x) - 1]

    def rows(self, texts: dict[tuple[int, int], str]) -> TableRows | None:
        """The table of these texts by cell; None where it is none, but boxes or a drawing."""
        filled = {place: flow(_HYPHEN.sub("", text)) for place, text in texts.items()}
        filled = {place: text for place, text in filled.items() if text}
        cells = len(set(self._owners.values()))
        is_table = (
            len({row for row, _ in filled}) > 1
            and len({column for _, column in filled}) > 1
            and len(filled) >= _LEAST_FILLED * cells
            and max(map(len, filled.values())) <= _MOST_IN_A_CELL
        )
        if not is_table:
            return None
        used = sorted({column for _, column in filled})
        rows = (
            tuple(filled.get((row, column), "") for column in used)
            for row in range(len(self.ys) - 1)
        )
        return tuple(row for row in rows if any(row))

    def _owner(self, row: int, column: int) -> tuple[int, int]:
        """The cell that this one is a part of: no rule stands between them."""
        above = len(self.ys) - 1 - row
        height = (self.ys[above] + self.ys[above - 1]) / 2
        middle = (self.xs[column] + self.xs[column + 1]) / 2
        if column and not _covers(self._at_x[column], height):
            return self._owners[row, column - 1]
        if row and not _covers(self._at_y[above], middle):
            return self._owners[row - 1, column]
        return row, column


def _by_border(
    rules: Iterable[RulingLine], borders: Sequence[float]
) -> dict[int, list[RulingLine]]:
    found: dict[int, list[RulingLine]] = {number: [] for number in range(len(borders))}
    for rule in rules:
        found[max(0, bisect_right(borders, rule.at) - 1)].append(rule)
    return found


def _covers(rules: Iterable[RulingLine], along: float) -> bool:
    return any(rule.start <= along <= rule.end for rule in rules)


def find_grids(rules: RulingLines) -> Iterator[RuledGrid]:
    """The grids of at least two rows and two columns that rules make up."""
    horizontal, vertical = _joined(rules.horizontal), _joined(rules.vertical)
    if len(horizontal) + len(vertical) > _MOST_RULES:
        return
    for across, down in _connected(horizontal, vertical):
        xs, ys = _borders(down, across), _borders(across, down)
        if len(xs) > 2 and len(ys) > 2 and (len(xs) - 1) * (len(ys) - 1) <= _MOST_CELLS:
            yield RuledGrid(xs, ys, across, down)


def _borders(rules: Sequence[RulingLine], crossing: Sequence[RulingLine]) -> list[float]:
    """Where rules stand; a table that is open at its sides ends where those do that cross them."""
    places = _places(rule.at for rule in rules)
    ends = [end for rule in crossing for end in (rule.start, rule.end)]
    outer = (min(ends), max(ends))
    return _places([*places, *(end for end in outer if _is_beyond(end, places))])


def _is_beyond(end: float, places: Sequence[float]) -> bool:
    return end < places[0] - _GAP or end > places[-1] + _GAP


def _places(values: Iterable[float]) -> list[float]:
    """The values in order, those that are the same once."""
    places: list[float] = []
    for value in sorted(values):
        if not places or value - places[-1] > _TOLERANCE:
            places.append(value)
    return places


def _joined(rules: Sequence[RulingLine]) -> list[RulingLine]:
    """Rules that go on or lie upon each other as one; short ones left out."""
    joined: list[RulingLine] = []
    by_place: dict[int, list[RulingLine]] = defaultdict(list)
    places = _places(rule.at for rule in rules)
    for rule in rules:
        by_place[bisect_right(places, rule.at) - 1].append(rule)
    for number, those in by_place.items():
        start = end = None
        for rule in sorted(those, key=lambda one: one.start):
            if start is None or end is None:
                start, end = rule.start, rule.end
            elif rule.start <= end + _GAP:
                end = max(end, rule.end)
            else:
                joined.append(RulingLine(places[number], start, end))
                start, end = rule.start, rule.end
        if start is not None and end is not None:
            joined.append(RulingLine(places[number], start, end))
    return [rule for rule in joined if rule.end - rule.start >= _SHORTEST]


def _connected(
    horizontal: Sequence[RulingLine], vertical: Sequence[RulingLine]
) -> Iterator[tuple[list[RulingLine], list[RulingLine]]]:
    """Groups of rules that meet."""
    crossings: dict[int, list[int]] = defaultdict(list)
    for h, across in enumerate(horizontal):
        for v, down in enumerate(vertical, len(horizontal)):
            if _meet(across, down):
                crossings[h].append(v)
                crossings[v].append(h)
    every = [*horizontal, *vertical]
    seen: set[int] = set()
    for first in sorted(crossings):
        if first in seen:
            continue
        group, waiting = set[int](), [first]
        while waiting:
            one = waiting.pop()
            if one not in group:
                group.add(one)
                waiting += crossings[one]
        seen |= group
        yield (
            [every[one] for one in sorted(group) if one < len(horizontal)],
            [every[one] for one in sorted(group) if one >= len(horizontal)],
        )


def _meet(across: RulingLine, down: RulingLine) -> bool:
    return (
        across.start - _GAP <= down.at <= across.end + _GAP
        and down.start - _GAP <= across.at <= down.end + _GAP
    )
