"""Tables with merged cells: all cells by column, merged labels repeated in each row."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

# Shared labels are short; longer ones are not repeated.
_LONGEST_LABEL = 200
# Bounds against a few bytes of markup that become a flood: columns of one cell, concurrent row spans, and characters
# of repeated labels in one table.
_MOST_COLUMNS = 100
_MOST_HANGING = 100
_MOST_REPEATED = 1_000_000


@dataclass(frozen=True, slots=True)
class TableCell:
    """A cell in a format's own terms; ``continues`` marks the lower part of the cell above it."""

    text: str
    columns: int = 1
    rows: int = 1
    continues: bool = False


def spread_merged_cells(rows: Iterable[Iterable[TableCell]]) -> Iterator[list[str]]:
    """The texts of rows by column.

    A cell over several columns stands in the first of them, the others are blank. One over several rows is repeated in
    each, since a passage may begin at any.
    """
    grid = _Grid()
    for row in rows:
        yield grid.texts(row)


class MergedLabels:
    """Labels of a sheet's merged cells for the rows below their first one."""

    def __init__(self) -> None:
        self._hanging: dict[int, tuple[int, str]] = {}
        self._repeats = _RepeatBudget()

    def hang(self, column: int, last: int, text: str) -> None:
        if len(self._hanging) < _MOST_HANGING:
            self._hanging[column] = (last, text)

    def write(self, number: int, cells: dict[int, str]) -> None:
        """Write the labels into the blank cells of a row that has text."""
        for column, (last, text) in list(self._hanging.items()):
            if last < number:
                del self._hanging[column]
            elif column not in cells and (label := self._repeats.of(text)):
                cells[column] = label


class _RepeatBudget:
    def __init__(self) -> None:
        self._room = _MOST_REPEATED

    def of(self, text: str) -> str:
        if len(text) > min(_LONGEST_LABEL, self._room):
            return ""
        self._room -= len(text)
        return text


class _Grid:
    """The cells that reach down into the next row, by column."""

    def __init__(self) -> None:
        self._above: dict[int, str] = {}
        self._hanging: dict[int, tuple[int, str]] = {}
        self._repeats = _RepeatBudget()

    def texts(self, row: Iterable[TableCell]) -> list[str]:
        hanging, self._hanging = self._hanging, {}
        line: dict[int, str] = {}
        for at, (rows, text) in hanging.items():
            self._hang(at, rows, text)
            if text:
                line[at] = self._repeats.of(text)
        column, says_something = 0, False
        for cell in row:
            while column in hanging:
                column += 1
            line[column] = text = self._text(cell, column)
            says_something |= bool(text) and not cell.continues
            width = min(max(1, cell.columns), _MOST_COLUMNS)
            if cell.rows > 1:
                for at in range(column, column + width):
                    self._hang(at, cell.rows, text if at == column else "")
            column += width
        self._above = line
        # Labels of other rows alone make no row.
        return [line.get(at, "") for at in range(max(line) + 1)] if says_something else []

    def _text(self, cell: TableCell, column: int) -> str:
        return self._repeats.of(self._above.get(column, "")) if cell.continues else cell.text

    def _hang(self, column: int, rows: int, text: str) -> None:
        if rows > 1 and len(self._hanging) < _MOST_HANGING:
            self._hanging[column] = (rows - 1, text)
