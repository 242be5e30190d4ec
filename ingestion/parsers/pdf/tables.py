"""Tables drawn by ruling lines: a page's rules and their grids of cells."""

# PDFium's raw functions have no types.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false, reportUnknownParameterType=false, reportMissingParameterType=false

import ctypes
import re
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

import pypdfium2
from pypdfium2 import raw

from ingestion.parsers.text_cleanup import flow

# Drawings and maps have more; reading all of it would take seconds.
_MOST_OBJECTS = 4_000
_MOST_SEGMENTS = 20_000
_FORM_DEPTH = 3
# Points by which a rule may be off its axis.
_SLANT = 0.7

_Matrix = tuple[float, float, float, float, float, float]
_Point = tuple[float, float]
_IDENTITY: _Matrix = (1, 0, 0, 1, 0, 0)


@dataclass(frozen=True, slots=True)
class RulingLine:
    """A line at a y (horizontal) or x (vertical), in points from the lower left of the page."""

    at: float
    start: float
    end: float


@dataclass(frozen=True, slots=True)
class RulingLines:
    """All rules of a page, borders of filled rectangles included."""

    horizontal: tuple[RulingLine, ...]
    vertical: tuple[RulingLine, ...]


class _TooMany(Exception):
    """The page draws more than tables."""


def read_ruling_lines(page: pypdfium2.PdfPage) -> RulingLines:
    """The rules of a page; none for a page with too many strokes, such as a drawing."""
    horizontal: list[RulingLine] = []
    vertical: list[RulingLine] = []
    try:
        for (x0, y0), (x1, y1) in _strokes(page.raw, _IDENTITY, [_MOST_OBJECTS, _MOST_SEGMENTS]):
            if abs(y1 - y0) <= _SLANT:
                horizontal.append(RulingLine((y0 + y1) / 2, min(x0, x1), max(x0, x1)))
            elif abs(x1 - x0) <= _SLANT:
                vertical.append(RulingLine((x0 + x1) / 2, min(y0, y1), max(y0, y1)))
    except _TooMany:
        return RulingLines((), ())
    return RulingLines(tuple(horizontal), tuple(vertical))


def _strokes(parent: object, matrix: _Matrix, left: list[int], depth: int = 0) -> Iterator[tuple[_Point, _Point]]:
    """The straight strokes of a page or a form; ``left`` is the remaining budget."""
    is_form = depth > 0
    count = raw.FPDFFormObj_CountObjects if is_form else raw.FPDFPage_CountObjects
    get = raw.FPDFFormObj_GetObject if is_form else raw.FPDFPage_GetObject
    for index in range(count(parent)):
        shape = get(parent, index)
        kind = raw.FPDFPageObj_GetType(shape)
        if kind == raw.FPDF_PAGEOBJ_PATH:
            _spend(left, 0, 1)
            if _is_visible(shape):
                yield from _segments(shape, _composed(_matrix(shape), matrix), left)
        elif kind == raw.FPDF_PAGEOBJ_FORM and depth < _FORM_DEPTH:
            yield from _strokes(shape, _composed(_matrix(shape), matrix), left, depth + 1)


def _segments(path: object, matrix: _Matrix, left: list[int]) -> Iterator[tuple[_Point, _Point]]:
    count = raw.FPDFPath_CountSegments(path)
    _spend(left, 1, count)
    x, y = ctypes.c_float(), ctypes.c_float()
    start = before = (0.0, 0.0)
    for index in range(count):
        segment = raw.FPDFPath_GetPathSegment(path, index)
        raw.FPDFPathSegment_GetPoint(segment, x, y)
        point = _placed((x.value, y.value), matrix)
        kind = raw.FPDFPathSegment_GetType(segment)
        if kind == raw.FPDF_SEGMENT_MOVETO:
            start = point
        elif kind == raw.FPDF_SEGMENT_LINETO:
            yield before, point
        if raw.FPDFPathSegment_GetClose(segment):
            yield point, start
        before = point


def _spend(left: list[int], what: int, count: int) -> None:
    left[what] -= count
    if left[what] < 0:
        raise _TooMany


def _is_visible(path: object) -> bool:
    fill, stroke = ctypes.c_int(), ctypes.c_int()
    raw.FPDFPath_GetDrawMode(path, fill, stroke)
    return bool(fill.value or stroke.value)


def _matrix(shape: object) -> _Matrix:
    matrix = raw.FS_MATRIX()
    if not raw.FPDFPageObj_GetMatrix(shape, matrix):
        return _IDENTITY
    return (matrix.a, matrix.b, matrix.c, matrix.d, matrix.e, matrix.f)


def _composed(first: _Matrix, second: _Matrix) -> _Matrix:
    a, b, c, d, e, f = first
    k, l, m, n, o, p = second  # noqa: E741 - as matrices are written
    return (a * k + b * m, a * l + b * n, c * k + d * m, c * l + d * n, e * k + f * m + o, e * l + f * n + p)


def _placed(point: _Point, matrix: _Matrix) -> _Point:
    (x, y), (a, b, c, d, e, f) = point, matrix
    return a * x + c * y + e, b * x + d * y + f


