"""Fills pieces with whole sentences across paragraphs and sections."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import count

from ingestion.splitters.base import ParsedText, Piece, SplitSizes
from ingestion.splitters.packing import build_piece, pack
from ingestion.splitters.sections import SectionIndex
from ingestion.splitters.units import TextBlock, TextUnit, cut_units, ends_sentence, max_characters
from kb_service.text.token_counter import TokenCounter


def split(parsed: ParsedText, *, sizes: SplitSizes, counter: TokenCounter) -> Iterator[Piece]:
    """Cut a document into pieces of about ``sizes.chunk_size`` tokens between sentences.

    Pieces are as full as whole sentences allow, so they are even, and cross paragraphs and headings; the heading path
    is then the common one. A sentence ends at ``. ! ? ;`` before a blank, at ``。！？；…`` with the closing quotes behind
    it, at a blank line and at the end of an element; a line feed alone does not end it. One that fits into a piece is
    never cut. Code is cut between lines, a table between rows, its header row repeated. Overlap is made of whole
    sentences. The laws of ``Splitter`` hold; memory is bounded by the sections and one window of the text.
    """
    outline = SectionIndex(parsed)
    sentences = _sentences(parsed.text, outline.blocks, sizes, counter)
    for index, units in zip(count(), pack(sentences, sizes), strict=False):
        path = outline.path(units[0].start, units[-1].end)
        yield build_piece(parsed.text, path, units, index)


def _sentences(text: str, blocks: Iterable[TextBlock], sizes: SplitSizes, counter: TokenCounter) -> Iterator[TextUnit]:
    """The document's sentences, lines of code and rows, each a unit to pack."""
    for block in blocks:
        units = cut_units(text, block, sizes=sizes, counter=counter)
        whole = units if block.kind in {"code", "table"} else _joined(text, units, sizes.chunk_size)
        yield from (unit._replace(opens=True) for unit in whole)


def _joined(text: str, units: Iterable[TextUnit], size: int) -> Iterator[TextUnit]:
    """Rejoin lines into sentences where those fit."""
    parts: list[TextUnit] = []
    tokens, fits = 0, True
    for unit in units:
        if parts and (unit.opens or ends_sentence(text, parts[-1].end, unit.start)):
            yield from [_merged(parts)] if fits else parts
            parts, tokens, fits = [], 0, True
        parts.append(unit)
        tokens += unit.tokens
        fits = fits and tokens <= size and unit.end - parts[0].start <= max_characters(size)
        if not fits:
            # Yielded at once: a text without any sentence end must not accumulate here.
            yield from parts[:-1]
            del parts[:-1]
    if parts:
        yield from [_merged(parts)] if fits else parts


def _merged(parts: Sequence[TextUnit]) -> TextUnit:
    return parts[0]._replace(end=parts[-1].end, tokens=sum(part.tokens for part in parts))
