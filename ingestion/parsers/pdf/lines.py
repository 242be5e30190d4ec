"""Lines and tables of a PDF's pages with sizes and positions, read by PDFium."""

# pypdfium2 wraps a C library and has no types for what its raw functions return.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false, reportUnknownParameterType=false
# pyright: reportMissingParameterType=false, reportAttributeAccessIssue=false

import ctypes
import math
import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pypdfium2
from pypdfium2 import PdfImage, raw

from ingestion.parsers.errors import FailureReason, ParseFailure
from ingestion.parsers.image.ocr import GreyImage
from ingestion.parsers.pdf.columns import LineParts, in_reading_order, widest_word_gap
from ingestion.parsers.pdf.hyphens import MARKS
from ingestion.parsers.pdf.page import PdfLine, PdfPage
from ingestion.parsers.pdf.tables import RuledGrid, TableRows, find_grids, read_ruling_lines

_LOCKED = frozenset({raw.FPDF_ERR_PASSWORD, raw.FPDF_ERR_SECURITY})
_TAIL = 4096
_FORM_DEPTH = 3
_SCAN_DPI = 300
# Pixels of a page's longer side: a page of A4 at 171 dpi.
_LEAST_SIDE = 2_000
# PDFium writes no line break behind a hyphen that it marks.
_DRAWN_LINE = re.compile(r"[^\n\x02\ufffe]*[\x02\ufffe]|[^\n\x02\ufffe]+")
_GAP = re.compile(r"\s+")
# Narrower lines are no two columns; a line of more parts is a drawing's or a table's.
_NARROWEST_PAIR = 150
_MOST_PARTS = 12
_BLANK = GreyImage(b"\xff", 1, 1, 1)


def read_pages(path: Path, most_pages: int) -> Iterator[PdfPage]:
    """The pages of a document; ParseFailure ``password_protected``, ``corrupt_file`` or ``too_many_pages``."""
    _check_end(path)
    document = _open(path)
    try:
        if len(document) == 0:
            raise ParseFailure(FailureReason.CORRUPT_FILE)
        if len(document) > most_pages:
            raise ParseFailure(FailureReason.TOO_MANY_PAGES)
        for index in range(len(document)):
            yield _read_page(document, index)
    finally:
        document.close()


def render_pages(path: Path, numbers: Sequence[int], most_pixels: int) -> Iterator[GreyImage]:
    """Pages as pictures, in the order of their numbers (from 1); a damaged one is blank."""
    document = _open(path)
    try:
        for number in numbers:
            yield _render(document, number - 1, most_pixels)
    finally:
        document.close()


def _render(document: pypdfium2.PdfDocument, index: int, most_pixels: int) -> GreyImage:
    try:
        page = document[index]
    except pypdfium2.PdfiumError:
        return _BLANK
    try:
        dpi = min(_render_dpi(page), _max_dpi(page, most_pixels))
        if dpi < 1:
            # The page is as large as a town: unreadable at this scale.
            return _BLANK
        # The library's own annotation says int; it takes any factor.
        bitmap = page.render(scale=dpi / 72, grayscale=True)  # pyright: ignore[reportArgumentType]
        pixels = bytes(bitmap.buffer)
        return GreyImage(pixels, bitmap.width, bitmap.height, bitmap.stride, dpi)
    except pypdfium2.PdfiumError:
        return _BLANK
    finally:
        page.close()


def _render_dpi(page: pypdfium2.PdfPage) -> int:
    """The resolution of the page's pictures: larger letters are recognised worse, and more slowly."""
    pictures = page.get_objects([raw.FPDF_PAGEOBJ_IMAGE], _FORM_DEPTH)
    finest = max((_image_dpi(image) for image in pictures if isinstance(image, PdfImage)), default=0.0)
    least = 72 * _LEAST_SIDE / max(page.get_width(), page.get_height(), 1)
    return math.ceil(min(_SCAN_DPI, max(finest or _SCAN_DPI, least)))


def _image_dpi(picture: PdfImage) -> float:
    """Pixels per inch of a picture's longer side; 0 for a damaged one."""
    try:
        left, bottom, right, top = picture.get_bounds()
        pixels = max(picture.get_px_size())
    except pypdfium2.PdfiumError:
        return 0
    return 72 * pixels / max(right - left, top - bottom, 1)


