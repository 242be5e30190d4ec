"""Plain text: paragraphs by blank lines or indentation, and certain headings."""

import re
from collections.abc import Iterator
from pathlib import Path

from ingestion.parsers.builder import DocumentBuilder
from ingestion.parsers.limits import ParseLimits
from ingestion.parsers.model import Kind, ParsedDocument
from ingestion.parsers.text.charset import decode
from ingestion.parsers.text_cleanup import clean

_LONGEST_HEADING = 60
_UNDERLINE = re.compile(r"(={3,}|-{3,}|~{3,})\s*$")
_UNDERLINE_LEVELS = {"=": 1, "-": 2, "~": 3}
_NUMBERED = re.compile(
    r"第[一二三四五六七八九十百千零〇两0-9０-９]{1,7}(?P<zh>[编篇部卷編章回节節])(?:[\s:：].*|[^，。；！？,;!?]{0,20})$"
    r"|(?P<en>part|book|chapter|section)\s+(?:[0-9]{1,3}|[ivxlc]{1,7})\b[.:\s—-]?.*$",
    re.IGNORECASE,
)
_NUMBERED_LEVELS: dict[str, int] = {
    **dict.fromkeys(("part", "book", "编", "篇", "部", "卷", "編"), 1),
    **dict.fromkeys(("chapter", "章", "回"), 2),
    **dict.fromkeys(("section", "节", "節"), 3),
}
_SENTENCE = re.compile(r"[，。；！？,;!?]|\.$")
_INDENTED = ("\u3000", "\t")

Block = tuple[Kind, str, int]


def parse(path: Path, limits: ParseLimits) -> ParsedDocument:
    """Read plain text of any encoding.

    Lines are unchanged. A paragraph ends at a blank line, or where the next line is indented by an ideographic space
    or a tab. A heading is an underlined line, or a line of its own such as ``第一章 总则`` or ``Chapter 1``. Certainly too
    long texts are refused at their upload (``text_bounds``).
    """
    decoded = decode(path.read_bytes())
    builder = DocumentBuilder(limits)
    for kind, text, level in blocks(clean(decoded.text)):
        builder.add(kind, text, level=level)
    return builder.finish(encoding=decoded.encoding, confidence=decoded.confidence, warnings=decoded.warnings)


def blocks(text: str) -> Iterator[Block]:
    """Kind, text and heading level of each block of clean text."""
    lines: list[str] = []
    for line in text.split("\n"):
        if not line or line.isspace():
            yield from _paragraph(lines)
            lines = []
        elif level := _underline_level(line, lines):
            yield "heading", lines[0], level
            lines = []
        elif level := _numbered_level(line, lines):
            yield from _paragraph(lines)
            yield "heading", line, level
            lines = []
        elif lines and line.startswith(_INDENTED) and not lines[-1].startswith("\t"):
            yield from _paragraph(lines)
            lines = [line]
        else:
            lines.append(line)
    yield from _paragraph(lines)


def _paragraph(lines: list[str]) -> Iterator[Block]:
    if lines:
        yield "paragraph", "\n".join(lines), 0


def _underline_level(line: str, before: list[str]) -> int:
    """Level of the heading that this line underlines, or 0; it must be the only line before."""
    if len(before) != 1 or not 0 < len(before[0].strip()) <= _LONGEST_HEADING:
        return 0
    match = _UNDERLINE.match(line)
    is_rule = match is not None and len(match[1]) >= len(before[0].strip()) // 2
    return _UNDERLINE_LEVELS[line[0]] if is_rule else 0


def _numbered_level(line: str, before: list[str]) -> int:
    """Level of a numbered heading, or 0; it must not stand in the middle of a sentence."""
    line = line.strip()
    if len(line) > _LONGEST_HEADING or _SENTENCE.search(line):
        return 0
    if before and not before[-1].rstrip().endswith(("。", "！", "？", "”", "」", ".", "!", "?")):
        return 0
    match = _NUMBERED.match(line)
    return _NUMBERED_LEVELS[str(match["zh"] or match["en"]).lower()] if match else 0
