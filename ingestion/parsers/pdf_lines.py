"""The lines of a PDF's pages with size and place: the only module that knows PDFium."""

# pypdfium2 wraps a C library and has no types for what its raw functions return.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false, reportUnknownParameterType=false
# pyright: reportMissingParameterType=false, reportAttributeAccessIssue=false

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pypdfium2
from pypdfium2 import raw

from ingestion.parsers.failure import FailureReason, ParseFailure
from ingestion.parsers.recognition import Picture

_LOCKED = frozenset({raw.FPDF_ERR_PASSWORD, raw.FPDF_ERR_SECURITY})
_TAIL = 4096
_FORM_DEPTH = 3
_SCAN_DPI = 300
_BLANK = Picture(b"\xff", 1, 1, 1)


@dataclass(frozen=True, slots=True)
class Line:
    """One line of a page; lengths in points, y upwards from the foot of the page.

    Attributes:
        text: The line's characters as PDFium reads them.
        size: Height of its type.
        left: Where it begins.
        right: Where it ends.
        y: Where its first character stands, as a length.
        place: The same as share of the page's height, 1 at the top.
    """

    text: str
    size: float
    left: float
    right: float
    y: float
    place: float


@dataclass(frozen=True, slots=True)
class Page:
    """One page.

    Attributes:
        number: From 1.
        lines: Lines in the order of the content.
        has_pictures: Whether it shows pictures (looked up only where it has no text).
        is_damaged: Whether it could not be read.
    """

    number: int
    lines: tuple[Line, ...] = ()
    has_pictures: bool = False
    is_damaged: bool = False


def read_pages(path: Path, most_pages: int) -> Iterator[Page]:
    """The pages of a document in order.

    Raises:
        ParseFailure: ``password_protected``, ``corrupt_file`` or ``too_many_pages``.
    """
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


def render_pages(path: Path, numbers: Sequence[int], most_pixels: int) -> Iterator[Picture]:
    """Pages as pictures, in the order of their numbers (from 1); a damaged one is blank."""
    document = _open(path)
    try:
        for number in numbers:
            yield _render(document, number - 1, most_pixels)
    finally:
        document.close()


def _render(document: pypdfium2.PdfDocument, index: int, most_pixels: int) -> Picture:
    try:
        page = document[index]
    except pypdfium2.PdfiumError:
        return _BLANK
    try:
        inches = page.get_width() * page.get_height() / 72**2
        dpi = min(_SCAN_DPI, int(math.sqrt(most_pixels / max(inches, 0.01))))
        # The library's own annotation says int; it takes any factor.
        bitmap = page.render(scale=dpi / 72, grayscale=True)  # pyright: ignore[reportArgumentType]
        pixels = bytes(bitmap.buffer)
        return Picture(pixels, bitmap.width, bitmap.height, bitmap.stride, dpi)
    except pypdfium2.PdfiumError:
        return _BLANK
    finally:
        page.close()


def _open(path: Path) -> pypdfium2.PdfDocument:
    try:
        return pypdfium2.PdfDocument(path)
    except pypdfium2.PdfiumError as error:
        is_locked = error.err_code in _LOCKED
        raise ParseFailure(
            FailureReason.PASSWORD_PROTECTED if is_locked else FailureReason.CORRUPT_FILE
        ) from error


def _check_end(path: Path) -> None:
    """Refuse a file that was cut off: PDFium would give the pages that are left, as if whole."""
    with path.open("rb") as file:
        file.seek(max(0, path.stat().st_size - _TAIL))
        if b"startxref" not in file.read():
            raise ParseFailure(FailureReason.CORRUPT_FILE)


def _read_page(document: pypdfium2.PdfDocument, index: int) -> Page:
    try:
        page = document[index]
    except pypdfium2.PdfiumError:
        return Page(index + 1, is_damaged=True)
    try:
        text = page.get_textpage()
        try:
            lines = tuple(_lines(text, page.get_height()))
        finally:
            text.close()
        return Page(index + 1, lines, has_pictures=not lines and _has_pictures(page))
    except pypdfium2.PdfiumError:
        return Page(index + 1, is_damaged=True)
    finally:
        page.close()


def _has_pictures(page: pypdfium2.PdfPage) -> bool:
    pictures = page.get_objects(filter=[raw.FPDF_PAGEOBJ_IMAGE], max_depth=_FORM_DEPTH)
    return next(iter(pictures), None) is not None


def _lines(page: pypdfium2.PdfTextPage, height: float) -> Iterator[Line]:
    start = 0
    for text in _characters(page).split("\n"):
        stripped = text.strip()
        if stripped:
            first = start + len(text) - len(text.lstrip())
            yield _line(page, stripped, first, height)
        start += len(text) + 1


def _characters(page: pypdfium2.PdfTextPage) -> str:
    """The page's text with one character per index of PDFium's."""
    count = page.count_chars()
    text: str = page.get_text_range() if count > 0 else ""
    if len(text) == count:
        return text
    codes = (raw.FPDFText_GetUnicode(page, index) for index in range(count))
    return "".join(chr(code) if code < 0x110000 else "\ufffd" for code in codes)


def _line(page: pypdfium2.PdfTextPage, text: str, first: int, height: float) -> Line:
    last = first + len(text) - 1
    begin, end = raw.FS_RECTF(), raw.FS_RECTF()
    raw.FPDFText_GetLooseCharBox(page, first, begin)
    raw.FPDFText_GetLooseCharBox(page, last, end)
    size = max(_size(page, first), _size(page, (first + last) // 2))
    y = float(begin.bottom)
    return Line(text, size, begin.left, end.right, y, y / height if height > 0 else 0.5)


def _size(page: pypdfium2.PdfTextPage, index: int) -> float:
    """Height of the type in points: the font's size under the character's matrix."""
    matrix = raw.FS_MATRIX()
    scale = 1.0
    if raw.FPDFText_GetMatrix(page, index, matrix):
        scale = math.hypot(matrix.c, matrix.d)
    return round(2 * scale * raw.FPDFText_GetFontSize(page, index)) / 2
