"""Delimited values as tables of some rows each, every one under the header row."""

import csv
import re
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from ingestion.parsers.builder import DocumentBuilder, table_row
from ingestion.parsers.errors import FailureReason, ParseFailure
from ingestion.parsers.limits import ParseLimits
from ingestion.parsers.model import ParsedDocument
from ingestion.parsers.text.charset import decode
from ingestion.parsers.text_cleanup import clean

# Between equals the rarer in prose and numbers wins: "0,5;1,5" has decimal commas.
_DELIMITERS = ("\t", ";", "|", ",")
_SAMPLE_ROWS = 50
_SAMPLE_CHARACTERS = 65_536
_BLOCK_CHARACTERS = 1_200
_LONGEST_HEADER = 600
_NUMBER = re.compile(r"[-+(]?[$€£¥]?[\d.,\s:/%-]*\d[\d.,\s:/%)-]*$")


def parse(path: Path, limits: ParseLimits) -> ParsedDocument:
    """Read comma-, tab-, semicolon- or bar-separated values of any encoding.

    Each table element holds the header line and rows of about a thousand characters. Without a header (its first row
    holds numbers or blanks) it holds rows only.
    """
    decoded = decode(path.read_bytes())
    text = clean(decoded.text)
    builder = DocumentBuilder(limits)
    for block in _blocks(rows(text, delimiter(text))):
        builder.add("table", block)
    return builder.finish(encoding=decoded.encoding, confidence=decoded.confidence, warnings=decoded.warnings)


def rows(text: str, separator: str) -> Iterator[list[str]]:
    """The records; a quote left open ends with the text. ParseFailure ``corrupt_file`` for unreadable records."""
    csv.field_size_limit(2**31 - 1)
    lines = (f"{line}\n" for line in text.split("\n"))
    try:
        yield from csv.reader(lines, delimiter=separator, skipinitialspace=True)
    except csv.Error as error:
        raise ParseFailure(FailureReason.CORRUPT_FILE) from error


def delimiter(text: str) -> str:
    """The separator under which the first records have the same number of fields, and several."""
    sample = text[:_SAMPLE_CHARACTERS]
    if len(text) > len(sample):
        sample = sample[: sample.rfind("\n") + 1] or sample
    return max(_DELIMITERS, key=lambda candidate: _evenness(sample, candidate))


def _evenness(sample: str, separator: str) -> float:
    widths = [len(row) for row in islice(rows(sample, separator), _SAMPLE_ROWS) if row]
    if not widths or max(widths) < 2:
        return 0.0
    usual = max(set(widths), key=widths.count)
    return widths.count(usual) / len(widths) if usual > 1 else 0.0


def _blocks(records: Iterator[list[str]]) -> Iterator[str]:
    first = next((record for record in records if table_row(record)), None)
    if first is None:
        return
    head = table_row(first)
    header = head if is_header(first) and len(head) <= _LONGEST_HEADER else ""
    block, length = [head], 0
    for record in records:
        line = table_row(record)
        if not line:
            continue
        if length and length + len(line) > _BLOCK_CHARACTERS:
            yield "\n".join(block)
            block, length = [header] if header else [], 0
        block.append(line)
        length += len(line)
    yield "\n".join(block)


def is_header(record: list[str]) -> bool:
    """Whether a row is a header: each cell has text, none is a number."""
    return all(cell.strip() and not _NUMBER.match(cell.strip()[:64]) for cell in record)
