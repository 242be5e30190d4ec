"""Makes one piece of each heading's section."""

from collections.abc import Iterator
from itertools import count

from ingestion.splitters.base import ParsedText, Piece, SplitSizes
from ingestion.splitters.packing import build_piece, cut_blocks, pack
from ingestion.splitters.sections import iterate_sections
from kb_service.text.token_counter import TokenCounter


def split(parsed: ParsedText, *, sizes: SplitSizes, counter: TokenCounter) -> Iterator[Piece]:
    """Cut a document at its headings, of any level, without joining sections.

    Each section is a piece, however short; only a heading without a body of its own joins its first sub-section. A
    section of more than ``chunk_size`` tokens is cut like those of ``heading_recursive``, overlap included. Works for
    every format that has headings. The laws of ``Splitter`` hold.
    """
    numbers = count()
    for section in iterate_sections(parsed):
        units = cut_blocks(parsed.text, section.blocks, sizes=sizes, counter=counter)
        for packed in pack(units, sizes):
            yield build_piece(parsed.text, section.path, packed, next(numbers))
