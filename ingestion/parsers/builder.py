"""Builder of a ``ParsedDocument``, with clean text, exact spans and bounds."""

from collections.abc import Iterable, Mapping
from itertools import chain, islice

from core.types.text_boxes import TextBox
from ingestion.parsers.boxes import disjoint
from ingestion.parsers.errors import FailureReason, ParseFailure
from ingestion.parsers.limits import ParseLimits
from ingestion.parsers.model import SEPARATOR, Element, Kind, LaterPages, ParsedDocument
from ingestion.parsers.text_cleanup import clean, flow

_MAX_LEVEL = 9


class DocumentBuilder:
    """A document under construction; a parser adds blocks in reading order, then finishes it."""

    def __init__(self, limits: ParseLimits) -> None:
        self._limits = limits
        self._elements: list[Element] = []
        self._boxes: list[TextBox] = []
        self._length = 0

    def __len__(self) -> int:
        return len(self._elements)

    @property
    def has_body(self) -> bool:
        """Whether there is anything beside headings."""
        return any(element.kind != "heading" for element in self._elements)

    def extend(self, other: "DocumentBuilder") -> None:
        """Append the blocks of a document without boxes."""
        for element in other._elements:
            self.add(
                element.kind, element.text, level=element.level, page=element.page, later_pages=element.later_pages
            )

    def add(
        self,
        kind: Kind,
        text: str,
        *,
        level: int = 0,
        page: int | None = None,
        later_pages: LaterPages = (),
        boxes: Iterable[TextBox] = (),
    ) -> None:
        """Append one block; a block without visible text is left out.

        Args:
            text: Not yet clean.
            level: Of a heading or a list item.
            later_pages: Offsets in ``text`` of the pages after ``page``.
            boxes: Of characters of ``text``.

        Raises:
            ParseFailure: ``output_too_large`` or ``too_complex``.
        """
        raw, text = text, clean(text)
        text = text.rstrip().strip("\n") if kind == "code" else text.strip()
        if not text or text.isspace():
            return
        start = self._length + (len(SEPARATOR) if self._elements else 0)
        end = start + len(text)
        if end > self._limits.output_characters:
            raise ParseFailure(FailureReason.OUTPUT_TOO_LARGE)
        if len(self._elements) >= self._limits.elements:
            raise ParseFailure(FailureReason.TOO_COMPLEX)
        room = self._limits.boxes - len(self._boxes)
        placed = list(islice(disjoint(boxes), room))
        offsets = chain((at for at, _ in later_pages), *((box.start, box.end) for box in placed))
        places = _clean_places(raw, text, offsets)
        later = tuple((places[at], number) for at, number in later_pages if places[at] < len(text))
        self._elements.append(Element(kind, text, min(level, _MAX_LEVEL), page, start, end, later))
        for box in placed:
            first, last = start + places[box.start], start + places[box.end]
            if first < last:
                self._boxes.append(box._replace(start=first, end=last))
        self._length = end

    def add_table(
        self, rows: Iterable[Iterable[str]], *, page: int | None = None, boxes: Iterable[TextBox] = ()
    ) -> None:
        self.add("table", table_text(rows), page=page, boxes=boxes)

    def finish(
        self,
        *,
        encoding: str | None = None,
        confidence: float | None = None,
        pages: int | None = None,
        warnings: tuple[str, ...] = (),
    ) -> ParsedDocument:
        """The document; ParseFailure ``empty_text`` without elements."""
        if not self._elements:
            raise ParseFailure(FailureReason.EMPTY_TEXT)
        text = SEPARATOR.join(element.text for element in self._elements)
        return ParsedDocument(
            tuple(self._elements), text, encoding, confidence, pages, warnings, boxes=tuple(self._boxes)
        )


def table_text(rows: Iterable[Iterable[str]]) -> str:
    """A table's text, one row a line; rows without text are left out."""
    return "\n".join(filter(None, map(table_row, rows)))


def table_row(cells: Iterable[str]) -> str:
    """One line of a table's text, or an empty string when no cell has text."""
    texts = [flow(cell) for cell in cells]
    return " | ".join(texts).rstrip() if any(texts) else ""


def _clean_places(raw: str, text: str, offsets: Iterable[int]) -> Mapping[int, int]:
    """Where each offset in ``raw`` is in ``text``, its cleaned form."""
    ordered = sorted(set(offsets))
    if not ordered:
        return {}
    places: dict[int, int] = {}
    begin, place = 0, -clean(raw).find(text)
    for offset in ordered:
        place += len(clean(raw[begin:offset]))
        begin = offset
        places[offset] = min(max(0, place), len(text))
    return places
