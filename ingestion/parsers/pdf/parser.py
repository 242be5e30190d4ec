"""PDF: text and ruled tables, without page headers, footers and tables of contents."""

import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path

from core.types.text_boxes import TextBox
from ingestion.parsers.builder import DocumentBuilder, table_text
from ingestion.parsers.errors import FailureReason, ParseFailure
from ingestion.parsers.image import ocr, preprocess
from ingestion.parsers.image.ocr import OcrResult
from ingestion.parsers.limits import ParseLimits
from ingestion.parsers.model import LaterPages, ParsedDocument
from ingestion.parsers.pdf.hyphens import DocumentWords
from ingestion.parsers.pdf.lines import read_pages, render_pages
from ingestion.parsers.pdf.page import PdfLine, PdfPage
from ingestion.parsers.sandbox.progress import track_progress
from ingestion.parsers.text.csv import is_header
from ingestion.parsers.text_cleanup import BREAK, flow_lines

DAMAGED_PAGES = "damaged_pages"
"""Warning: some pages could not be read."""

_MARGIN = 0.1  # share of the page's height that holds running heads and feet
_DIGITS = re.compile(r"\d+|\b[ivxlc]+\b")
_CONTENTS_LINE = re.compile(r"(?:\s?[.…·]){6,}\s*[\divxlc]+$")
_SCANNED_SHARE = 0.1


def parse(path: Path, limits: ParseLimits) -> ParsedDocument:
    """Read the text layer of a PDF; scripts, attachments and actions are ignored.

    A line in larger type than the body is a heading, its level the rank of its size. Lines are joined to paragraphs
    across hyphens, columns and pages; page headers, page numbers and lines of a table of contents are left out. Only tables
    with ruled cells are recognised. Each element has the page it starts on, and the offsets of later pages. Where text
    recognition is installed, it reads pages that are pictures.
    """
    pages = list(read_pages(path, limits.pages))
    if all(page.is_damaged for page in pages):
        raise ParseFailure(FailureReason.CORRUPT_FILE)
    scanned = [page.number for page in pages if page.has_pictures]
    recognises = bool(scanned) and ocr.is_ready()
    if scanned and not recognises and not any(page.lines for page in pages):
        raise ParseFailure(FailureReason.NO_TEXT_LAYER)
    builder = DocumentBuilder(limits)
    lines = [(page.number, line) for page in pages for line in page.lines]
    running = _running_lines(pages)
    lines = [(number, line) for number, line in lines if not _is_apparatus(line, running)] or lines
    pictures = _recognise(path, scanned, limits) if recognises else {}
    read = {number: list(reading.placed_paragraphs(number)) for number, reading in pictures.items()}
    _add_blocks(lines, builder, read)
    warnings = ocr.warnings(pictures.values())
    if not recognises and len(scanned) > _SCANNED_SHARE * len(pages):
        warnings = (FailureReason.NO_TEXT_LAYER.value,)
    if any(page.is_damaged for page in pages):
        warnings += (DAMAGED_PAGES,)
    return builder.finish(pages=len(pages), warnings=warnings)


def _recognise(path: Path, scanned: Sequence[int], limits: ParseLimits) -> dict[int, OcrResult]:
    with ocr.OcrEngine(limits) as recogniser:
        rendered = render_pages(path, scanned, limits.image_pixels)
        pictures = track_progress(rendered, len(scanned))
        return {number: preprocess.read(recogniser, picture) for number, picture in zip(scanned, pictures, strict=True)}


