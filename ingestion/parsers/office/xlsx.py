"""Excel workbooks: the tables of each sheet, values as Excel shows them."""

import math
import re
from collections.abc import Generator, Iterable, Iterator, Mapping
from contextlib import closing
from datetime import datetime, timedelta
from enum import Enum
from pathlib import Path
from xml.etree.ElementTree import Element
from zipfile import ZipFile

from ingestion.parsers.builder import DocumentBuilder
from ingestion.parsers.errors import FailureReason, ParseFailure
from ingestion.parsers.limits import ParseLimits
from ingestion.parsers.model import HIDDEN_PARTS, ParsedDocument
from ingestion.parsers.office.opc import Relation, main_part, read_root, relation_id, relations
from ingestion.parsers.office.spreadsheet import SheetRow, add_tables
from ingestion.parsers.office.xml import child, name, read_xml, stream_xml
from ingestion.parsers.office.zip import open_zip, read_part, stream_part
from ingestion.parsers.table_grid import MergedLabels


class _Kind(Enum):
    PLAIN = 0
    PERCENT = 1
    DATE = 2
    TIME = 3
    MOMENT = 4
    ELAPSED = 5


# Built-in formats (ECMA-376 part 1, 18.8.30), those of Chinese, Japanese and Korean included.
_BUILT_IN: dict[int, _Kind] = {
    9: _Kind.PERCENT,
    10: _Kind.PERCENT,
    22: _Kind.MOMENT,
    **dict.fromkeys((14, 15, 16, 17, *range(27, 32), 36, *range(50, 55), 57, 58), _Kind.DATE),
    **dict.fromkeys((18, 19, 20, 21, *range(32, 36), 45, 47, 55, 56), _Kind.TIME),
    46: _Kind.ELAPSED,
}
# Literals in a format: quoted, escaped, in brackets, or a blank's width.
_LITERAL = re.compile(r'"[^"]*"|\\.|\[[^\]]*\]|[_*].')
# Elapsed hours, minutes or seconds, such as a sum of working hours.
_ELAPSED = re.compile(r"\[(?:h+|m+|s+)\]", re.IGNORECASE)
_FIRST_DAY = datetime(1899, 12, 30)  # noqa: DTZ001 - cells have no time zone
_FIRST_DAY_1904 = datetime(1904, 1, 1)  # noqa: DTZ001
_DAYS = 2_958_466  # the year 10000


class NumberFormats:
    """Renders stored numbers by the format of their style; ``is_1904``: days are counted from 1904 on."""

    def __init__(self, kinds: Iterable[_Kind], *, is_1904: bool) -> None:
        self._kinds: dict[str, _Kind] = {str(index): kind for index, kind in enumerate(kinds) if kind != _Kind.PLAIN}
        self._first_day = _FIRST_DAY_1904 if is_1904 else _FIRST_DAY

    @classmethod
    def read(cls, styles: bytes | None, *, is_1904: bool) -> "NumberFormats":
        if styles is None:
            return cls((), is_1904=is_1904)
        root = read_xml(styles)
        own: dict[int, _Kind] = {
            _number(node, "numFmtId"): _kind(node.get("formatCode", "")) for node in _children(root, "numFmts")
        }
        ids = (_number(node, "numFmtId") for node in _children(root, "cellXfs"))
        kinds = [own.get(id_) or _BUILT_IN.get(id_, _Kind.PLAIN) for id_ in ids]
        return cls(kinds, is_1904=is_1904)

    def render(self, value: str, style: str) -> str:
        """A number as text: dates and times in ISO 8601, durations in hours, at most 15 significant digits."""
        kind = self._kinds.get(style)
        if kind is None and value.isdigit():
            return value
        try:
            number = float(value)
        except ValueError:
            return value
        if not math.isfinite(number):
            return value
        if kind is None:
            return f"{number:.15g}"
        if kind == _Kind.PERCENT:
            return f"{number * 100:.12g}%"
        if kind == _Kind.ELAPSED:
            return _elapsed(number)
        return self._moment(number, kind) if 0 <= number < _DAYS else f"{number:.15g}"

    def _moment(self, days: float, kind: _Kind) -> str:
        # Excel keeps the day 29 February 1900, which never was.
        is_early = self._first_day is _FIRST_DAY and 0 < days < 60
        try:
            moment = self._first_day + timedelta(days=int(days) + is_early)
        except OverflowError:
            return f"{days:.15g}"
        moment += timedelta(seconds=round((days % 1) * 86_400))
        if kind == _Kind.TIME and days < 1:
            return moment.strftime("%H:%M:%S")
        has_time = kind != _Kind.DATE and (moment.hour or moment.minute or moment.second)
        return moment.isoformat(" ", "minutes") if has_time else moment.date().isoformat()


