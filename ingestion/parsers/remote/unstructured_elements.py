"""Elements of Unstructured as a document.

An answer is a JSON list of elements in reading order: ``type``, ``text`` and ``metadata`` with ``page_number``, ``category_depth``
(from 0) and ``text_as_html`` of tables. Sources: Unstructured-IO/unstructured 0.27.1, unstructured/documents/elements.py
(``ElementType``, ``Element.to_dict``, ``ElementMetadata``) and unstructured/partition/common/metadata.py
(``category_depth_from_html_tag``).
"""

from pathlib import Path

from pydantic import JsonValue

from core.json_access import as_count, as_object, as_text
from ingestion.parsers.limits import ParseLimits
from ingestion.parsers.model import ParsedDocument
from ingestion.parsers.remote.answers import AnswerBuilder, read_answer, unexpected_answer

_HEADINGS = frozenset({"Title", "Headline", "Subheadline", "Section-header"})
_ITEMS = frozenset({"ListItem", "List-item", "BulletedText"})
# They repeat on each page, or say nothing.
_LEFT_OUT = frozenset({"Header", "Footer", "Page-header", "Page-footer", "PageNumber", "PageBreak"})


def parse(path: Path, limits: ParseLimits) -> ParsedDocument:
    """Read a list of elements; headers, footers and page numbers are left out."""
    elements = read_answer(path)
    if not isinstance(elements, list):
        raise unexpected_answer()
    builder = AnswerBuilder(limits)
    for element in elements:
        _add(builder, element)
    return builder.blocks.finish(pages=builder.pages)


def _add(builder: AnswerBuilder, value: JsonValue) -> None:
    element = as_object(value)
    kind, text = element.get("type"), element.get("text")
    if not isinstance(kind, str) or not isinstance(text, str):
        raise unexpected_answer()
    metadata = as_object(element.get("metadata"))
    page = builder.page(metadata.get("page_number"))
    depth = as_count(metadata.get("category_depth"))
    if kind in _LEFT_OUT:
        return
    if kind == "Table":
        builder.add_table(as_text(metadata.get("text_as_html")), text, page)
    elif kind in _ITEMS:
        # In HTML the depth is the number of lists around the item, in Word documents that of its indents.
        builder.add_item(text, depth, page)
    elif kind == "CodeSnippet":
        builder.blocks.add("code", text, page=page)
    elif kind in _HEADINGS:
        builder.blocks.add("heading", text, level=depth + 1, page=page)
    else:
        builder.blocks.add("paragraph", text, page=page)
