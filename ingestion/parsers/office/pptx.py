"""PowerPoint presentations: titles, text, lists, tables, diagrams and notes, slide by slide."""

from collections.abc import Iterator
from pathlib import Path
from xml.etree.ElementTree import Element
from zipfile import ZipFile

from ingestion.parsers.builder import DocumentBuilder
from ingestion.parsers.errors import FailureReason, ParseFailure
from ingestion.parsers.limits import ParseLimits
from ingestion.parsers.model import HIDDEN_PARTS, ParsedDocument
from ingestion.parsers.office.opc import Relation, main_part, read_root, relation_id, relations
from ingestion.parsers.office.xml import child, name
from ingestion.parsers.office.zip import open_zip
from ingestion.parsers.table_grid import TableCell, spread_merged_cells
from ingestion.parsers.text_cleanup import BREAK, flow, flow_lines

_PRESENTATION = "ppt/presentation.xml"
_TITLES = frozenset({"title", "ctrTitle"})
# Placeholders that repeat on each slide.
_APPARATUS = frozenset({"dt", "ftr", "hdr", "sldNum", "sldImg"})
_LISTS = frozenset({"", "body", "obj"})
_BULLETS = frozenset({"buChar", "buAutoNum", "buBlip"})
_LONGEST_TITLE = 80
_DEEPEST = 40


def parse(path: Path, limits: ParseLimits) -> ParsedDocument:
    """Read a .pptx, .pptm or .ppsx file; nothing in it is run, fetched or unpacked to disk.

    A slide's number is the page of its elements, its title a level-1 heading; without a title its first short text is.
    Speaker notes follow the slide's own text. Hidden slides are left out, with a warning.
    """
    builder = DocumentBuilder(limits)
    with open_zip(path, limits) as archive:
        main = main_part(archive, _PRESENTATION, limits)
        parts = relations(archive, main, limits)
        listed = child(read_root(archive, main, limits), "sldIdLst")
        slides = [parts.get(relation_id(node)) for node in (listed if listed is not None else ())]
        if len(slides) > limits.pages:
            raise ParseFailure(FailureReason.TOO_MANY_PAGES)
        hidden = 0
        for number, slide in enumerate(slides, 1):
            if slide is not None:
                hidden += not _Slide(archive, builder, limits, number).read(slide.part)
    warnings = (HIDDEN_PARTS,) if hidden else ()
    return builder.finish(pages=len(slides), warnings=warnings)


class _Slide:
    def __init__(self, archive: ZipFile, out: DocumentBuilder, limits: ParseLimits, number: int) -> None:
        self._archive = archive
        self._out = out
        self._limits = limits
        self._number = number
        self._parts: dict[str, Relation] = {}

    def read(self, part: str) -> bool:
        """Add the slide's elements; False for a hidden slide."""
        root = read_root(self._archive, part, self._limits)
        if root.get("show") in ("0", "false"):
            return False
        self._parts = relations(self._archive, part, self._limits)
        shapes = list(_shapes(root))
        titles = [shape for shape in shapes if _placeholder(shape) in _TITLES]
        titles = titles or list(filter(_is_titling, shapes))[:1]
        for shape in titles:
            self._add_heading(" ".join(map(_text, _paragraphs(shape))))
        for shape in shapes:
            if shape not in titles:
                self._add(shape)
        notes = next((relation for relation in self._parts.values() if relation.kind == "notesSlide"), None)
        if notes is not None:
            for shape in _shapes(read_root(self._archive, notes.part, self._limits)):
                if _placeholder(shape) == "body":
                    self._add_paragraphs(shape, is_list=False)
        return True

    def _add_heading(self, text: str) -> None:
        text = flow_lines(text).replace("\n", " ")
        if text:
            self._out.add("heading", text, level=1, page=self._number)

    def _add(self, shape: Element) -> None:
        kind = _placeholder(shape)
        if kind in _APPARATUS:
            return
        if name(shape) != "graphicFrame":
            self._add_paragraphs(shape, is_list=kind in _LISTS)
            return
        for node in shape.iter():
            if name(node) == "tbl":
                self._add_table(node)
            elif name(node) == "relIds":
                self._add_diagram(relation_id(node, "dm"))

    def _add_paragraphs(self, shape: Element, *, is_list: bool) -> None:
        for paragraph in _paragraphs(shape):
            text = flow_lines(_text(paragraph))
            properties = child(paragraph, "pPr")
            marks = {name(node) for node in properties} if properties is not None else set[str]()
            if (is_list and "buNone" not in marks) or not _BULLETS.isdisjoint(marks):
                level = properties.get("lvl", "0") if properties is not None else "0"
                depth = int(level) + 1 if level.isdigit() and len(level) < 3 else 1
                self._add_item(text, depth)
            else:
                self._out.add("paragraph", text, page=self._number)

    def _add_item(self, text: str, level: int) -> None:
        if text:
            self._out.add("list_item", f"- {text}", level=level, page=self._number)

    def _add_table(self, table: Element) -> None:
        rows = (map(_cell, row) for row in table if name(row) == "tr")
        self._out.add_table(spread_merged_cells(filter(None, cells) for cells in rows), page=self._number)

    def _add_diagram(self, identifier: str) -> None:
        data = self._parts.get(identifier)
        if data is not None and data.part in self._archive.NameToInfo:
            for paragraph in _paragraphs(read_root(self._archive, data.part, self._limits)):
                self._add_item(flow_lines(_text(paragraph)), 1)


def _shapes(root: Element) -> Iterator[Element]:
    """Shapes and frames in drawing order, groups flattened."""
    waiting = [(node, 0) for node in reversed(root) if name(node) == "cSld"]
    while waiting:
        node, depth = waiting.pop()
        if depth > _DEEPEST:
            raise ParseFailure(FailureReason.TOO_COMPLEX)
        kind = name(node)
        if kind in ("sp", "graphicFrame"):
            yield node
        elif kind in ("cSld", "spTree", "grpSp", "AlternateContent", "Choice"):
            waiting.extend((inner, depth + 1) for inner in reversed(node))


def _placeholder(shape: Element) -> str | None:
    """The type of a shape's placeholder, empty for the default type; None for a free shape."""
    for part in shape:
        if name(part).startswith("nv"):
            placeholder = next((node for node in part.iter() if name(node) == "ph"), None)
            return placeholder.get("type", "") if placeholder is not None else None
    return None


def _is_titling(shape: Element) -> bool:
    """Whether a free shape holds one short text, as a title does."""
    if name(shape) == "graphicFrame" or _placeholder(shape) is not None:
        return False
    texts = [text for text in (flow(_text(part)) for part in _paragraphs(shape)) if text]
    return len(texts) == 1 and len(texts[0]) <= _LONGEST_TITLE


def _paragraphs(shape: Element) -> Iterator[Element]:
    return (node for node in shape.iter() if name(node) == "p")


def _cell(node: Element) -> TableCell | None:
    """A table's cell; one merged to its left is there too, and blank."""
    if name(node) != "tc":
        return None
    text = flow(" ".join(map(_text, _paragraphs(node))))
    return TableCell(text, continues=node.get("vMerge") in ("1", "true"))


def _text(paragraph: Element) -> str:
    parts: list[str] = []
    for node in paragraph.iter():
        if name(node) == "t":
            parts.append(node.text or "")
        elif name(node) == "br":
            parts.append(BREAK)
    return "".join(parts)