# Points: closer ones are the same line (a border is drawn as a thin rectangle, or twice).
_TOLERANCE = 2.5
# Tolerance in points for rules that meet.
_GAP = 4.0
_SHORTEST = 6.0
_MOST_RULES = 600
_MOST_CELLS = 4_000
# Fewer make a chart or a form; more text in one cell makes a page laid out by boxes.
_LEAST_FILLED = 0.3
_MOST_IN_A_CELL = 1_500
# As PDFium marks a hyphen that parts a word at the end of a line.
_HYPHEN = re.compile("[\x02\ufffe\xad]\\s*")

TableRows = tuple[tuple[str, ...], ...]
_Cell = tuple[int, int]


@dataclass(slots=True)
class RuledGrid:
    """The cell borders of a table: columns from the left, rows from the foot."""

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
        """Row (from the top) and column of a point; of merged cells, the upper left."""
        if not (self.xs[0] <= x < self.xs[-1] and self.ys[0] <= y < self.ys[-1]):
            return None
        row = len(self.ys) - 1 - bisect_right(self.ys, y)
        return self._owners[row, bisect_right(self.xs, x) - 1]

    def rows(self, texts: dict[tuple[int, int], str]) -> TableRows | None:
        """The table of these texts by cell; None for boxes or a drawing."""
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
        rows = (tuple(filled.get((row, column), "") for column in used) for row in range(len(self.ys) - 1))
        return tuple(row for row in rows if any(row))

    def _owner(self, row: int, column: int) -> tuple[int, int]:
        """The first cell of the merged cells that this one belongs to."""
        above = len(self.ys) - 1 - row
        height = (self.ys[above] + self.ys[above - 1]) / 2
        middle = (self.xs[column] + self.xs[column + 1]) / 2
        if column and not _covers(self._at_x[column], height):
            return self._owners[row, column - 1]
        if row and not _covers(self._at_y[above], middle):
            return self._owners[row - 1, column]
        return row, column


def _by_border(rules: Iterable[RulingLine], borders: Sequence[float]) -> dict[int, list[RulingLine]]:
    by_border: dict[int, list[RulingLine]] = {number: [] for number in range(len(borders))}
    for rule in rules:
        by_border[max(0, bisect_right(borders, rule.at) - 1)].append(rule)
    return by_border


def _covers(rules: Iterable[RulingLine], along: float) -> bool:
    return any(rule.start <= along <= rule.end for rule in rules)


def find_grids(rules: RulingLines) -> Iterator[RuledGrid]:
    """The grids of at least two rows and two columns."""
    horizontal, vertical = _joined(rules.horizontal), _joined(rules.vertical)
    if len(horizontal) + len(vertical) > _MOST_RULES:
        return
    for across, down in _connected(horizontal, vertical):
        xs, ys = _borders(down, across), _borders(across, down)
        if len(xs) > 2 and len(ys) > 2 and (len(xs) - 1) * (len(ys) - 1) <= _MOST_CELLS:
            yield RuledGrid(xs, ys, across, down)


def _borders(rules: Sequence[RulingLine], crossing: Sequence[RulingLine]) -> list[float]:
    """Positions of rules; a table without side borders ends where its crossing rules do."""
    places = _places(rule.at for rule in rules)
    ends = [end for rule in crossing for end in (rule.start, rule.end)]
    outer = (min(ends), max(ends))
    return _places([*places, *(end for end in outer if _is_beyond(end, places))])


def _is_beyond(end: float, places: Sequence[float]) -> bool:
    return end < places[0] - _GAP or end > places[-1] + _GAP


def _places(values: Iterable[float]) -> list[float]:
    places: list[float] = []
    for value in sorted(values):
        if not places or value - places[-1] > _TOLERANCE:
            places.append(value)
    return places


def _joined(rules: Sequence[RulingLine]) -> list[RulingLine]:
    """Adjoining and overlapping rules as one; short ones left out."""
    joined: list[RulingLine] = []
    by_place: dict[int, list[RulingLine]] = defaultdict(list)
    places = _places(rule.at for rule in rules)
    for rule in rules:
        by_place[bisect_right(places, rule.at) - 1].append(rule)
    for number, those in by_place.items():
        start = end = None
        for rule in sorted(those, key=lambda line: line.start):
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
    crossings: dict[int, list[int]] = defaultdict(list)
    for h, across in enumerate(horizontal):
        for v, down in enumerate(vertical, len(horizontal)):
            if _meet(across, down):
                crossings[h].append(v)
                crossings[v].append(h)
    every = [*horizontal, *vertical]
    visited: set[int] = set()
    for first in sorted(crossings):
        if first in visited:
            continue
        group, waiting = set[int](), [first]
        while waiting:
            number = waiting.pop()
            if number not in group:
                group.add(number)
                waiting += crossings[number]
        visited |= group
        yield (
            [every[number] for number in sorted(group) if number < len(horizontal)],
            [every[number] for number in sorted(group) if number >= len(horizontal)],
        )


def _meet(across: RulingLine, down: RulingLine) -> bool:
    return across.start - _GAP <= down.at <= across.end + _GAP and down.start - _GAP <= across.at <= down.end + _GAP
