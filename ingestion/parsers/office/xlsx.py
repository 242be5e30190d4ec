"""Excel workbooks: the tables of each sheet, values as a person sees them."""

import re
from collections.abc import Generator, Iterator, Mapping
from contextlib import closing
from pathlib import Path
from xml.etree.ElementTree import Element
from zipfile import ZipFile

from ingestion.parsers.builder import DocumentBuilder
from ingestion.parsers.errors import FailureReason, ParseFailure
from ingestion.parsers.limits import ParseLimits
from ingestion.parsers.model import HIDDEN_PARTS, ParsedDocument
from ingestion.parsers.office.number_formats import NumberFormats
from ingestion.parsers.office.opc import Relation, main_part, read_root, relation_id, relations
from ingestion.parsers.office.spreadsheet import SheetRow, add_tables
from ingestion.parsers.office.xml import child, stream_xml
from ingestion.parsers.office.zip import open_zip, read_part, stream_part
from ingestion.parsers.table_grid import MergedLabels

_WORKBOOK = "xl/workbook.xml"
# What XML can't hold, and a carriage return: ST_Xstring, ECMA-376 part 1, 22.9.2.19.
_ESCAPED = re.compile("_x([0-9A-Fa-f]{4})_")
_MERGED = re.compile(rb'mergeCell ref="([A-Z]{1,3})([0-9]{1,7}):[A-Z]{1,3}([0-9]{1,7})"')
_LONGEST_RANGE = 64
_MOST_MERGED = 100_000


def parse(path: Path, limits: ParseLimits) -> ParsedDocument:
    """Read a .xlsx or .xlsm file; no formula is computed, no macro run, no link followed.

    A sheet's number is the page of its elements, its name a level-1 heading. Each block of filled
    cells is a table, a lone cell a paragraph. Dates and percentages are written as the cell shows
    them; a formula gives the value stored with it. A merged cell over several rows stands in each of
    them. Hidden sheets are left out, with a warning.
    """
    composition = DocumentBuilder(limits)
    with open_zip(path, limits) as archive:
        main = main_part(archive, _WORKBOOK, limits)
        root = read_root(archive, main, limits)
        parts = relations(archive, main, limits)
        listed = child(root, "sheets")
        sheets = list(listed) if listed is not None else []
        if len(sheets) > limits.pages:
            raise ParseFailure(FailureReason.TOO_MANY_PAGES)
        cells = _cells(archive, root, parts, limits)
        shown = [
            (number, sheet)
            for number, sheet in enumerate(sheets, 1)
            if sheet.get("state", "visible") == "visible"
        ]
        for number, sheet in shown:
            part = parts.get(relation_id(sheet))
            # A chart sheet has no cells.
            if part is not None and part.kind == "worksheet":
                title = sheet.get("name", "")
                merged = _merged(archive, part.part)
                # Closed by hand: a failure's traceback would keep the part open.
                with (
                    closing(stream_part(archive, part.part)) as blocks,
                    closing(_Sheet(cells, merged).rows(blocks)) as rows,
                ):
                    add_tables(composition, title, rows, page=number)
    warnings = (HIDDEN_PARTS,) if len(shown) < len(sheets) else ()
    return composition.finish(pages=len(sheets), warnings=warnings)


class _Cells:
    """What the cells of all sheets refer to: shared strings and number formats."""

    def __init__(self, strings: list[str], formats: NumberFormats) -> None:
        self._strings = strings
        self._formats = formats

    def text(self, kind: str, style: str, value: str) -> str:
        """A cell's text by its type (``t``), style and stored value."""
        if kind == "n":
            return self._formats.render(value, style)
        if kind == "s":
            index = int(value) if value.isdigit() and len(value) < 10 else -1
            return self._strings[index] if 0 <= index < len(self._strings) else ""
        if kind == "b":
            return "TRUE" if value == "1" else "FALSE"
        return _unescaped(value)


def _cells(
    archive: ZipFile, workbook: Element, parts: dict[str, Relation], limits: ParseLimits
) -> _Cells:
    names = {relation.kind: relation.part for relation in parts.values()}
    strings = _SharedStrings()
    if (part := names.get("sharedStrings", "")) in archive.NameToInfo:
        for _ in stream_xml(stream_part(archive, part), strings):
            pass
    properties = child(workbook, "workbookPr")
    is_1904 = properties is not None and properties.get("date1904") in ("1", "true")
    styles = read_part(archive, names.get("styles", ""), limits)
    return _Cells(strings.found, NumberFormats.read(styles, is_1904=is_1904))


