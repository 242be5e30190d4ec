"""The parsed document: typed elements over one canonical plain text."""

from dataclasses import dataclass
from typing import Literal

from core.types.document_parsers import BUILT_IN
from core.types.text_boxes import TextBox

Kind = Literal["heading", "paragraph", "list_item", "table", "code"]
LaterPages = tuple[tuple[int, int], ...]
"""Where in a text further pages begin, ascending: offset and page."""
SEPARATOR = "\n\n"
HIDDEN_PARTS = "hidden_parts"
"""Warning: slides or sheets that the file hides were left out."""
ATTACHMENTS = "attachments"
"""Warning: the files attached to a message were left out."""


@dataclass(frozen=True, slots=True)
class Element:
    """One block of a document.

    Attributes:
        kind: A table's text has one row per line, header first, its cells joined by ``" | "``.
        text: Never empty, without control characters.
        level: Depth of a heading (1 to 9) or of a list item (from 1); otherwise 0.
        page: Page the block starts on, from 1; None where the format has no pages.
        char_start: Offset of the text in ``ParsedDocument.text``.
        later_pages: Of a block over several pages: offsets in ``text`` of the pages after ``page``.
    """

    kind: Kind
    text: str
    level: int = 0
    page: int | None = None
    char_start: int = 0
    char_end: int = 0
    later_pages: LaterPages = ()


@dataclass(frozen=True, slots=True)
class ParsedDocument:
    """A parsed document.

    Attributes:
        elements: The blocks in reading order; ``text[e.char_start:e.char_end] == e.text``.
        text: The canonical plain text: the elements' texts joined by blank lines.
        encoding: Encoding the bytes were read with; None for formats that define it.
        encoding_confidence: 0 to 1; None together with ``encoding``.
        pages: None where the format has none.
        warnings: Codes of possible faults of the text (``encoding``, ``no_text_layer``, ...).
        parser: Which one read it (``core.types.document_parsers``).
        boxes: Where on the pages the text stands, by its characters; of what is not known there are none.
    """

    elements: tuple[Element, ...]
    text: str
    encoding: str | None = None
    encoding_confidence: float | None = None
    pages: int | None = None
    warnings: tuple[str, ...] = ()
    parser: str = BUILT_IN
    boxes: tuple[TextBox, ...] = ()
