"""Source code: one element per top-level block."""

from collections.abc import Iterator
from pathlib import Path

from ingestion.parsers.builder import DocumentBuilder
from ingestion.parsers.limits import ParseLimits
from ingestion.parsers.model import ParsedDocument
from ingestion.parsers.text.charset import decode
from ingestion.parsers.text_cleanup import clean


def parse(path: Path, limits: ParseLimits) -> ParsedDocument:
    """Read source code; a block ends at a blank line before an unindented line, so that indented functions stay whole."""
    decoded = decode(path.read_bytes())
    builder = DocumentBuilder(limits)
    for block in blocks(clean(decoded.text)):
        builder.add("code", block)
    return builder.finish(encoding=decoded.encoding, confidence=decoded.confidence, warnings=decoded.warnings)


def blocks(text: str) -> Iterator[str]:
    """The top-level blocks of clean source text."""
    lines: list[str] = []
    after_blank = False
    for line in text.split("\n"):
        blank = not line or line.isspace()
        if after_blank and not blank and not line[0].isspace() and line[0] not in ")]}":
            yield "\n".join(lines)
            lines = []
        lines.append(line)
        after_blank = blank
    yield "\n".join(lines)
