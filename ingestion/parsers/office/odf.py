"""OpenDocument text, presentations and spreadsheets: odt, odp and ods."""

from collections.abc import Callable, Iterator
from itertools import repeat
from pathlib import Path
from xml.etree.ElementTree import Element

from ingestion.parsers.builder import DocumentBuilder
from ingestion.parsers.errors import FailureReason, ParseFailure
from ingestion.parsers.limits import ParseLimits
from ingestion.parsers.model import ParsedDocument
from ingestion.parsers.office.opc import read_root
from ingestion.parsers.office.spreadsheet import SheetRow, add_tables
from ingestion.parsers.office.xml import attribute, child, name, read_xml
from ingestion.parsers.office.zip import open_zip, read_part
from ingestion.parsers.table_grid import MergedLabels, TableCell, spread_merged_cells
from ingestion.parsers.text_cleanup import BREAK, flow, flow_lines

_CONTENT = "content.xml"
_MANIFEST = "META-INF/manifest.xml"
_TRANSPARENT = frozenset(
    {
        *("text", "section", "index-body", "frame", "text-box", "g", "custom-shape", "rect", "a"),
        *("bibliography", "user-index", "notes"),
    }
)
_ROW_GROUPS = frozenset({"table-rows", "table-header-rows", "table-row-group"})
_CELLS = frozenset({"table-cell", "covered-table-cell"})
# Parts of a paragraph that are no text of it; notes and frames are read after it.
_SKIPPED = frozenset({"annotation", "note", "frame", "custom-shape", "ruby-text", "tracked-changes"})
_TITLES = frozenset({"Title", "标题", "標題"})
_MOST_BLANKS = 80
_MOST_REPEATS = 16_384
_DEEPEST = 40


def parse(path: Path, limits: ParseLimits) -> ParsedDocument:
    """Read an .odt, .odp or .ods file; nothing in it is run, fetched or unpacked to disk.

    Headings have their outline level. In presentations and spreadsheets a slide's or sheet's number is the page of its
    elements; a sheet's name and a slide's title are level-1 headings. Tables of contents, comments and deleted text
    are left out; footnotes follow the text.
    """
    with open_zip(path, limits) as archive:
        manifest = read_part(archive, _MANIFEST, limits)
        if manifest and any(name(n) == "encryption-data" for n in read_xml(manifest).iter()):
            raise ParseFailure(FailureReason.PASSWORD_PROTECTED)
        root = read_root(archive, _CONTENT, limits)
    builder = DocumentBuilder(limits)
    outer = child(root, "body")
    body = next(iter(outer), None) if outer is not None else None
    pages: int | None = None
    if body is not None:
        reader = _OdfReader(builder, _parents(root))
        if name(body) == "presentation":
            pages = _read_pages(reader.read_slide, body, "page", limits)
        elif name(body) == "spreadsheet":
            pages = _read_pages(reader.read_sheet, body, "table", limits)
        else:
            reader.read(body)
    return builder.finish(pages=pages)


def _read_pages(read: Callable[[Element, int], None], body: Element, kind: str, limits: ParseLimits) -> int:
    pages = [node for node in body if name(node) == kind]
    if len(pages) > limits.pages:
        raise ParseFailure(FailureReason.TOO_MANY_PAGES)
    for number, page in enumerate(pages, 1):
        read(page, number)
    return len(pages)


def _parents(root: Element) -> dict[str, str]:
    styles = child(root, "automatic-styles")
    return {
        attribute(style, "name"): attribute(style, "parent-style-name")
        for style in (styles if styles is not None else ())
    }


