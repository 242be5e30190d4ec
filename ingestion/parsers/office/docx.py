"""Word documents: headings, paragraphs, lists, tables and notes in document order."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from xml.etree.ElementTree import Element

from ingestion.parsers.builder import DocumentBuilder
from ingestion.parsers.errors import FailureReason, ParseFailure
from ingestion.parsers.limits import ParseLimits
from ingestion.parsers.model import ParsedDocument
from ingestion.parsers.office.opc import main_part, read_root
from ingestion.parsers.office.xml import attribute, child, name, read_xml
from ingestion.parsers.office.zip import open_zip, read_part
from ingestion.parsers.table_grid import TableCell, spread_merged_cells
from ingestion.parsers.text_cleanup import BREAK, flow, flow_lines

# Built-in names are stored in English by Word itself and localised by other programs.
_HEADING = re.compile(
    r"(?:heading|标题|標題|見出し|제목|überschrift|titre|título|titulo|titolo|заголовок|kop|"
    r"nagłówek|rubrik|overskrift|otsikko|başlık|nadpis|címsor|tiêu đề|عنوان)\s*([1-9])$",
    re.IGNORECASE,
)
_TITLES = frozenset({"title", "标题", "標題", "表題", "제목", "titel", "titre", "título", "titolo"})
_LIST = re.compile(r"list (?:bullet|number|continue) ([2-9])$", re.IGNORECASE)
_CONTENTS = re.compile(r"(?:toc|目录|目錄|目次|verzeichnis|tm|tdc)\s*\d$", re.IGNORECASE)
_BODY_TEXT_LEVEL = 9
_MOST_PARENTS = 12


@dataclass(frozen=True, slots=True)
class Style:
    """A paragraph style.

    Attributes:
        heading: Level of the heading, 0 for none.
        list_level: Level of the list item, 0 for none.
        is_contents: Whether it is a line of a generated table of contents.
    """

    heading: int = 0
    list_level: int = 0
    is_contents: bool = False

    def with_properties(self, properties: Element) -> "Style":
        """The style overridden by a ``pPr`` element."""
        heading, list_level = self.heading, self.list_level
        outline = _number(child(properties, "outlineLvl"))
        if outline is not None:
            heading = outline + 1 if outline < _BODY_TEXT_LEVEL else 0
        numbering = child(properties, "numPr")
        if numbering is not None:
            is_off = _number(child(numbering, "numId")) == 0
            list_level = 0 if is_off else (_number(child(numbering, "ilvl")) or 0) + 1
        return replace(self, heading=heading, list_level=list_level)


def read_styles(content: bytes | None) -> dict[str, Style]:
    """The paragraph styles by id; the default style has the empty id."""
    if content is None:
        return {}
    nodes = {attribute(node, "styleId"): node for node in read_xml(content) if name(node) == "style"}
    styles: dict[str, Style] = {}
    for identifier, node in nodes.items():
        style = _resolve(node, nodes)
        styles[identifier] = style
        if attribute(node, "default") in ("1", "true") and attribute(node, "type") == "paragraph":
            styles[""] = style
    return styles


def _resolve(node: Element, nodes: dict[str, Element]) -> Style:
    chain = [node]
    while len(chain) < _MOST_PARENTS:
        based_on = child(chain[-1], "basedOn")
        parent = nodes.get(attribute(based_on, "val")) if based_on is not None else None
        if parent is None:
            break
        chain.append(parent)
    style = Style()
    for ancestor in reversed(chain):
        properties = child(ancestor, "pPr")
        if properties is not None:
            style = style.with_properties(properties)
        style = _with_name(style, ancestor)
    return style


def heading_level(label: str) -> int:
    """The heading level that a style's name implies, 0 for none."""
    heading = _HEADING.match(label.strip())
    if heading is not None:
        return int(heading[1])
    return 1 if label.strip().lower() in _TITLES else 0


