"""Splits a document along its headings, then by paragraphs, sentences and tokens."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import count

from ingestion.splitters.base import ParsedText, Piece, SplitSizes
from ingestion.splitters.packing import build_piece, cut_blocks, pack
from ingestion.splitters.sections import HeadingPath, common_path, iterate_sections
from ingestion.splitters.units import TextUnit, max_characters
from kb_service.text.token_counter import TokenCounter


@dataclass(slots=True)
class _SmallSections:
    path: HeadingPath
    depth: int
    units: list[TextUnit]

    def accepts(self, path: HeadingPath, units: Sequence[TextUnit], sizes: SplitSizes) -> bool:
        """Whether a section is a sibling, parent or child, and there is room for it."""
        tokens = sum(unit.tokens for unit in (*self.units, *units))
        return (
            len(common_path(self.path, path)) >= max(self.depth, len(path)) - 1
            and tokens <= sizes.chunk_size
            and units[-1].end - self.units[0].start <= max_characters(sizes.chunk_size)
        )

    def add(self, path: HeadingPath, units: Sequence[TextUnit]) -> None:
        self.path = common_path(self.path, path)
        self.depth = max(self.depth, len(path))
        self.units.extend(units)


def split(parsed: ParsedText, *, sizes: SplitSizes, counter: TokenCounter) -> Iterator[Piece]:
    """Cut a document into pieces of at most ``sizes.chunk_size`` tokens, in reading order.

    A piece never crosses into another heading's section, except that neighbouring sections of at most a quarter of the
    size (siblings, or a parent and its children) share a piece up to the size. A heading without a body joins its
    first sub-section. Within a section whole paragraphs are packed; a longer one is cut into sentences, then clauses,
    words, characters. Code is cut at blank lines, then lines; a table between rows, its header row repeated. Overlap
    is made of whole sentences (or lines) and never crosses a section. The laws of ``Splitter`` hold; memory is bounded
    by one window of the text.
    """
    numbers = count()
    for path, units in _sectioned(parsed, sizes, counter):
        for packed in pack(units, sizes):
            yield build_piece(parsed.text, path, packed, next(numbers))


def _sectioned(
    parsed: ParsedText, sizes: SplitSizes, counter: TokenCounter
) -> Iterator[tuple[HeadingPath, Iterable[TextUnit]]]:
    tiny = sizes.chunk_size // 4
    small: _SmallSections | None = None
    for section in iterate_sections(parsed):
        units = cut_blocks(parsed.text, section.blocks, sizes=sizes, counter=counter)
        if section.blocks[-1].end - section.blocks[0].start <= max_characters(tiny):
            units = list(units)
            if not units:
                continue
            if sum(unit.tokens for unit in units) <= tiny:
                if small and small.accepts(section.path, units, sizes):
                    small.add(section.path, units)
                    continue
                if small:
                    yield small.path, small.units
                small = _SmallSections(section.path, len(section.path), units)
                continue
        if small:
            yield small.path, small.units
            small = None
        yield section.path, units
    if small:
        yield small.path, small.units
