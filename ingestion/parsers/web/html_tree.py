"""Filters of an HTML tree: content, navigation, hidden parts, and texts of cells."""

import re

from selectolax.lexbor import LexborHTMLParser, LexborNode

from ingestion.parsers.errors import FailureReason, ParseFailure


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


_TAG = re.compile(r"<(/?)([a-zA-Z][a-zA-Z0-9]*)")
# Elements that have no end tag, or that the next one of their kind ends.
_VOID = _names("area base br col embed hr img input link meta param source track wbr")
_UNNESTED = _VOID | _names("p li dt dd tr td th thead tbody tfoot option optgroup a html head body")
# Tree building walks the stack of open elements, and a tag's attributes for each new one: without bounds, depth and
# number make it quadratic.
_DEEPEST = 1_000
_MOST_ATTRIBUTES = 2_000
_LONGEST_MARK = 6

# XML's empty elements. HTML ignores the slash: everything after ``<title/>`` would be the title, after ``<div
# hidden="hidden"/>`` hidden. Only drawings are XML there too.
_EMPTY = re.compile(r"<([A-Za-z][\w:.-]*+)(\s[^<>]*)?/>")
_XML = re.compile(r"\s*<\?xml\b|<html\b[^>]{0,500}\bxmlns\s*=", re.IGNORECASE)
_XML_HEAD = 4096
_SHAPES = _names("animate circle ellipse image line path polygon polyline rect stop use")

# Phonetic readings would split the Chinese and Japanese words beside them.
_DROPPED = _names(
    "script style template head svg iframe object video audio canvas button select textarea "
    "datalist noscript noframes annotation annotation-xml rt rp rtc"
)
_NAVIGATION = _names("navheader navfooter docnav toc breadcrumb breadcrumbs headerlink sphinxsidebar nav-panel navbar")
_INVISIBLE = re.compile(r"display\s*:\s*none|visibility\s*:\s*hidden", re.IGNORECASE)
_NAVIGATION_WORDS = _names(
    "prev previous next up home index contents top back toc 上一页 下一页 上一级 上一章 下一章 "
    "起始页 首页 主页 目录 返回 前へ 次へ ホーム zurück weiter nach oben zum anfang précédent "
    "suivant sommaire"
)
_WORD = re.compile(r"[^\s|<>«»‹›←→↑·:/\[\]()-]+")

BLOCK_TAGS = _names(
    "address article aside blockquote body caption center dd details dialog dir div dl dt "
    "fieldset figcaption figure footer form h1 h2 h3 h4 h5 h6 header hgroup hr legend li main "
    "menu nav ol p pre section summary table tbody td tfoot th thead tr ul"
)


def build_tree(text: str) -> LexborHTMLParser:
    """The tree of a page; ParseFailure ``too_complex`` above a thousand levels, or thousands of attributes."""
    text = _with_end_tags(text)
    for tag in text.split(">"):
        if tag.count("=") > _MOST_ATTRIBUTES and _TAG.search(tag) is not None:
            raise ParseFailure(FailureReason.TOO_COMPLEX)
    depth = 0
    for tag in _TAG.finditer(text):
        if tag[2].lower() in _UNNESTED:
            continue
        depth = max(0, depth - 1) if tag[1] else depth + 1
        if depth > _DEEPEST:
            raise ParseFailure(FailureReason.TOO_COMPLEX)
    return LexborHTMLParser(text)


def _with_end_tags(text: str) -> str:
    """The text with end tags for elements that are empty in XHTML or in an embedded drawing."""
    is_xml = _XML.search(text[:_XML_HEAD].lstrip("\ufeff")) is not None

    def end(tag: re.Match[str]) -> str:
        name = tag[1].lower()
        if name in _VOID or not (is_xml or name in _SHAPES):
            return tag[0]
        return f"<{tag[1]}{tag[2] or ''}></{tag[1]}>"

    return _EMPTY.sub(end, text)


def is_content(node: LexborNode, *, navigation: bool) -> bool:
    """Whether an element's text belongs to the document; ``navigation`` includes menus and tables of contents."""
    tag = node.tag
    if tag in _DROPPED or tag == "-comment" or (tag == "sup" and _is_note_mark(node)):
        return False
    attributes = node.attributes
    if not attributes:
        return navigation or tag != "nav"
    if attributes.get("epub:type") == "noteref" or attributes.get("role") == "doc-noteref":
        return False
    if "hidden" in attributes or attributes.get("aria-hidden") == "true":
        return False
    if _INVISIBLE.search(attributes.get("style") or ""):
        return False
    is_menu = tag == "nav" or attributes.get("role") == "navigation"
    return navigation or not (is_menu or has_class(node, _NAVIGATION))


def _is_note_mark(node: LexborNode) -> bool:
    """Whether a raised text links to a note: its number would become a part of the word before."""
    link = node.css_first("a")
    leads_to_place = link is not None and "#" in (link.attributes.get("href") or "")
    return leads_to_place and len(node.text(strip=True)) <= _LONGEST_MARK


def has_class(node: LexborNode, names: frozenset[str]) -> bool:
    """Whether the element has one of the classes."""
    classes = node.attributes.get("class")
    return classes is not None and not names.isdisjoint(classes.split())


def is_navigation_text(text: str) -> bool:
    """Whether a line has only a pager's words ("Prev Up Home Next")."""
    if len(text) > 100:
        return False
    words = _WORD.findall(text.lower())
    return len(words) > 1 and _NAVIGATION_WORDS.issuperset(words)


def layout_tables(root: LexborNode) -> frozenset[int]:
    """The ids of layout tables: they contain headings, tables or a single cell."""
    ids: set[int] = set()
    for inner in root.css("table table, table h1, table h2, table h3, table h4"):
        outer = inner.parent
        while outer is not None and outer.tag != "table":
            outer = outer.parent
        if outer is not None:
            ids.add(outer.mem_id)
    for table in root.css("table"):
        if table.mem_id not in ids and len(table.css("td, th")) < 2:
            ids.add(table.mem_id)
    return frozenset(ids)


def flat_text(root: LexborNode) -> str:
    """The visible text below an element, blocks separated by blanks."""
    parts: list[str] = []
    node = root.child
    while node is not None:
        if node.is_text_node:
            parts.append(node.text_content or "")
        elif node.tag in BLOCK_TAGS or node.tag == "br":
            parts.append(" ")
        elif node.tag == "img":
            parts.append(node.attributes.get("alt") or "")
        inside = node.is_element_node and is_content(node, navigation=True)
        node = (node.child if inside else None) or _following(node, root, parts)
    return "".join(parts)


def _following(node: LexborNode, root: LexborNode, parts: list[str]) -> LexborNode | None:
    """The node after this one and its children, or None at the end of the root."""
    while node.next is None:
        parent = node.parent
        if parent is None or parent.mem_id == root.mem_id:
            return None
        node = parent
        if node.tag in BLOCK_TAGS:
            parts.append(" ")
    return node.next
