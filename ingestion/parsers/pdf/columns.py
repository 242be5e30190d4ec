"""Columns of text that a PDF draws row by row: put one after the other, tables left by rows."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain, pairwise
from statistics import median

from ingestion.parsers.pdf.page import PdfLine

NARROWEST_GAP = 6.0
"""Points between two parts of a line that may belong to different columns."""
_GAP_SIZES = 0.7

# Rows that have both columns: fewer are enough where the gap is wider than any between words.
_LEAST_ROWS, _LEAST_ROWS_OF_NARROW = 3, 5
_WIDE_SIZES = 1.2
_SAME_HEIGHT = 0.5  # sizes by which two parts of a row may differ in height
_FARTHEST = 4.0  # sizes between two rows of the same columns: a figure across them is higher
_PITCH = 1.7  # sizes between two lines of a paragraph
_MOST_COLUMNS = 6

# What running text has and a table's cells don't.
_NARROWEST_COLUMN = 8.0  # sizes
_LEAST_FILL, _LEAST_FILL_UNCASED = 0.7, 0.85
_LEAST_WORDS = 3
_LEAST_IDEOGRAPHS = 8
_LEAST_LETTERS = 0.5
_LEAST_LOWER = 0.3
_FIRST_IDEOGRAPH = "\u2e80"


def widest_word_gap(size: float) -> float:
    """Where a gap is at least as wide, another column may begin; words of justified text are closer."""
    return max(NARROWEST_GAP, _GAP_SIZES * size)


@dataclass(frozen=True, slots=True)
class LineParts:
    """A line as it is drawn, and its parts between wide gaps, from left to right."""

    line: PdfLine
    parts: tuple[PdfLine, ...]


@dataclass(frozen=True, slots=True)
class _Gutter:
    left: float
    right: float

    def narrowed_by(self, parts: Iterable[PdfLine]) -> "_Gutter | None":
        """What of it stays free beside the parts of another row; None if a part crosses it."""
        left, right = self.left, self.right
        for part in parts:
            if part.left < left:
                left = max(left, part.right)
            else:
                right = min(right, part.left)
        return _Gutter(left, right) if right - left >= NARROWEST_GAP else None

    def sides(self, parts: Iterable[PdfLine]) -> tuple[list[PdfLine], list[PdfLine]]:
        """The parts left and right of it."""
        sides: tuple[list[PdfLine], list[PdfLine]] = ([], [])
        for part in parts:
            sides[part.left >= self.left].append(part)
        return sides


@dataclass(frozen=True, slots=True)
class _DrawnRow:
    """Lines at one height that are drawn one after the other, from left to right."""

    lines: tuple[LineParts, ...]

    @property
    def parts(self) -> tuple[PdfLine, ...]:
        return tuple(chain.from_iterable(line.parts for line in self.lines))

    @property
    def first(self) -> PdfLine:
        return self.lines[0].line


@dataclass(frozen=True, slots=True)
class _ColumnRun:
    """Rows from ``start`` to before ``end`` that leave a gutter free."""

    start: int
    end: int
    gutter: _Gutter
    both: int


def in_reading_order(lines: Sequence[LineParts]) -> Iterator[PdfLine]:
    """The lines, with columns that are drawn row by row one after the other.

    Columns are rows in succession whose parts leave a gutter free and read as running text on both sides of it. A
    heading or caption across them, a table or a wide space parts what is above it from what is below. Everything else,
    columns that are drawn one after the other above all, keeps the order of the content.
    """
    return (line.line for line in _ordered(lines, _MOST_COLUMNS))


def _ordered(lines: Sequence[LineParts], most: int) -> Iterator[LineParts]:
    rows = list(_rows(lines))
    begin = place = 0
    while place < len(rows) and most > 1:
        run = _longest_run(rows, begin, place)
        if run is None:
            place += 1
            continue
        sides = [run.gutter.sides(row.parts) for row in rows[run.start : run.end]]
        if _is_running_text(sides, run.gutter):
            yield from _drawn(rows[begin : run.start])
            for side in (0, 1):
                yield from _ordered([_merged(parts[side]) for parts in sides if parts[side]], most - 1)
            begin = run.end
        place = run.end
    yield from _drawn(rows[begin:])


def _drawn(rows: Iterable[_DrawnRow]) -> Iterator[LineParts]:
    return chain.from_iterable(row.lines for row in rows)


def _merged(parts: Sequence[PdfLine]) -> LineParts:
    if len(parts) == 1:
        return LineParts(parts[0], (parts[0],))
    text = " ".join(part.text for part in parts)
    return LineParts(replace(parts[0], text=text, right=parts[-1].right), tuple(parts))


def _rows(lines: Iterable[LineParts]) -> Iterator[_DrawnRow]:
    row: list[LineParts] = []
    for line in lines:
        if row and not _stands_beside(row[-1].line, line.line):
            yield _DrawnRow(tuple(row))
            row = []
        row.append(line)
    if row:
        yield _DrawnRow(tuple(row))


def _stands_beside(left: PdfLine, right: PdfLine) -> bool:
    if left.rows or right.rows or right.left - left.right < NARROWEST_GAP:
        return False
    return abs(left.y - right.y) <= _SAME_HEIGHT * min(left.size, right.size)


def _longest_run(rows: Sequence[_DrawnRow], begin: int, place: int) -> _ColumnRun | None:
    """The run around a row with the most rows that have both columns, or None if there are too few."""
    parts = rows[place].parts
    gaps = [_Gutter(left.right, right.left) for left, right in pairwise(parts)]
    runs = [_run(rows, begin, place, gap) for gap in gaps if gap.right - gap.left >= NARROWEST_GAP]
    run = max(runs, key=lambda run: run.both, default=None)
    if run is None:
        return None
    is_wide = run.gutter.right - run.gutter.left >= _WIDE_SIZES * rows[place].first.size
    return run if run.both >= (_LEAST_ROWS if is_wide else _LEAST_ROWS_OF_NARROW) else None


def _run(rows: Sequence[_DrawnRow], begin: int, place: int, gutter: _Gutter) -> _ColumnRun:
    both, last, end = 0, place, place
    while end < len(rows) and (end == place or _follows(rows[end - 1], rows[end])):
        narrowed = gutter.narrowed_by(rows[end].parts)
        if narrowed is None:
            break
        gutter = narrowed
        if all(gutter.sides(rows[end].parts)):
            both, last = both + 1, end
        end += 1
    is_page_over = end == len(rows)
    start = place
    while start > begin and _follows(rows[start - 1], rows[start]):
        narrowed = gutter.narrowed_by(rows[start - 1].parts)
        if narrowed is None:
            break
        gutter, start = narrowed, start - 1
    return _ColumnRun(start, end if is_page_over else _end_of_text(rows, last, end), gutter, both)


def _end_of_text(rows: Sequence[_DrawnRow], last: int, end: int) -> int:
    """Where the longer column ends: a line off its rhythm is the heading of what follows across both."""
    for place in range(last + 1, end):
        before, row = rows[place - 1].first, rows[place].first
        if row.size != before.size or before.y - row.y > _PITCH * row.size:
            return place
    return end


def _follows(above: _DrawnRow, row: _DrawnRow) -> bool:
    first, line = above.first, row.first
    return not first.rows and not line.rows and 0 < first.y - line.y <= _FARTHEST * max(first.size, line.size)


def _is_running_text(sides: Sequence[tuple[list[PdfLine], list[PdfLine]]], gutter: _Gutter) -> bool:
    """Whether both sides of the rows that have both are lines of paragraphs and not the cells of a table."""
    rows = [(_merged(left).line, _merged(right).line) for left, right in sides if left and right]
    columns = [[row[side] for row in rows] for side in (0, 1)]
    starts = [line.text[0] for column in columns for line in column[1:]]
    cased = [char for char in starts if char.lower() != char.upper()]
    has_case = 2 * len(cased) >= len(starts)
    if has_case and sum(char.islower() for char in cased) < _LEAST_LOWER * len(starts):
        return False
    least = _LEAST_FILL if has_case else _LEAST_FILL_UNCASED
    return all(_is_filled(column, least) for column in columns)


def _is_filled(lines: Sequence[PdfLine], least: float) -> bool:
    left, size = min(line.left for line in lines), median(line.size for line in lines)
    width = max(line.right for line in lines) - left
    if width < _NARROWEST_COLUMN * size or median((line.right - left) / width for line in lines) < least:
        return False
    return median(_has_words(line.text) for line in lines) == 1


def _has_words(text: str) -> bool:
    letters = sum(char.isalpha() for char in text)
    ideographs = sum(char >= _FIRST_IDEOGRAPH for char in text)
    has_enough = len(text.split()) >= _LEAST_WORDS or ideographs >= _LEAST_IDEOGRAPHS
    return has_enough and letters >= _LEAST_LETTERS * len(text)
