"""HTML: headings, paragraphs, lists, definition lists, tables and code of a page's content."""

import re
from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import Path

from selectolax.lexbor import LexborNode

from ingestion.parsers.builder import DocumentBuilder
from ingestion.parsers.limits import ParseLimits
from ingestion.parsers.model import ParsedDocument
from ingestion.parsers.table_grid import TableCell, spread_merged_cells
from ingestion.parsers.text.charset import DecodedText, codec_for_label, decode
from ingestion.parsers.text_cleanup import BREAK, flow, flow_lines
from ingestion.parsers.web.html_tree import (
    BLOCK_TAGS,
    build_tree,
    flat_text,
    has_class,
    is_content,
    is_navigation_text,
    layout_tables,
)

_CHARSET = re.compile(rb"""(?:charset|encoding)\s*=\s*["']?\s*([A-Za-z0-9_:.-]{2,40})""")
_HEAD = 4096
_HEADINGS = {f"h{level}": level for level in range(1, 7)}
_LISTS = frozenset({"ul", "ol", "dl", "menu", "dir"})
_CELLS = frozenset({"td", "th"})
_ASIDES = frozenset({"note", "tip", "important", "caution", "warning", "admonition"})


def parse(path: Path, limits: ParseLimits) -> ParsedDocument:
    """Read a page; navigation, scripts, styles and hidden parts are left out.

    Manuals made by DocBook, Publican, Sphinx and Texinfo are read without their headers and footers. A page of only
    navigation (a table of contents) keeps it. The page's ``<title>`` is its level-1 heading where the body has no
    ``<h1>``.
    """
    decoded = decode_page(path.read_bytes())
    builder = read(decoded.text, limits)
    return builder.finish(encoding=decoded.encoding, confidence=decoded.confidence, warnings=decoded.warnings)


def decode_page(data: bytes) -> DecodedText:
    """The text of a page, by its declared encoding if its bytes fit that."""
    match = _CHARSET.search(data[:_HEAD])
    return decode(data, declared=codec_for_label(match[1].decode("ascii")) if match else None)


def read(text: str, limits: ParseLimits) -> DocumentBuilder:
    """The blocks of a page or a fragment."""
    tree = build_tree(text)
    root = tree.root
    builder = DocumentBuilder(limits)
    if root is None:
        return builder
    title = tree.css_first("head > title")
    heading = flow(title.text()) if title is not None and tree.css_first("h1") is None else ""
    for navigation in (False, True):
        builder = DocumentBuilder(limits)
        _HtmlReader(builder, root, title=heading, navigation=navigation).read()
        if builder.has_body:
            break
    return builder


def table_rows(markup: str) -> Iterator[list[str]]:
    """The rows of the data tables of a fragment, by column; a table in a cell belongs to the text of that cell."""
    for table in build_tree(markup).css("table"):
        if not _is_inside(table, "table"):
            yield from spread_merged_cells(_rows(table))


def _is_inside(node: LexborNode, tag: str) -> bool:
    parent = node.parent
    while parent is not None and parent.tag != tag:
        parent = parent.parent
    return parent is not None