def _max_dpi(page: pypdfium2.PdfPage, most_pixels: int) -> int:
    inches = page.get_width() * page.get_height() / 72**2
    return int(math.sqrt(most_pixels / max(inches, 0.01)))


def _open(path: Path) -> pypdfium2.PdfDocument:
    try:
        return pypdfium2.PdfDocument(path)
    except pypdfium2.PdfiumError as error:
        is_locked = error.err_code in _LOCKED
        raise ParseFailure(FailureReason.PASSWORD_PROTECTED if is_locked else FailureReason.CORRUPT_FILE) from error


def _check_end(path: Path) -> None:
    """Refuse a truncated file: PDFium would return the remaining pages as if complete."""
    with path.open("rb") as file:
        file.seek(max(0, path.stat().st_size - _TAIL))
        if b"startxref" not in file.read():
            raise ParseFailure(FailureReason.CORRUPT_FILE)


def _read_page(document: pypdfium2.PdfDocument, index: int) -> PdfPage:
    try:
        page = document[index]
    except pypdfium2.PdfiumError:
        return PdfPage(index + 1, is_damaged=True)
    try:
        text = page.get_textpage()
        try:
            lines = tuple(in_reading_order(list(_lines(text, _tables(page, text), page.get_height()))))
        finally:
            text.close()
        return PdfPage(index + 1, lines, has_pictures=not lines and _has_pictures(page))
    except pypdfium2.PdfiumError:
        return PdfPage(index + 1, is_damaged=True)
    finally:
        page.close()


def _has_pictures(page: pypdfium2.PdfPage) -> bool:
    pictures = page.get_objects(filter=[raw.FPDF_PAGEOBJ_IMAGE], max_depth=_FORM_DEPTH)
    return next(iter(pictures), None) is not None


@dataclass(slots=True)
class _Table:
    grid: RuledGrid
    characters: set[int] = field(default_factory=set[int])
    texts: dict[tuple[int, int], list[str]] = field(
        default_factory=lambda: defaultdict[tuple[int, int], list[str]](list)
    )
    rows: TableRows = ()

    def line(self, height: float) -> PdfLine:
        xs, top = self.grid.xs, self.grid.ys[-1]
        text = " ".join(cell for row in self.rows for cell in row if cell)
        return PdfLine(text, 0.0, xs[0], xs[-1], top, top / height if height > 0 else 0.5, self.rows)


def _tables(page: pypdfium2.PdfPage, text: pypdfium2.PdfTextPage) -> list[_Table]:
    # Turned pages are drawn sideways: their rows would be columns.
    tables = [] if page.get_rotation() else [_Table(grid) for grid in find_grids(read_ruling_lines(page))]
    if not tables:
        return []
    within: tuple[_Table, tuple[int, int]] | None = None
    for index, character in enumerate(_characters(text)):
        is_blank = character.isspace()
        middle = None if is_blank else _middle(text, index)
        # Characters without a box (a blank, or a hyphen found by PDFium) belong to the previous one.
        if middle is not None:
            within = _cell(tables, *middle)
        if within is not None:
            table, cell = within
            table.texts[cell].append(" " if is_blank else character)
            if character != "\n":
                table.characters.add(index)
    for table in tables:
        texts = {cell: "".join(parts) for cell, parts in table.texts.items()}
        table.rows = table.grid.rows(texts) or ()
    return [table for table in tables if table.rows]


def _cell(tables: Sequence[_Table], x: float, y: float) -> tuple[_Table, tuple[int, int]] | None:
    for table in tables:
        cell = table.grid.cell(x, y)
        if cell is not None:
            return table, cell
    return None


def _middle(text: pypdfium2.PdfTextPage, index: int) -> tuple[float, float] | None:
    left, right, bottom, top = (ctypes.c_double() for _ in range(4))
    raw.FPDFText_GetCharBox(text, index, left, right, bottom, top)
    if left.value == right.value and bottom.value == top.value:
        return None
    return (left.value + right.value) / 2, (bottom.value + top.value) / 2