class _OdfReader:
    def __init__(self, out: DocumentBuilder, parents: dict[str, str]) -> None:
        self._out = out
        self._parents = parents
        self._page: int | None = None
        self._notes: list[Element] = []

    def read(self, body: Element) -> None:
        self._read_blocks(body, 0, 0)
        # Reading a note may find further ones.
        for note in self._notes:
            self._read_blocks(note, 0, 0)

    def read_slide(self, page: Element, number: int) -> None:
        """Add one slide: its title first, then the rest in drawing order, notes at the end."""
        self._page = number
        title = next((node for node in page if _class(node) == "title"), None)
        if title is not None:
            words = " ".join(_text(node) for node in title.iter() if name(node) in ("p", "h"))
            self._add_heading(words, 1)
        for shape in page:
            if shape is not title:
                self._read_blocks([shape], 0, 0)

    def read_sheet(self, sheet: Element, number: int) -> None:
        add_tables(self._out, attribute(sheet, "name"), _sheet_rows(sheet), page=number)

    def _read_blocks(self, parent: Element | list[Element], depth: int, level: int) -> None:
        """Add the blocks below an element; ``level`` is that of the list they stand in."""
        if depth > _DEEPEST:
            raise ParseFailure(FailureReason.TOO_COMPLEX)
        for block in parent:
            kind = name(block)
            if kind == "h":
                outline = attribute(block, "outline-level")
                self._add_heading(_text(block), int(outline) if outline.isdecimal() else 1)
            elif kind == "p":
                self._add_paragraph(block, depth, level)
            elif kind == "list":
                for item in block:
                    self._read_blocks(item, depth + 1, level + 1)
            elif kind == "table":
                rows = (row for row, _ in _table_rows(block, 0))
                self._out.add_table(spread_merged_cells(map(_cells_of, rows)), page=self._page)
            elif kind in _TRANSPARENT:
                self._read_blocks(block, depth + 1, level)

    def _add_heading(self, text: str, level: int) -> None:
        text = flow_lines(text).replace("\n", " ")
        self._out.add("heading", text, level=max(1, level), page=self._page)

    def _add_paragraph(self, paragraph: Element, depth: int, level: int) -> None:
        text = flow_lines(_text(paragraph))
        style = attribute(paragraph, "style-name")
        if self._page is None and self._parents.get(style, style) in _TITLES:
            self._add_heading(text, 1)
        elif text and level:
            self._out.add("list_item", f"- {text}", level=level, page=self._page)
        else:
            self._out.add("paragraph", text, page=self._page)
        for node in paragraph.iter():
            if name(node) == "note-body":
                self._notes.append(node)
            elif name(node) == "text-box":
                self._read_blocks(node, depth + 1, 0)


def _class(shape: Element) -> str:
    """The class of a slide's shape: ``title``, ``outline``, ``notes``, ..."""
    return next((value for key, value in shape.attrib.items() if key.endswith("}class")), "")


def _text(paragraph: Element) -> str:
    parts: list[str] = []
    waiting: list[Element | str] = [paragraph]
    while waiting:
        node = waiting.pop()
        if isinstance(node, str):
            parts.append(node)
            continue
        kind = name(node)
        if kind == "s":
            count = attribute(node, "c")
            parts.append(" " * min(int(count) if count.isdecimal() else 1, _MOST_BLANKS))
        elif kind == "tab":
            parts.append("\t")
        elif kind == "line-break":
            parts.append(BREAK)
        elif kind not in _SKIPPED:
            parts.append(node.text or "")
            for inner in reversed(node):
                waiting += [inner.tail or "", inner]
    return "".join(parts)


def _cell_text(cell: Element) -> str:
    return flow(" ".join(_text(node) for node in cell.iter() if name(node) in ("p", "h")))


def _table_rows(table: Element, depth: int) -> Iterator[tuple[Element, int]]:
    if depth > _DEEPEST:
        raise ParseFailure(FailureReason.TOO_COMPLEX)
    for part in table:
        if name(part) == "table-row":
            yield part, _repeats(part, "number-rows-repeated")
        elif name(part) in _ROW_GROUPS:
            yield from _table_rows(part, depth + 1)


def _cells_of(row: Element) -> Iterator[TableCell]:
    """The cells of a row; covered cells are recognised by the cells that cover them."""
    for node in row:
        if name(node) == "table-cell":
            columns = _repeats(node, "number-columns-spanned")
            cell = TableCell(_cell_text(node), columns, _repeats(node, "number-rows-spanned"))
            yield from repeat(cell, min(_repeats(node, "number-columns-repeated"), _MOST_REPEATS))


def _sheet_rows(sheet: Element) -> Iterator[SheetRow]:
    labels = MergedLabels()
    number = 0
    for row, repeats in _table_rows(sheet, 0):
        cells: dict[int, str] = {}
        column = 0
        for cell in row:
            if name(cell) not in _CELLS:
                continue
            width = _repeats(cell, "number-columns-repeated")
            text = _cell_text(cell)
            if text:
                cells.update((at, text) for at in range(column, column + min(width, _MOST_REPEATS)))
                if (height := _repeats(cell, "number-rows-spanned")) > 1:
                    labels.hang(column, number + height, text)
            column += width
        if cells:
            labels.write(number + 1, cells)
            for copy in range(min(repeats, _MOST_REPEATS)):
                yield SheetRow(number + copy + 1, cells)
        number += repeats


def _repeats(node: Element, name_: str) -> int:
    value = attribute(node, name_)
    return int(value) if value.isdecimal() and 0 < len(value) < 9 else 1
