"""Builder of a ``ParsedDocument``, with clean text, exact spans and bounds."""

from collections.abc import Iterable, Iterator

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
        self._length = 0

    def __len__(self) -> int:
        return len(self._elements)

    @property
    def has_body(self) -> bool:
        """Whether there is anything beside headings."""
        return any(element.kind != "heading" for element in self._elements)

    def extend(self, other: "DocumentBuilder") -> None:
        for element in other._elements:
            self.add(
                element.kind, element.text, level=element.level, page=element.page, later_pages=element.later_pages
            )

    def add(
        self, kind: Kind, text: str, *, level: int = 0, page: int | None = None, later_pages: LaterPages = ()
    ) -> None:
        """Append one block; a block without visible text is left out.

        Args:
            text: Not yet clean.
            level: Of a heading or a list item.
            later_pages: Offsets in ``text`` of the pages after ``page``.

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
        later = tuple(_clean_offsets(raw, text, later_pages))
        self._elements.append(Element(kind, text, min(level, _MAX_LEVEL), page, start, end, later))
        self._length = end

    def add_table(self, rows: Iterable[Iterable[str]], *, page: int | None = None) -> None:
        self.add("table", table_text(rows), page=page)

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
        return ParsedDocument(tuple(self._elements), text, encoding, confidence, pages, warnings)


def table_text(rows: Iterable[Iterable[str]]) -> str:
    """A table's text, one row a line; rows without text are left out."""
    return "\n".join(filter(None, map(table_row, rows)))


def table_row(cells: Iterable[str]) -> str:
    """One line of a table's text, or an empty string when no cell has text."""
    texts = [flow(cell) for cell in cells]
    return " | ".join(texts).rstrip() if any(texts) else ""


def _clean_offsets(raw: str, text: str, pages: LaterPages) -> Iterator[tuple[int, int]]:
    """Page offsets in ``text``, the cleaned form of ``raw``."""
    if not pages:
        return
    cleaned = clean(raw)
    place, offset = 0, -(len(cleaned) - len(cleaned.lstrip()))
    for begin, page in pages:
        offset += len(clean(raw[place:begin]))
        place = begin
        if offset < len(text):
            yield max(0, offset), page
