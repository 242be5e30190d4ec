"""Styles of a Word document: which paragraphs are headings, list items or a table of contents."""

import re
from dataclasses import dataclass, replace
from xml.etree.ElementTree import Element

from ingestion.parsers.office.xml import attribute, child, name, read_xml

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
    """What a paragraph's style says about its place in the document.

    Attributes:
        heading: Level of the heading, 0 for none.
        list_level: Level of the list item, 0 for none.
        is_contents: Whether it is a line of a generated table of contents.
    """

    heading: int = 0
    list_level: int = 0
    is_contents: bool = False

    def with_properties(self, properties: Element) -> "Style":
        """The style with a ``pPr`` element laid over it."""
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
    """The paragraph styles by id; the default style stands under the empty id."""
    if content is None:
        return {}
    nodes = {
        attribute(node, "styleId"): node for node in read_xml(content) if name(node) == "style"
    }
    styles: dict[str, Style] = {}
    for identifier, node in nodes.items():
        style = _resolve(node, nodes)
        styles[identifier] = style
        if attribute(node, "default") in ("1", "true") and attribute(node, "type") == "paragraph":
            styles[""] = style
    return styles


def _resolve(node: Element, nodes: dict[str, Element]) -> Style:
    """A style with what it inherits, from the root of its ancestry to itself."""
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
        style = _named(style, ancestor)
    return style


def heading_level(label: str) -> int:
    """The level of the heading that a style's name says it is, 0 for none."""
    heading = _HEADING.match(label.strip())
    if heading is not None:
        return int(heading[1])
    return 1 if label.strip().lower() in _TITLES else 0


def _named(style: Style, node: Element) -> Style:
    """The style with what its name says."""
    named = child(node, "name")
    label = attribute(named, "val").strip() if named is not None else ""
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
