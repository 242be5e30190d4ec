"""Elements of Unstructured as a document.

An answer is a JSON list of elements in reading order: ``type``, ``text`` and ``metadata`` with ``page_number``, ``category_depth``
(from 0), ``text_as_html`` of tables and ``coordinates``. Sources: Unstructured-IO/unstructured 0.27.1, unstructured/documents/elements.py
(``ElementType``, ``Element.to_dict``, ``ElementMetadata``) and unstructured/partition/common/metadata.py
(``category_depth_from_html_tag``).
"""

from pathlib import Path

from pydantic import JsonValue

from core.json_access import as_count, as_object, as_text
from ingestion.parsers.boxes import text_box
from ingestion.parsers.limits import ParseLimits
from ingestion.parsers.model import ParsedDocument
from ingestion.parsers.remote.answers import AnswerBuilder, read_answer, unexpected_answer
from ingestion.parsers.unstructured.mapping import is_heading, sides_of

_HEADINGS = frozenset({"Title", "Headline", "Subheadline", "Section-header"})
_ITEMS = frozenset({"ListItem", "List-item", "BulletedText"})
# They repeat on each page, or say nothing.
_LEFT_OUT = frozenset({"Header", "Footer", "Page-header", "Page-footer", "PageNumber", "PageBreak"})


def parse(path: Path, limits: ParseLimits) -> ParsedDocument:
    """Read a list of elements; headers, footers and page numbers are left out, names of sheets are headings."""
    elements = read_answer(path)
    if not isinstance(elements, list):
        raise unexpected_answer()
    reader = _ElementReader(limits)
    for element in elements:
        reader.add(as_object(element))
    return reader.builder.blocks.finish(pages=reader.builder.pages)


class _ElementReader:
    """One pass over the elements."""

    def __init__(self, limits: ParseLimits) -> None:
        self.builder = AnswerBuilder(limits)
        self._sheet = ""

    def add(self, element: dict[str, JsonValue]) -> None:
        kind, text = element.get("type"), element.get("text")
        if not isinstance(kind, str) or not isinstance(text, str):
            raise unexpected_answer()
        metadata = as_object(element.get("metadata"))
        sheet = as_text(metadata.get("page_name"))
        # Of a workbook the number is the sheet's.
        page = None if sheet else self.builder.page(metadata.get("page_number"))
        box = text_box(sides_of(metadata.get("coordinates")) or (), page)
        boxes = [box] if box is not None else []
        depth = as_count(metadata.get("category_depth"))
        self._begin_sheet(sheet)
        if kind in _LEFT_OUT:
            return
        if kind == "Table":
            self.builder.add_table(as_text(metadata.get("text_as_html")), text, page, boxes)
        elif kind in _ITEMS:
            # In HTML the depth is the number of lists around the item, in Word documents that of its indents.
            self.builder.add_item(text, depth, page, boxes=boxes)
        elif kind == "CodeSnippet":
            self.builder.blocks.add("code", text, page=page, boxes=boxes)
        elif kind in _HEADINGS and is_heading(text):
            level = depth + (2 if self._sheet else 1)
            self.builder.blocks.add("heading", text, level=level, page=page, boxes=boxes)
        else:
            self.builder.blocks.add("paragraph", text, page=page, boxes=boxes)

    def _begin_sheet(self, name: str) -> None:
        if name and name != self._sheet:
            self._sheet = name
            self.builder.blocks.add("heading", name, level=1)