def _running_lines(pages: Sequence[PdfPage]) -> frozenset[str]:
    """Texts, digits aside, in the margin of many pages."""
    counts = Counter(key for page in pages for key in {_running_key(line) for line in page.lines if _is_marginal(line)})
    least = max(3, len(pages) // 10)
    return frozenset(key for key, count in counts.items() if count >= least)


def _is_marginal(line: PdfLine) -> bool:
    return not _MARGIN < line.place < 1 - _MARGIN and len(line.text) <= _MAX_HEADING


def _running_key(line: PdfLine) -> str:
    return _DIGITS.sub("#", line.text.lower())


def _is_apparatus(line: PdfLine, running: frozenset[str]) -> bool:
    if not line.rows and _CONTENTS_LINE.search(line.text[-60:]):
        return True
    return _is_marginal(line) and _running_key(line) in running


_MAX_HEADING = 200
_HEADING_SCALE = 1.12
_MOST_LEVELS = 6
_BULLET = re.compile(r"([•▪‣●○■□◦∙·–*\uf0b7\uf0a7-])\s+(?=\S)")
_NUMBERED = re.compile(r"(?:\(?\d{1,2}[.)、]|[（(][一二三四五六七八九十]{1,3}[）)])\s*(?=\D)")
_SENTENCE_END = re.compile(r"[.!?。！？:：;；][\"'”’」』)）\]]*$")
_COLUMN = 72  # points; lines that begin this close to each other share a right edge
_SHIFT = 5  # points by which the two parts of a table may differ in place
_VISIBLE = re.compile(r"\S")
_RAGGED = 0.15  # share of its column's width that a full line may leave free


def _add_blocks(
    lines: Sequence[tuple[int, PdfLine]],
    out: DocumentBuilder,
    pictures: Mapping[int, Sequence[tuple[str, Sequence[TextBox]]]],
) -> None:
    """Add the elements of lines by page, and paragraphs recognised in pictures with their boxes by page."""
    kind = _Typography.of(lines)
    waiting = sorted(pictures, reverse=True)

    def add_pictures(before: float) -> None:
        while waiting and waiting[-1] < before:
            page = waiting.pop()
            for text, boxes in pictures[page]:
                out.add("paragraph", text, page=page, boxes=boxes)

    for block in _blocks(lines, kind):
        add_pictures(block.lines[0][0])
        block.add_to(out, kind)
    add_pictures(math.inf)


@dataclass(frozen=True, slots=True)
class _Typography:
    """Size and pitch of the body, level of each larger size, right edges of columns, words."""

    body: float
    pitch: float
    levels: dict[float, int]
    edges: dict[tuple[int, int], float]
    words: DocumentWords

    @classmethod
    def of(cls, lines: Sequence[tuple[int, PdfLine]]) -> "_Typography":
        sizes: Counter[float] = Counter()
        for _, line in lines:
            if not line.rows:
                sizes[line.size] += len(line.text)
        body = sizes.most_common(1)[0][0] if sizes else 0.0
        larger = {
            line.size for _, line in lines if line.size >= body * _HEADING_SCALE and len(line.text) <= _MAX_HEADING
        }
        ranked = sorted(larger, reverse=True)
        levels = {size: min(rank, _MOST_LEVELS) for rank, size in enumerate(ranked, 1)}
        edges: dict[tuple[int, int], float] = {}
        for page, line in lines:
            if line.size == body:
                column = (page, int(line.left // _COLUMN))
                edges[column] = max(edges.get(column, 0.0), line.right)
        words = DocumentWords.of(line.text for _, line in lines if not line.rows)
        return cls(body, _pitch(lines, body), levels, edges, words)

    def level(self, line: PdfLine) -> int:
        """Level of a heading line, 0 for body text."""
        has_words = sum(char.isalpha() for char in line.text[:_MAX_HEADING]) > 1
        is_short = len(line.text) <= _MAX_HEADING
        return self.levels.get(line.size, 0) if has_words and is_short else 0

    def is_full(self, page: int, line: PdfLine) -> bool:
        """Whether a line reaches the right edge of its column, so that the next may continue it."""
        column = int(line.left // _COLUMN)
        edge = max(self.edges.get((page, near), 0.0) for near in (column - 1, column, column + 1))
        return line.right >= edge - _RAGGED * (edge - line.left)


def _pitch(lines: Sequence[tuple[int, PdfLine]], body: float) -> float:
    pitches: Counter[int] = Counter()
    before: PdfLine | None = None
    for _, line in lines:
        if before is not None and before.size == line.size == body and before.y > line.y:
            pitches[round(before.y - line.y)] += 1
        before = line
    return float(pitches.most_common(1)[0][0]) if pitches else 1.2 * body


@dataclass(slots=True)
class _LineBlock:
    level: int
    lines: list[tuple[int, PdfLine]] = field(default_factory=list[tuple[int, PdfLine]])

    def takes(self, page: int, line: PdfLine, kind: _Typography) -> bool:
        last_page, last = self.lines[-1]
        if line.rows or last.rows:
            return page == last_page + 1 and _continues_table(self.lines[0][1], line)
        if kind.level(line) != self.level or abs(line.size - last.size) > 1:
            return False
        drop = last.y - line.y
        if self.level:
            return page == last_page and 0 < drop < 2 * line.size
        ended = _SENTENCE_END.search(last.text[-8:]) is not None
        if _BULLET.match(line.text) or (ended and _NUMBERED.match(line.text)):
            return False
        if page != last_page or not 0 < drop < 1.45 * max(kind.pitch, line.size):
            # Another column or page: the paragraph goes on if it stopped within a sentence.
            return not ended and kind.is_full(last_page, last) and (drop < 0 or page != last_page)
        is_indented = 0.7 * line.size < line.left - last.left < 5 * line.size
        return not ended or (kind.is_full(last_page, last) and not is_indented)

    def add_to(self, out: DocumentBuilder, kind: _Typography) -> None:
        page, first = self.lines[0]
        if first.rows:
            text, later = self._table()
            out.add("table", text, page=page, later_pages=later)
            return
        text, later = self._text(kind)
        if self.level:
            out.add("heading", text.replace("\n", " "), level=self.level, page=page)
        elif bullet := _BULLET.match(text):
            later = tuple((max(0, at + 2 - bullet.end()), number) for at, number in later)
            text = f"- {text[bullet.end() :]}"
            out.add("list_item", text, level=1, page=page, later_pages=later)
        elif _NUMBERED.match(text):
            out.add("list_item", text, level=1, page=page, later_pages=later)
        else:
            out.add("paragraph", text, page=page, later_pages=later)

    def _table(self) -> tuple[str, LaterPages]:
        """The rows of all its pages without repeated headers, and the page offsets."""
        header = self.lines[0][1].rows[0]
        text = table_text(self.lines[0][1].rows)
        later: list[tuple[int, int]] = []
        parts = [text]
        place = len(text)
        for page, line in self.lines[1:]:
            rows = line.rows[1:] if line.rows[0] == header else line.rows
            later.append((place + 1, page))
            parts.append(table_text(rows))
            place += 1 + len(parts[-1])
        return "\n".join(parts), tuple(later)

    def _text(self, kind: _Typography) -> tuple[str, LaterPages]:
        """Join full lines and the words parted between them, and keep the ends of others."""
        parts: list[str] = []
        later: dict[int, int] = {}
        visible = 0
        last_page = self.lines[0][0]
        following = [*(line.text for _, line in self.lines[1:]), ""]
        for (page, line), rest in zip(self.lines, following, strict=True):
            if page != last_page:
                later[visible] = last_page = page
            joined = kind.words.joined(line.text, rest)
            if joined is None:
                joined = line.text + ("\n" if kind.is_full(page, line) else BREAK)
            parts.append(joined)
            visible += len("".join(parts[-1].replace(BREAK, " ").split()))
        text = flow_lines("".join(parts))
        return text, tuple(_page_offsets(text, later.items()))


def _page_offsets(text: str, counts: Iterable[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """Page offsets from the number of visible characters before each, ascending."""
    places = (match.start() for match in _VISIBLE.finditer(text))
    passed = 0
    for count, page in counts:
        place = next(islice(places, count - passed, None), None)
        if place is None:
            return
        yield place, page
        passed = count + 1


def _continues_table(table: PdfLine, line: PdfLine) -> bool:
    """Whether a line at the top of the next page continues a table, its header repeated or not."""
    if not line.rows or not table.rows or len(line.rows[0]) != len(table.rows[0]):
        return False
    is_below = abs(line.left - table.left) < _SHIFT and abs(line.right - table.right) < _SHIFT
    # A table with another header is a new one.
    return is_below and (line.rows[0] == table.rows[0] or not is_header(list(line.rows[0])))


def _blocks(lines: Iterable[tuple[int, PdfLine]], kind: _Typography) -> Iterator[_LineBlock]:
    block: _LineBlock | None = None
    for page, line in lines:
        if block is not None and block.takes(page, line, kind):
            block.lines.append((page, line))
            continue
        if block is not None:
            yield block
        block = _LineBlock(kind.level(line), [(page, line)])
    if block is not None:
        yield block
