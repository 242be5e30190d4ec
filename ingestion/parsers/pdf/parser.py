"""PDF: text and ruled tables of its pages without running heads, feet and tables of contents."""

import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from ingestion.parsers.builder import DocumentBuilder
from ingestion.parsers.errors import FailureReason, ParseFailure
from ingestion.parsers.image import ocr, preprocess
from ingestion.parsers.image.ocr import OcrResult
from ingestion.parsers.limits import ParseLimits
from ingestion.parsers.model import ParsedDocument
from ingestion.parsers.pdf.blocks import MAX_HEADING, add_blocks
from ingestion.parsers.pdf.lines import PdfLine, PdfPage, read_pages, render_pages
from ingestion.parsers.sandbox.progress import track_progress

DAMAGED_PAGES = "damaged_pages"
"""Warning: some pages could not be read."""

_MARGIN = 0.1  # share of the page's height that holds running heads and feet
_DIGITS = re.compile(r"\d+|\b[ivxlc]+\b")
_CONTENTS_LINE = re.compile(r"(?:\s?[.…·]){6,}\s*[\divxlc]+$")
_SCANNED_SHARE = 0.1


def parse(path: Path, limits: ParseLimits) -> ParsedDocument:
    """Read the text layer of a PDF; scripts, attachments and actions are not looked at.

    A line set in larger type than the body is a heading, its level the rank of its size. Lines
    are joined to paragraphs across hyphens and pages; running heads, page numbers and lines of a
    table of contents are left out. A table whose cells are drawn by rules is one. Each element
    carries the page it starts on, and where in it later ones begin. Where text recognition is
    installed, pages that are pictures are read by it.
    """
    pages = list(read_pages(path, limits.pages))
    if all(page.is_damaged for page in pages):
        raise ParseFailure(FailureReason.CORRUPT_FILE)
    scanned = [page.number for page in pages if page.has_pictures]
    recognises = bool(scanned) and ocr.is_ready()
    if scanned and not recognises and not any(page.lines for page in pages):
        raise ParseFailure(FailureReason.NO_TEXT_LAYER)
    composition = DocumentBuilder(limits)
    kept = [(page.number, line) for page in pages for line in page.lines]
    running = _running_lines(pages)
    kept = [(number, line) for number, line in kept if not _is_apparatus(line, running)] or kept
    pictures = _recognise(path, scanned, limits) if recognises else {}
    read = {number: reading.paragraphs for number, reading in pictures.items()}
    add_blocks(kept, composition, read)
    warnings = ocr.warnings(pictures.values())
    if not recognises and len(scanned) > _SCANNED_SHARE * len(pages):
        warnings = (FailureReason.NO_TEXT_LAYER.value,)
    if any(page.is_damaged for page in pages):
        warnings += (DAMAGED_PAGES,)
    return composition.finish(pages=len(pages), warnings=warnings)


def _recognise(path: Path, scanned: Sequence[int], limits: ParseLimits) -> dict[int, OcrResult]:
    """What pages that are pictures say, by page number."""
    with ocr.OcrEngine(limits) as recogniser:
        rendered = render_pages(path, scanned, limits.image_pixels)
        pictures = track_progress(rendered, len(scanned))
        return {
            number: preprocess.read(recogniser, picture)
            for number, picture in zip(scanned, pictures, strict=True)
        }


def _running_lines(pages: Sequence[PdfPage]) -> frozenset[str]:
    """Texts, numbers aside, that stand in the margin of many pages."""
    counts = Counter(
        key
        for page in pages
        for key in {_running_key(line) for line in page.lines if _is_marginal(line)}
    )
    least = max(3, len(pages) // 10)
    return frozenset(key for key, count in counts.items() if count >= least)


def _is_marginal(line: PdfLine) -> bool:
    return not _MARGIN < line.place < 1 - _MARGIN and len(line.text) <= MAX_HEADING


def _running_key(line: PdfLine) -> str:
    return _DIGITS.sub("#", line.text.lower())


def _is_apparatus(line: PdfLine, running: frozenset[str]) -> bool:
    if not line.rows and _CONTENTS_LINE.search(line.text[-60:]):
        return True
    return _is_marginal(line) and _running_key(line) in running