def _elapsed(days: float) -> str:
    if abs(days) >= _DAYS:
        return f"{days:.15g}"
    minutes, seconds = divmod(round(abs(days) * 86_400), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{'-' if days < 0 else ''}{hours}:{minutes:02}:{seconds:02}"


def _kind(code: str) -> _Kind:
    if _ELAPSED.search(code.partition(";")[0]):
        return _Kind.ELAPSED
    bare = _LITERAL.sub("", code.partition(";")[0]).lower()
    if "general" in bare:
        return _Kind.PLAIN
    has_date = "y" in bare or "d" in bare or (("m" in bare) and "h" not in bare and "s" not in bare)
    has_time = "h" in bare or "s" in bare
    if has_date:
        return _Kind.MOMENT if has_time else _Kind.DATE
    if has_time:
        return _Kind.TIME
    return _Kind.PERCENT if "%" in bare else _Kind.PLAIN


def _children(root: Element, list_name: str) -> Iterable[Element]:
    parent = child(root, list_name)
    return [node for node in parent if name(node) in ("numFmt", "xf")] if parent is not None else []


def _number(node: Element, attribute: str) -> int:
    value = node.get(attribute, "")
    return int(value) if value.isdigit() and len(value) < 9 else 0


_WORKBOOK = "xl/workbook.xml"
# Escapes of characters that XML can't contain, and of a carriage return: ST_Xstring, ECMA-376 part 1, 22.9.2.19.
_ESCAPED = re.compile("_x([0-9A-Fa-f]{4})_")
_MERGED = re.compile(rb'mergeCell ref="([A-Z]{1,3})([0-9]{1,7}):[A-Z]{1,3}([0-9]{1,7})"')
_LONGEST_RANGE = 64
_MOST_MERGED = 100_000


def parse(path: Path, limits: ParseLimits) -> ParsedDocument:
    """Read a .xlsx or .xlsm file; no formula is computed, no macro run, no link followed.

    A sheet's number is the page of its elements, its name a level-1 heading. Each block of filled cells is a table, a
    single cell a paragraph. Dates and percentages are written as the cell shows them; a formula gives its stored
    value. A cell merged over several rows is repeated in each. Hidden sheets are left out, with a warning.
    """
    builder = DocumentBuilder(limits)
    with open_zip(path, limits) as archive:
        main = main_part(archive, _WORKBOOK, limits)
        root = read_root(archive, main, limits)
        parts = relations(archive, main, limits)
        listed = child(root, "sheets")
        sheets = list(listed) if listed is not None else []
        if len(sheets) > limits.pages:
            raise ParseFailure(FailureReason.TOO_MANY_PAGES)
        cells = _cells(archive, root, parts, limits)
        visible = [
            (number, sheet) for number, sheet in enumerate(sheets, 1) if sheet.get("state", "visible") == "visible"
        ]
        for number, sheet in visible:
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
                    add_tables(builder, title, rows, page=number)
    warnings = (HIDDEN_PARTS,) if len(visible) < len(sheets) else ()
    return builder.finish(pages=len(sheets), warnings=warnings)


class _Cells:
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


def _cells(archive: ZipFile, workbook: Element, parts: dict[str, Relation], limits: ParseLimits) -> _Cells:
    names = {relation.kind: relation.part for relation in parts.values()}
    strings = _SharedStrings()
    if (part := names.get("sharedStrings", "")) in archive.NameToInfo:
        for _ in stream_xml(stream_part(archive, part), strings):
            pass
    properties = child(workbook, "workbookPr")
    is_1904 = properties is not None and properties.get("date1904") in ("1", "true")
    styles = read_part(archive, names.get("styles", ""), limits)
    return _Cells(strings.texts, NumberFormats.read(styles, is_1904=is_1904))


class _SharedStrings:
    """Collects the shared strings, without phonetic readings of Chinese and Japanese names."""

    def __init__(self) -> None:
        self.texts: list[str] = []
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
            self.texts.append(_unescaped("".join(self._parts)))
        elif name == "rPh":
            self._readings -= 1
        self._takes = False

    def text(self, data: str) -> None:
        if self._takes:
            self._parts.append(data)


def _unescaped(text: str) -> str:
    return _ESCAPED.sub(lambda match: chr(int(match[1], 16)), text) if "_x" in text else text


def _merged(archive: ZipFile, part: str) -> dict[str, int]:
    """The first cells of ranges merged over several rows, each with the last row.

    They follow the rows, which are streamed. Parsing all of the XML for them would take twice the time, a search
    through its bytes a hundredth.
    """
    labels: dict[str, int] = {}
    before = b""
    with closing(stream_part(archive, part)) as blocks:
        for block in blocks:
            before = before[-_LONGEST_RANGE:] + block
            for column, top, bottom in _MERGED.findall(before):
                if top != bottom and len(labels) < _MOST_MERGED:
                    labels[(column + top).decode("ascii")] = int(bottom)
    return labels


class _Sheet:
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
        """The rows that have text, as a stream."""
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
        letters = reference.rstrip("0123456789")
        column = self._columns.get(letters)
        if column is None:
            column = 0
            for letter in letters[:4].upper():
                column = 26 * column + ord(letter) - 64
            self._columns[letters] = column = column - 1
        return column
