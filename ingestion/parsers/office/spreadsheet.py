"""The tables of a sheet: blocks of filled cells, each under its header row."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from ingestion.parsers.builder import DocumentBuilder
from ingestion.parsers.text.csv import is_header


@dataclass(frozen=True, slots=True)
class SheetRow:
    """A row that has text: its number from 1, and its cells by column from 0, empty ones left out."""

    number: int
    cells: dict[int, str]


def add_tables(out: DocumentBuilder, title: str, rows: Iterable[SheetRow], *, page: int) -> None:
    """Add a sheet: its title as heading if it has any text, then its blocks of cells in order.

    A blank row ends a block; so does a blank column between two blocks that each have a header. A block without a
    header continues under the header of the block above it, if its columns are that block's. Single cells, also those
    above a table, are paragraphs.
    """
    headers: list[SheetRow] = []
    is_titled = False
    for block in _blocks(rows):
        if not is_titled:
            out.add("heading", title, level=1, page=page)
            is_titled = True
        tables = _abreast(_without_captions(out, block, page))
        own = [_add_table(out, table, headers, page) for table in tables]
        headers = [header for header in own if header is not None] or headers


def _blocks(rows: Iterable[SheetRow]) -> Iterator[list[SheetRow]]:
    block: list[SheetRow] = []
    for row in rows:
        if block and row.number > block[-1].number + 1:
            yield block
            block = []
        block.append(row)
    if block:
        yield block


def _without_captions(out: DocumentBuilder, block: list[SheetRow], page: int) -> list[SheetRow]:
    """The block without the single cells on its top, which are added as paragraphs."""
    start = 0
    is_wide = any(len(row.cells) > 1 for row in block)
    while start < len(block) and len(block[start].cells) == 1 and (is_wide or len(block) == 1):
        out.add("paragraph", next(iter(block[start].cells.values())), page=page)
        start += 1
    return block[start:]


def _abreast(block: list[SheetRow]) -> list[list[SheetRow]]:
    columns = sorted({column for row in block for column in row.cells})
    groups: list[list[int]] = []
    for column in columns:
        if groups and column == groups[-1][-1] + 1:
            groups[-1].append(column)
        else:
            groups.append([column])
    tables = [_part(block, group) for group in groups]
    # A blank column may as well be a narrow one that only sets labels apart from values.
    if len(tables) < 2 or not all(
        len(group) > 1 and _has_header(table, group) for group, table in zip(groups, tables, strict=True)
    ):
        return [block]
    return tables


def _part(block: list[SheetRow], columns: Sequence[int]) -> list[SheetRow]:
    selected = set(columns)
    parts = (SheetRow(row.number, {c: text for c, text in row.cells.items() if c in selected}) for row in block)
    return [row for row in parts if row.cells]


def _has_header(table: list[SheetRow], columns: Sequence[int]) -> bool:
    return is_header([table[0].cells.get(column, "") for column in columns])


def _add_table(out: DocumentBuilder, rows: list[SheetRow], headers: list[SheetRow], page: int) -> SheetRow | None:
    """Add one table, under a header from above if it has none; returns its header."""
    if not rows:
        return None
    columns = sorted({column for row in rows for column in row.cells})
    header = rows[0] if len(columns) > 1 and _has_header(rows, columns) else None
    above = next((header for header in headers if set(columns) <= set(header.cells)), None)
    if header is None and above is not None:
        rows, columns = [above, *rows], sorted(above.cells)
    out.add_table(([row.cells.get(c, "") for c in columns] for row in rows), page=page)
    return header