def _with_name(style: Style, node: Element) -> Style:
    name_node = child(node, "name")
    label = attribute(name_node, "val").strip() if name_node is not None else ""
    if level := heading_level(label):
        return replace(style, heading=level)
    if item := _LIST.match(label):
        return replace(style, list_level=int(item[1]))
    if _CONTENTS.match(label):
        return replace(style, heading=0, is_contents=True)
    return style


def _number(node: Element | None) -> int | None:
    value = attribute(node, "val") if node is not None else ""
    return int(value) if value.isdigit() and len(value) < 6 else None


_DOCUMENT = "word/document.xml"
_NOTES = ("word/footnotes.xml", "word/endnotes.xml")
_SEPARATORS = frozenset({"separator", "continuationSeparator", "continuationNotice"})
# Parts of a paragraph that are no text of it, a second rendering of the same text, or the readings of characters.
_SKIPPED = frozenset({"pPr", "rPr", "del", "moveFrom", "instrText", "delText", "Fallback", "txbxContent", "rt"})
_TRANSPARENT = frozenset({"sdt", "sdtContent", "ins", "moveTo", "customXml", "smartTag", "body"})
_DEEPEST = 40


def parse(path: Path, limits: ParseLimits) -> ParsedDocument:
    """Read a .docx or .docm file; nothing in it is run, fetched or unpacked to disk.

    Headings are recognised by style name in any of a dozen languages, or by outline level. Deleted and hidden text is
    left out; footnotes and endnotes follow the body.
    """
    builder = DocumentBuilder(limits)
    with open_zip(path, limits) as archive:
        root = read_root(archive, main_part(archive, _DOCUMENT, limits), limits)
        styles = read_styles(read_part(archive, "word/styles.xml", limits))
        _DocxReader(builder, styles).read(root)
        for part in _NOTES:
            notes = read_part(archive, part, limits)
            if notes is not None:
                _DocxReader(builder, styles).read_notes(read_xml(notes))
    return builder.finish()


class _DocxReader:
    def __init__(self, out: DocumentBuilder, styles: dict[str, Style]) -> None:
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
        if properties is None:
            return self._styles.get("", Style())
        style_node = child(properties, "pStyle")
        identifier = attribute(style_node, "val") if style_node is not None else ""
        return self._styles.get(identifier or "", Style()).with_properties(properties)

    def _add_table(self, table: Element, depth: int) -> None:
        rows = [list(_below(row, "tc", depth)) for row in _below(table, "tr", depth)]
        if len(rows) == 1 and len(rows[0]) == 1:
            # A frame around text.
            self._read_blocks(rows[0][0], depth + 1)
            return
        self._out.add_table(spread_merged_cells(map(_cell, row) for row in rows))


def _below(parent: Element, tag: str, depth: int) -> Iterator[Element]:
    """The rows or cells of a table, also those within content controls and tracked changes."""
    if depth > _DEEPEST:
        raise ParseFailure(FailureReason.TOO_COMPLEX)
    for part in parent:
        if name(part) == tag:
            yield part
        elif name(part) in _TRANSPARENT:
            yield from _below(part, tag, depth + 1)


def _cell(node: Element) -> TableCell:
    properties = child(node, "tcPr")
    if properties is None:
        return TableCell(_cell_text(node))
    span, merge = child(properties, "gridSpan"), child(properties, "vMerge")
    columns = attribute(span, "val") if span is not None else ""
    continues = merge is not None and attribute(merge, "val") != "restart"
    width = int(columns) if columns.isdecimal() and len(columns) < 6 else 1
    return TableCell(_cell_text(node), width, continues=continues)


def _cell_text(cell: Element) -> str:
    return flow(" ".join(_text(part) for part in cell.iter() if name(part) == "p"))


def _text_boxes(paragraph: Element) -> list[Element]:
    """The text boxes anchored in a paragraph; of two renderings the first."""
    boxes: list[Element] = []
    waiting = [paragraph]
    while waiting:
        node = waiting.pop()
        if name(node) == "txbxContent":
            boxes.append(node)
        elif name(node) != "Fallback":
            waiting.extend(reversed(node))
    return boxes


def _text(paragraph: Element) -> str:
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