def _lines(page: pypdfium2.PdfTextPage, tables: Sequence[_Table], height: float) -> Iterator[LineParts]:
    """The lines outside tables, and each table at its first character."""
    table_of = {index: table for table in tables for index in table.characters}
    emitted: list[_Table] = []
    for start, text in _drawn_lines(page):
        places = range(start, start + len(text))
        for table in (table_of[place] for place in places if place in table_of):
            if table not in emitted:
                emitted.append(table)
                line = table.line(height)
                yield LineParts(line, (line,))
        outside = [place for place in places if place not in table_of]
        rest = "".join(text[place - start] for place in outside)
        if stripped := rest.strip():
            first = len(rest) - len(rest.lstrip())
            yield _line_parts(page, stripped, outside[first : first + len(stripped)], height)


def _drawn_lines(page: pypdfium2.PdfTextPage) -> Iterator[tuple[int, str]]:
    """Place and text of each line; behind a marked hyphen a line begins if it lies further left."""
    start, parts = 0, list[str]()
    for match in _DRAWN_LINE.finditer(characters := _characters(page)):
        start = start if parts else match.start()
        parts.append(match[0])
        end = match.end()
        is_within = match[0].endswith(MARKS) and characters[end : end + 1] not in ("", "\n")
        if not (is_within and _goes_on(page, end)):
            yield start, "".join(parts)
            parts = []
    if parts:
        yield start, "".join(parts)


def _goes_on(page: pypdfium2.PdfTextPage, place: int) -> bool:
    """Whether the character at a place stands to the right of the one before the mark before it."""
    before, after = _middle(page, place - 2) if place > 1 else None, _middle(page, place)
    return before is not None and after is not None and after[0] > before[0]


def _line_parts(page: pypdfium2.PdfTextPage, text: str, places: Sequence[int], height: float) -> LineParts:
    line = _line(page, text, places, height)
    if line.right - line.left < _NARROWEST_PAIR:
        return LineParts(line, (line,))
    least = widest_word_gap(line.size)
    gaps = [gap.span() for gap in _GAP.finditer(text) if _width(page, places, *gap.span()) >= least]
    if not 0 < len(gaps) < _MOST_PARTS:
        return LineParts(line, (line,))
    begins, ends = [0, *(end for _, end in gaps)], [*(start for start, _ in gaps), len(text)]
    parts = (_line(page, text[a:b], places[a:b], height) for a, b in zip(begins, ends, strict=True))
    return LineParts(line, tuple(parts))


def _width(page: pypdfium2.PdfTextPage, places: Sequence[int], start: int, end: int) -> float:
    """Points between the words around a blank."""
    left, right = _edges(page, places[start - 1]), _edges(page, places[end])
    return right[0] - left[1]


def _edges(page: pypdfium2.PdfTextPage, index: int) -> tuple[float, float]:
    left, right, bottom, top = (ctypes.c_double() for _ in range(4))
    raw.FPDFText_GetCharBox(page, index, left, right, bottom, top)
    return left.value, right.value


def _characters(page: pypdfium2.PdfTextPage) -> str:
    """The page's text with one character per index of PDFium's."""
    count = page.count_chars()
    text: str = page.get_text_range() if count > 0 else ""
    if len(text) == count:
        return text
    codes = (raw.FPDFText_GetUnicode(page, index) for index in range(count))
    return "".join(chr(code) if code < 0x110000 else "\ufffd" for code in codes)


def _line(page: pypdfium2.PdfTextPage, text: str, places: Sequence[int], height: float) -> PdfLine:
    # A marked hyphen has no box.
    first, last = places[0], places[-2 if text.endswith(MARKS) and len(text) > 1 else -1]
    begin, end = raw.FS_RECTF(), raw.FS_RECTF()
    raw.FPDFText_GetLooseCharBox(page, first, begin)
    raw.FPDFText_GetLooseCharBox(page, last, end)
    size = max(_size(page, first), _size(page, places[(len(places) - 1) // 2]))
    y = float(begin.bottom)
    return PdfLine(text, size, begin.left, end.right, y, y / height if height > 0 else 0.5)


def _size(page: pypdfium2.PdfTextPage, index: int) -> float:
    """Height of the type in points: the font's size under the character's matrix."""
    matrix = raw.FS_MATRIX()
    scale = 1.0
    if raw.FPDFText_GetMatrix(page, index, matrix):
        scale = math.hypot(matrix.c, matrix.d)
    return round(2 * scale * raw.FPDFText_GetFontSize(page, index)) / 2