class _SharedStrings:
    """Collects the shared strings; readings of Chinese and Japanese names are left out."""

    def __init__(self) -> None:
        self.found: list[str] = []
        self._parts: list[str] = []
        self._takes = False
        self._readings = 0

    def start(self, name: str, attributes: dict[str, str]) -> None:
        if name == "si":
            self._parts = []
        elif name == "rPh":
            self._readings += 1
        self._takes = name == "t" and not self._readings

    def end(self, name: str) -> None:
        if name == "si":
            self.found.append(_unescaped("".join(self._parts)))
        elif name == "rPh":
            self._readings -= 1
        self._takes = False

    def text(self, data: str) -> None:
        if self._takes:
            self._parts.append(data)


def _unescaped(text: str) -> str:
    """A text in which no character is written by its number."""
    return _ESCAPED.sub(lambda found: chr(int(found[1], 16)), text) if "_x" in text else text


def _merged(archive: ZipFile, part: str) -> dict[str, int]:
    """The first cells of the merged ranges that have several rows, each with the last row.

    They stand behind the rows, which are read one by one. To read all of the XML for them before
    would take twice the time, to look through its bytes a hundredth.
    """
    found: dict[str, int] = {}
    before = b""
    with closing(stream_part(archive, part)) as blocks:
        for block in blocks:
            before = before[-_LONGEST_RANGE:] + block
            for column, top, bottom in _MERGED.findall(before):
                if top != bottom and len(found) < _MOST_MERGED:
                    found[(column + top).decode("ascii")] = int(bottom)
    return found


class _Sheet:
    """Reads the cells of one sheet row by row."""

    def __init__(self, cells: _Cells, merged: Mapping[str, int]) -> None:
        self._cells = cells
        self._merged = merged
        self._labels = MergedLabels()
        self._reference = ""
        self._done: list[SheetRow] = []
        self._row = SheetRow(0, {})
        self._column = -1
        self._columns: dict[str, int] = {}
        self._kind = "n"
        self._style = ""
        self._value: list[str] = []
        self._formula: list[str] = []
        self._into: list[str] | None = None

    def rows(self, blocks: Iterator[bytes]) -> Generator[SheetRow]:
        """The rows that have text, as they come in."""
        for _ in stream_xml(blocks, self):
            yield from self._done
            self._done.clear()

    def start(self, name: str, attributes: dict[str, str]) -> None:
        if name == "c":
            reference = attributes.get("r", "")
            self._reference = reference
            self._column = self._index(reference) if reference else self._column + 1
            self._kind = attributes.get("t", "n")
            self._style = attributes.get("s", "")
            self._value, self._formula = [], []
        elif name in ("v", "t"):
            self._into = self._value
        elif name == "f":
            self._into = self._formula
        elif name == "row":
            number = attributes.get("r", "")
            is_number = number.isdigit() and len(number) < 9
            self._row = SheetRow(int(number) if is_number else self._row.number + 1, {})
            self._column = -1

    def end(self, name: str) -> None:
        if name == "c":
            self._end_cell()
        elif name == "row":
            if self._row.cells:
                self._labels.write(self._row.number, self._row.cells)
                self._done.append(self._row)
        elif name in ("v", "t", "f"):
            self._into = None

    def text(self, data: str) -> None:
        if self._into is not None:
            self._into.append(data)

    def _end_cell(self) -> None:
        if self._value:
            text = self._cells.text(self._kind, self._style, "".join(self._value))
        else:
            # Written by a program that does not compute: the formula is all there is.
            text = f"={''.join(self._formula)}" if self._formula else ""
        if text and not text.isspace():
            self._row.cells[self._column] = text
            if self._reference in self._merged:
                self._labels.hang(self._column, self._merged[self._reference], text)

    def _index(self, reference: str) -> int:
        """The column of a reference such as ``AB12``, from 0."""
        letters = reference.rstrip("0123456789")
        known = self._columns.get(letters)
        if known is None:
            known = 0
            for letter in letters[:4].upper():
                known = 26 * known + ord(letter) - 64
            self._columns[letters] = known = known - 1
        return known
