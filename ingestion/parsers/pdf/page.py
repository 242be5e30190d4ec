"""Pages of a PDF as they are read: lines with sizes and positions."""

from dataclasses import dataclass

from ingestion.parsers.pdf.tables import TableRows


@dataclass(frozen=True, slots=True)
class PdfLine:
    """One line of a page; lengths in points, y upwards from the foot of the page.

    Attributes:
        y: Of its first character.
        place: The same as share of the page's height, 1 at the top.
        rows: The cells of a table, which counts as one line of size 0.
    """

    text: str
    size: float
    left: float
    right: float
    y: float
    place: float
    rows: TableRows = ()


@dataclass(frozen=True, slots=True)
class PdfPage:
    """One page.

    Attributes:
        number: From 1.
        lines: In reading order: that of the content, except for columns drawn row by row.
        has_pictures: Determined only for pages without text.
        is_damaged: Whether it could not be read.
    """

    number: int
    lines: tuple[PdfLine, ...] = ()
    has_pictures: bool = False
    is_damaged: bool = False
