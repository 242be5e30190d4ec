"""Splits a document into windows of a fixed number of tokens."""

from collections.abc import Iterator
from dataclasses import replace
from itertools import count

from ingestion.splitters.base import ParsedText, Piece, SplitSizes
from ingestion.splitters.packing import build_piece, pack
from ingestion.splitters.sections import SectionIndex
from ingestion.splitters.units import TextUnit
from kb_service.text.token_counter import TokenCounter, characters


def split(parsed: ParsedText, *, sizes: SplitSizes, counter: TokenCounter) -> Iterator[Piece]:
    """Cut a document into windows of ``chunk_size`` tokens that share ``chunk_overlap``.

    Cuts are at word borders (a Chinese character is a word), so a window may have a few tokens less; a word of more
    tokens than a window is cut between characters. Sentences, paragraphs, tables and headings are ignored: a window's
    heading path is the common one of its sections. The laws of ``Splitter`` hold; memory is bounded by the sections
    and one window of the text.
    """
    outline = SectionIndex(parsed)
    words = _words(parsed.text, sizes, counter)
    for index, units in zip(count(), pack(words, sizes), strict=False):
        start, end = units[0].start, units[-1].end
        piece = build_piece(parsed.text, outline.path(start, end), units, index)
        yield replace(piece, page=outline.page(start))


def _words(text: str, sizes: SplitSizes, counter: TokenCounter) -> Iterator[TextUnit]:
    for window in counter.windows(text):
        for word in window:
            parts = [word] if word.tokens <= sizes.chunk_size else characters(text, word)
            for part in parts:
                yield TextUnit(part.start, part.end, part.tokens, True, None, None)
