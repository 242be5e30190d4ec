"""JSON Lines: one record per line, each flattened to lines of path and value."""

from collections.abc import Iterator
from pathlib import Path

from ingestion.parsers.builder import DocumentBuilder
from ingestion.parsers.errors import FailureReason, ParseFailure
from ingestion.parsers.limits import ParseLimits
from ingestion.parsers.model import ParsedDocument
from ingestion.parsers.text.charset import decode
from ingestion.parsers.text.json import blocks, lines, load

DAMAGED_RECORDS = "damaged_records"
"""Warning: some lines are not JSON and stand in the text as they are."""


def parse(path: Path, limits: ParseLimits) -> ParsedDocument:
    """Read JSON Lines; records stay whole as far as the size of a block allows.

    A line that is not JSON is kept unchanged, with the warning ``damaged_records``; a file mostly of such lines is
    damaged.
    """
    decoded = decode(path.read_bytes())
    builder = DocumentBuilder(limits)
    damaged: list[str] = []
    records = [line for line in decoded.text.split("\n") if line.strip()]
    for block in blocks(_groups(records, damaged)):
        builder.add("code", block)
    if 2 * len(damaged) > len(records):
        raise ParseFailure(FailureReason.CORRUPT_FILE)
    return builder.finish(
        encoding=decoded.encoding,
        confidence=decoded.confidence,
        warnings=decoded.warnings + ((DAMAGED_RECORDS,) if damaged else ()),
    )


def _groups(records: list[str], damaged: list[str]) -> Iterator[list[str]]:
    for record in records:
        try:
            value = load(record)
        except ParseFailure as failure:
            if failure.reason is not FailureReason.CORRUPT_FILE:
                raise
            damaged.append(record)
            yield [record]
        else:
            yield list(lines("", value))
