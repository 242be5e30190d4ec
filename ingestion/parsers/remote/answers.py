"""Reading of what parsing services answer: JSON whose every value may be anything."""

import re
from collections.abc import Sequence
from pathlib import Path

from pydantic import JsonValue

from core import json_access
from core.json_access import as_number
from core.types.text_boxes import TextBox
from ingestion.parsers.boxes import text_box
from ingestion.parsers.builder import DocumentBuilder
from ingestion.parsers.errors import FailureReason, ParseFailure
from ingestion.parsers.limits import ParseLimits
from ingestion.parsers.web.html import table_rows

# What texts of list items begin with, as services write them.
_MARKER = re.compile(r"(?:[-*+•◦▪·‣–]|\(?(?:\d{1,4}|[A-Za-z]|[ivxIVX]{1,6}|[一二三四五六七八九十]{1,3})[.)、．])\s*")


def read_json(content: bytes | str) -> JsonValue:
    """The JSON value; ParseFailure ``parser_service_unexpected`` for what is none."""
    try:
        return json_access.parse(content)
    except ValueError:
        # From None: what was not understood belongs to no log.
        raise unexpected_answer() from None


def read_answer(path: Path) -> JsonValue:
    """The JSON value in a file; ParseFailure ``parser_service_unexpected`` for what is none."""
    return read_json(path.read_bytes())


def unexpected_answer() -> ParseFailure:
    """The failure for an answer of another form."""
    return ParseFailure(FailureReason.PARSER_SERVICE_UNEXPECTED)


class AnswerBuilder:
    """Builds a document of the blocks of an answer.

    Attributes:
        pages: The last page that was named, from 1; None so far without one.
    """

    def __init__(self, limits: ParseLimits) -> None:
        self._limits = limits
        self.blocks = DocumentBuilder(limits)
        self.pages: int | None = None

    def page(self, value: JsonValue) -> int | None:
        """A page number, from 1; None for what is none. ParseFailure ``too_many_pages`` beyond the limit."""
        page = json_access.as_count(value)
        if page > self._limits.pages:
            raise ParseFailure(FailureReason.TOO_MANY_PAGES)
        if page:
            self.pages = max(page, self.pages or 0)
        return page or None

    def add_table(self, markup: str, text: str, page: int | None, boxes: Sequence[TextBox] = ()) -> None:
        """Append a table in HTML; ``text`` stands for one without rows."""
        rows = list(table_rows(markup)) if markup else []
        if any(map(any, rows)):
            self.blocks.add_table(rows, page=page, boxes=boxes)
        else:
            self.blocks.add("paragraph", text, page=page, boxes=boxes)

    def add_item(
        self, text: str, level: int, page: int | None, marker: str = "-", boxes: Sequence[TextBox] = ()
    ) -> None:
        """Append an item of a list; ``marker`` begins the text of one that has none."""
        text = text.strip()
        if text and not _MARKER.match(text):
            text = f"{marker} {text}"
        self.blocks.add("list_item", text, level=max(1, level), page=page, boxes=boxes)


def box_in(sides: Sequence[JsonValue], size: tuple[JsonValue, JsonValue], page: int | None) -> list[TextBox]:
    """The box of a whole element, none for what is no place on its page.

    Args:
        sides: left, top, right and bottom from the page's top left corner.
        size: width and height of the page in the same unit.
    """
    width, height = map(as_number, size)
    if len(sides) != 4 or not (width > 0 and height > 0):
        return []
    left, top, right, bottom = map(as_number, sides)
    box = text_box((left / width, top / height, right / width, bottom / height), page)
    return [box] if box is not None else []
