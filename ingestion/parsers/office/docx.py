"""Word documents: headings, paragraphs, lists, tables and notes in document order."""

from collections.abc import Iterator
from pathlib import Path
from xml.etree.ElementTree import Element

from ingestion.parsers.builder import Composition
from ingestion.parsers.errors import FailureReason, ParseFailure
from ingestion.parsers.limits import Limits
from ingestion.parsers.model import Parsed
from ingestion.parsers.office.opc import main_part, read_root
from ingestion.parsers.office.word_styles import Style, read_styles
from ingestion.parsers.office.xml import attribute, child, name, read_xml
from ingestion.parsers.office.zip import open_archive, read_part
from ingestion.parsers.table_grid import Cell, spread
from ingestion.parsers.text_cleanup import BREAK, flow, flow_lines

_DOCUMENT = "word/document.xml"
_NOTES = ("word/footnotes.xml", "word/endnotes.xml")
_SEPARATORS = frozenset({"separator", "continuationSeparator", "continuationNotice"})
# Parts of a paragraph that are no text of it, a second rendering of the same text, or the readings
# of characters.
_SKIPPED = frozenset(
    {"pPr", "rPr", "del", "moveFrom", "instrText", "delText", "Fallback", "txbxContent", "rt"}
)
_TRANSPARENT = frozenset({"sdt", "sdtContent", "ins", "moveTo", "customXml", "smartTag", "body"})
_DEEPEST = 40


def parse(path: Path, limits: Limits) -> Parsed:
    """Read a .docx or .docm file; nothing in it is run, fetched or unpacked to disk.

    Headings are told by style name in any of a dozen languages, or by outline level. Deleted and
    hidden text is left out; footnotes and endnotes follow the body.
    """
    composition = Composition(limits)
    with open_archive(path, limits) as archive:
        root = read_root(archive, main_part(archive, _DOCUMENT, limits), limits)
        styles = read_styles(read_part(archive, "word/styles.xml", limits))
        _Reader(composition, styles).read(root)
        for part in _NOTES:
            notes = read_part(archive, part, limits)
            if notes is not None:
                _Reader(composition, styles).read_notes(read_xml(notes))
    return composition.finish()


class _Reader:
    """Turns the parts of a Word document into elements."""

    def __init__(self, out: Composition, styles: dict[str, Style]) -> None:
        self._out = out
        self._styles = styles

    def read(self, root: Element) -> None:
        self._read_blocks(root, 0)

    def read_notes(self, root: Element) -> None:
        for note in root:
            if attribute(note, "type") not in _SEPARATORS:
                self._read_blocks(note, 0)

    def _read_blocks(self, parent: Element, depth: int) -> None:
        if depth > _DEEPEST:
            raise ParseFailure(FailureReason.TOO_COMPLEX)
        for block in parent:
            kind = name(block)
            if kind == "p":
                self._add_paragraph(block, depth)
            elif kind == "tbl":
                self._add_table(block, depth)
            elif kind in _TRANSPARENT:
                self._read_blocks(block, depth + 1)

    def _add_paragraph(self, paragraph: Element, depth: int) -> None:
        properties = child(paragraph, "pPr")
        style = self._style(properties)
        text = flow_lines(_text(paragraph))
        if style.is_contents:
            return
        if style.heading:
            self._out.add("heading", text.replace("\n", " "), level=style.heading)
        elif text and style.list_level:
            self._out.add("list_item", f"- {text}", level=style.list_level)
        else:
            self._out.add("paragraph", text)
        for box in _text_boxes(paragraph):
            self._read_blocks(box, depth + 1)

    def _style(self, properties: Element | None) -> Style:
        """The paragraph's style with what the paragraph itself says about outline and list."""
        if properties is None:
            return self._styles.get("", Style())
        named = child(properties, "pStyle")
        identifier = attribute(named, "val") if named is not None else ""
        return self._styles.get(identifier or "", Style()).with_properties(properties)

    def _add_table(self, table: Element, depth: int) -> None:
        rows = [list(_below(row, "tc", depth)) for row in _below(table, "tr", depth)]
        if len(rows) == 1 and len(rows[0]) == 1:
            # A frame around text.
            self._read_blocks(rows[0][0], depth + 1)
            return
        self._out.add_table(spread(map(_cell, row) for row in rows))


def _below(parent: Element, wanted: str, depth: int) -> Iterator[Element]:
    """The rows or cells of a table, also those within content controls and tracked changes."""
    if depth > _DEEPEST:
        raise ParseFailure(FailureReason.TOO_COMPLEX)
    for part in parent:
        if name(part) == wanted:
            yield part
        elif name(part) in _TRANSPARENT:
            yield from _below(part, wanted, depth + 1)


def _cell(node: Element) -> Cell:
    properties = child(node, "tcPr")
    if properties is None:
        return Cell(_cell_text(node))
    span, merge = child(properties, "gridSpan"), child(properties, "vMerge")
    columns = attribute(span, "val") if span is not None else ""
    continues = merge is not None and attribute(merge, "val") != "restart"
    width = int(columns) if columns.isdecimal() and len(columns) < 6 else 1
    return Cell(_cell_text(node), width, continues=continues)


def _cell_text(cell: Element) -> str:
    """A cell's paragraphs, those of nested tables included, on one line."""
    return flow(" ".join(_text(part) for part in cell.iter() if name(part) == "p"))


def _text_boxes(paragraph: Element) -> list[Element]:
    """The text boxes anchored in a paragraph; of two renderings the first."""
    found: list[Element] = []
    waiting = [paragraph]
    while waiting:
        node = waiting.pop()
        if name(node) == "txbxContent":
            found.append(node)
        elif name(node) != "Fallback":
            waiting.extend(reversed(node))
    return found


def _text(paragraph: Element) -> str:
    """The visible text of a paragraph; forced line breaks as ``BREAK``."""
    parts: list[str] = []
    waiting = [paragraph]
    while waiting:
        node = waiting.pop()
        kind = name(node)
        if kind == "t":
            parts.append(node.text or "")
        elif kind == "tab":
            parts.append("\t")
        elif kind in ("br", "cr"):
            parts.append(BREAK)
        elif kind == "noBreakHyphen":
            parts.append("-")
        elif kind not in _SKIPPED and not (kind == "r" and _is_hidden(node)):
            waiting.extend(reversed(node))
    return "".join(parts)


def _is_hidden(run: Element) -> bool:
    properties = child(run, "rPr")
    vanish = child(properties, "vanish") if properties is not None else None
    return vanish is not None and attribute(vanish, "val") not in ("0", "false", "off")