class _HtmlReader:
    """One pass over a tree in document order; text accumulates until a block begins or ends."""

    def __init__(self, builder: DocumentBuilder, root: LexborNode, *, title: str, navigation: bool) -> None:
        self._out = builder
        self._root = root
        self._title = title
        self._navigation = navigation
        self._layout = layout_tables(root)
        self._text: list[str] = []
        self._terms: list[str] = []
        self._prefix = ""
        self._item = False
        self._counters: list[int | None] = []
        self._asides: list[int] = []

    def read(self) -> None:
        titles = {flow(node.text()) for node in self._root.css("h2, h3, h4")}
        if self._title and self._title not in titles:
            self._out.add("heading", self._title, level=1)
        for node, entering in self._walk():
            if entering:
                self._enter(node)
            else:
                self._leave(node)
        self._settle()

    def _walk(self) -> Iterator[tuple[LexborNode, bool]]:
        """Each content node as it begins and as it ends."""
        node: LexborNode | None = self._root
        while node is not None:
            if node.is_text_node:
                self._text.append(node.text_content or "")
            elif self._is_branch(node):
                yield node, True
                if node.child is not None:
                    node = node.child
                    continue
                yield node, False
            while node is not None and node.next is None:
                node = node.parent
                if node is not None:
                    yield node, False
            node = node.next if node is not None else None

    def _is_branch(self, node: LexborNode) -> bool:
        """Whether to go below a node; atomic nodes are read here."""
        if node.tag in ("-document", "html"):
            return True
        if not node.is_element_node or not is_content(node, navigation=self._navigation):
            return False
        if node.tag == "pre":
            self._settle()
            self._out.add("code", node.text())
            return False
        # DocBook sets a note as a table: icon, title and text.
        if node.tag == "table" and node.mem_id not in self._layout and not self._asides:
            self._add_table(node)
            return False
        return True

    def _add_table(self, table: LexborNode) -> None:
        self._settle()
        caption = table.css_first("caption")
        if caption is not None:
            self._out.add("paragraph", flow(flat_text(caption)))
        self._out.add_table(spread_merged_cells(filter(self._is_row, _rows(table))))

    def _is_row(self, cells: Sequence[TableCell]) -> bool:
        return self._navigation or not is_navigation_text(" ".join(cell.text for cell in cells))

    def _enter(self, node: LexborNode) -> None:
        tag = node.tag or ""
        if tag == "br":
            self._text.append(BREAK)
        elif tag == "img" and not self._asides:
            self._text.append(node.attributes.get("alt") or "")
        elif tag in _HEADINGS or tag in _LISTS or tag in ("li", "dt"):
            self._begin(node, tag)
        elif tag == "dd":
            self._flush()
            self._prefix = f"{', '.join(self._terms)}: " if self._terms else ""
            self._item = True
        elif tag in BLOCK_TAGS:
            self._flush()
            if has_class(node, _ASIDES):
                self._asides.append(node.mem_id)

    def _begin(self, node: LexborNode, tag: str) -> None:
        if tag == "dt":
            self._flush()
            return
        self._settle()
        if tag in _LISTS:
            start = node.attributes.get("start") or "1"
            first = int(start) if start.isascii() and start[:9].isdigit() else 1
            self._counters.append(first if tag == "ol" else None)
        elif tag == "li":
            number = self._counters[-1] if self._counters else None
            self._prefix = "- " if number is None else f"{number}. "
            if number is not None:
                self._counters[-1] = number + 1
            self._item = True

    def _leave(self, node: LexborNode) -> None:
        tag = node.tag or ""
        if tag in _HEADINGS or (tag == "th" and self._asides):
            self._add_heading(_HEADINGS.get(tag, 1))
        elif tag == "dt":
            self._terms += filter(None, [self._take()])
        elif tag in _LISTS:
            self._settle()
            if self._counters:
                self._counters.pop()
        elif tag in ("li", "dd"):
            self._settle()
        elif tag in BLOCK_TAGS:
            self._flush()
            if self._asides and self._asides[-1] == node.mem_id:
                self._asides.pop()

    def _add_heading(self, level: int) -> None:
        text = self._take()
        if self._asides:
            # The title of a note inside a section is not a heading of what follows the note.
            self._prefix = f"{text}: " if text else ""
        elif text:
            self._out.add("heading", text, level=1 if text == self._title else level)

    def _take(self) -> str:
        text = flow_lines("".join(self._text))
        self._text.clear()
        return text

    def _flush(self) -> None:
        """End a block: add the accumulated text, under its marker or term if it is first."""
        text = self._take()
        if not text or (not self._navigation and is_navigation_text(text)):
            return
        level = max(1, len(self._counters)) if self._item else 0
        kind = "list_item" if self._item else "paragraph"
        self._out.add(kind, self._prefix + text, level=level)
        self._prefix, self._item = "", False
        self._terms.clear()

    def _settle(self) -> None:
        self._flush()
        if self._terms:
            self._out.add("list_item", ", ".join(self._terms), level=max(1, len(self._counters)))
        self._terms.clear()
        self._prefix, self._item = "", False


def _rows(table: LexborNode) -> Iterator[list[TableCell]]:
    """The cells of a table's rows; none extends beyond its head, body or foot."""
    for _, section in groupby(table.css("tr"), key=_section):
        rows = list(section)
        for number, row in enumerate(rows):
            left = len(rows) - number
            yield [_cell(node, left) for node in row.iter() if node.tag in _CELLS]


def _section(row: LexborNode) -> int:
    return row.parent.mem_id if row.parent is not None else 0


def _cell(node: LexborNode, left: int) -> TableCell:
    text, attributes = flow(flat_text(node)), node.attributes
    if not attributes:
        return TableCell(text)
    # A row span of 0 covers all remaining rows.
    rows = min(_span(attributes.get("rowspan")) or left, left)
    return TableCell(text, _span(attributes.get("colspan")), rows)


def _span(value: str | None) -> int:
    value = (value or "").strip()
    return int(value) if value.isascii() and value.isdigit() and len(value) < 6 else 1
