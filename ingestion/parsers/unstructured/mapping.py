"""Elements of unstructured as blocks of our model; runs in its process, on the standard library alone."""

import math
from collections.abc import Iterable, Iterator, Mapping
from html.parser import HTMLParser
from typing import Any

Sides = list[float] | None
"""Left, top, right and bottom in shares of the page from its top left corner; of pages alone."""
Block = tuple[str, object, int, int | None, Sides]
"""Kind of an element of ours; its text, or the rows of a table; level; page; where it stands there."""

_LEFT_OUT = frozenset({"Header", "Footer", "PageBreak", "PageNumber", "Image", "CheckBox"})
_CODE = frozenset({"CodeSnippet", "Formula"})
# Without a model of the language its titles are short texts, sentences among them.
_SENTENCE_ENDS = tuple(".;,。；，！？!?")
_LONGEST_HEADING = 200
_PAGED = frozenset({"pdf", "pptx", "image"})
"""Formats whose ``page_number`` is a page as ours count them; of a workbook it is the sheet's."""
MOST_CELLS = 1_000_000


def blocks_of(elements: Iterable[Mapping[str, Any]], reader: str) -> Iterator[Block]:
    """The blocks of a document in its order.

    Args:
        elements: as ``Element.to_dict`` of unstructured gives them.
        reader: the name of its partitioner.
    """
    page_name = ""
    for element in elements:
        metadata: Mapping[str, Any] = element.get("metadata") or {}
        kind, text = str(element.get("type", "")), str(element.get("text", ""))
        page = metadata.get("page_number") if reader in _PAGED else None
        sides = sides_of(metadata.get("coordinates")) if page is not None else None
        name = str(metadata.get("page_name") or "")
        if name and name != page_name:
            # A sheet of a workbook.
            page_name = name
            yield "heading", name, 1, page, None
        depth = int(metadata.get("category_depth") or 0)
        if kind in _LEFT_OUT:
            continue
        if kind == "Table":
            rows = table_rows(str(metadata.get("text_as_html") or ""))
            yield ("table", rows, 0, page, sides) if rows else ("paragraph", text, 0, page, sides)
        elif kind == "Title" and is_heading(text):
            yield "heading", text, depth + (2 if page_name else 1), page, sides
        elif kind == "ListItem":
            yield "list_item", text, max(1, depth), page, sides
        elif kind in _CODE:
            yield "code", text, 0, page, sides
        else:
            yield "paragraph", text, 0, page, sides


def sides_of(coordinates: object) -> Sides:
    """Where an element stands, by its ``coordinates``; None where they say nothing that can be read.

    Source: Unstructured-IO/unstructured 0.27.1, unstructured/documents/elements.py (``CoordinatesMetadata.to_dict``) and
    coordinates.py: y counts from the top in ``PixelSpace``, from the foot of the page in the other systems.
    """
    try:
        values: Any = coordinates
        width, height = float(values["layout_width"]), float(values["layout_height"])
        xs = [float(x) / width for x, _ in values["points"]]
        ys = [float(y) / height for _, y in values["points"]]
        if values["system"] != "PixelSpace":
            ys = [1 - y for y in ys]
        sides = [min(xs), min(ys), max(xs), max(ys)]
    except (TypeError, ValueError, LookupError, ArithmeticError):
        return None
    return [round(side, 5) for side in sides] if all(map(math.isfinite, sides)) else None


def is_heading(text: str) -> bool:
    """Whether a title of unstructured can be one."""
    line = text.strip()
    return 0 < len(line) <= _LONGEST_HEADING and not line.endswith(_SENTENCE_ENDS) and "。" not in line


def table_rows(html: str) -> list[list[str]]:
    """The cells of a table's HTML, row by row; a cell over several columns is followed by empty ones."""
    parser = _TableParser()
    parser.feed(html)
    parser.close()
    return [row for row in parser.rows if any(row)]


class _TableParser(HTMLParser):
    """Collects cells; rows of a table within a cell are rows like all others."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.rows: list[list[str]] = []
        self._cells = 0
        self._is_in_cell = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "tr":
            self.rows.append([])
            self._is_in_cell = False
        elif tag in {"td", "th"} and self._cells < MOST_CELLS:
            if not self.rows:
                self.rows.append([])
            width = next((value for name, value in attrs if name == "colspan" and value), "1")
            span = min(int(width), 100) if width.isascii() and width.isdecimal() else 1
            self.rows[-1] += [""] * max(1, span)
            self._cells += max(1, span)
            self._place = len(self.rows[-1]) - max(1, span)
            self._is_in_cell = True
        elif tag == "br":
            self.handle_data(" ")

    def handle_endtag(self, tag: str) -> None:
        if tag in {"td", "th", "tr"}:
            self._is_in_cell = False

    def handle_data(self, data: str) -> None:
        if self._is_in_cell:
            self.rows[-1][self._place] += data
