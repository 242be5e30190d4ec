"""Packs units into pieces of a size, whole paragraphs first, with overlap at unit borders."""

from collections.abc import Iterable, Iterator, Sequence

from ingestion.splitters.base import Piece, SplitSizes
from ingestion.splitters.units import TextBlock, TextUnit, cut_units, max_characters
from kb_service.text.token_counter import TokenCounter


def cut_blocks(
    text: str, blocks: Iterable[TextBlock], *, sizes: SplitSizes, counter: TokenCounter
) -> Iterator[TextUnit]:
    """The units of some blocks in order; see ``cut_units``."""
    for block in blocks:
        yield from cut_units(text, block, sizes=sizes, counter=counter)


def build_piece(text: str, path: tuple[str, ...], units: Sequence[TextUnit], index: int) -> Piece:
    """The piece of neighbouring units, with a table's header row in front where needed."""
    first, last = units[0], units[-1]
    passage = text[first.start : last.end]
    tokens = sum(unit.tokens for unit in units)
    if first.lead:
        passage = f"{text[first.lead.start : first.lead.end]}\n{passage}"
        tokens += first.lead.tokens
    return Piece(passage, path, first.page, first.start, last.end, tokens, index)


class _PieceBuffer:
    def __init__(self, sizes: SplitSizes) -> None:
        self._sizes = sizes
        self.units: list[TextUnit] = []
        self.tokens = 0

    def fits(self, units: Sequence[TextUnit]) -> bool:
        tokens = self.tokens + sum(unit.tokens for unit in units)
        characters = units[-1].end - self.units[0].start
        size = self._sizes.chunk_size
        return tokens <= size and characters <= max_characters(size)

    def append(self, unit: TextUnit) -> None:
        if not self.units:
            self.tokens = _lead_tokens(unit)
        self.units.append(unit)
        self.tokens += unit.tokens

    def take(self, following: Sequence[TextUnit]) -> list[TextUnit]:
        """Return the piece and start the next one with the overlap that fits with ``following``, never with all of it."""
        units = self.units
        self.units = _overlap(units, self._sizes.chunk_overlap)
        self.tokens = sum(unit.tokens for unit in self.units)
        while self.units and not self.fits(following):
            self.tokens -= self.units.pop(0).tokens
        return units


def pack(units: Iterable[TextUnit], sizes: SplitSizes) -> Iterator[list[TextUnit]]:
    """Fill pieces with units in order; each list is one piece, its overlap in front.

    A paragraph that fits into a piece is not cut, unless the piece before it would stay below a quarter of the size.
    Tables' rows never overlap.
    """
    current = _PieceBuffer(sizes)
    least = sizes.chunk_size // 4
    for paragraph in _paragraphs(units, sizes.chunk_size):
        if current.units and current.tokens >= least and not current.fits(paragraph):
            yield current.take(paragraph)
        for unit in paragraph:
            if current.units and not current.fits([unit]):
                yield current.take([unit])
            current.append(unit)
    if current.units:
        yield current.units


def _paragraphs(units: Iterable[TextUnit], size: int) -> Iterator[list[TextUnit]]:
    """Paragraphs of at most ``size`` tokens; the units of a longer one individually."""
    paragraph: list[TextUnit] = []
    tokens = 0
    for unit in units:
        if unit.opens:
            if paragraph:
                yield paragraph
            paragraph, tokens = [], 0
        tokens += unit.tokens
        if tokens <= size:
            paragraph.append(unit)
        else:
            yield from ([early] for early in paragraph)
            yield [unit]
            paragraph = []
    if paragraph:
        yield paragraph


def _overlap(units: Sequence[TextUnit], most: int) -> list[TextUnit]:
    carried: list[TextUnit] = []
    for unit in reversed(units):
        most -= unit.tokens
        if most < 0 or unit.lead:
            break
        carried.append(unit)
    return carried[::-1]


def _lead_tokens(unit: TextUnit) -> int:
    return unit.lead.tokens if unit.lead else 0
