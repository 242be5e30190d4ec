"""Pieces that keep the splitters' laws, of the texts that a node parser returned."""

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import count
from typing import NamedTuple

from ingestion.splitters.base import Piece, SplitSizes
from ingestion.splitters.node_runs import TextRun
from ingestion.splitters.packing import build_piece, cut_blocks, pack
from ingestion.splitters.sections import SectionIndex
from ingestion.splitters.units import max_characters
from kb_service.text.token_counter import TokenCounter

_VISIBLE = re.compile(r"\S")


class NodeSpan(NamedTuple):
    """A node's place in the document."""

    start: int
    end: int


Windows = Callable[[str, TokenCounter], tuple[str, ...]]
"""Gives the dense windows of a passage (see ``Piece``)."""


def find_spans(run: TextRun, nodes: Iterable[str]) -> Iterator[NodeSpan]:
    """The places of a run's nodes, ascending, in the document.

    A node may overlap the one before it. Where its text stands several times, the last place counts that leaves no
    text between them; a node that only repeats what came before has none.
    """
    text = run.text
    start, end = -1, 0
    for node in nodes:
        body = node.strip()
        following = _VISIBLE.search(text, end)
        if not body or following is None:
            continue
        place = text.rfind(body, start + 1, following.start() + len(body))
        if place >= 0 and place + len(body) > end:
            start, end = place, place + len(body)
            yield NodeSpan(run.start + start, run.start + end)


def lawful_pieces(
    outline: SectionIndex,
    text: str,
    node_runs: Iterable[tuple[TextRun, Iterable[NodeSpan]]],
    *,
    sizes: SplitSizes,
    counter: TokenCounter,
    windows: Windows | None = None,
) -> Iterator[Piece]:
    """Pieces of nodes: one too long is cut as other splitters cut, and text that no node has becomes pieces of its own.

    Args:
        node_runs: Each run of the text in order, with its nodes.
        windows: Of each piece; None for none.
    """
    numbers = count()
    maker = _PieceMaker(outline, text, sizes, counter, windows)
    for run, spans in node_runs:
        for span in spans:
            for piece in maker.pieces(run, span):
                yield maker.finished(piece, next(numbers))
        for piece in maker.rest(run, run.end):
            yield maker.finished(piece, next(numbers))


@dataclass(slots=True)
class _PieceMaker:
    outline: SectionIndex
    text: str
    sizes: SplitSizes
    counter: TokenCounter
    windows: Windows | None
    last_start: int = -1
    covered: int = 0
    """End of the last piece."""

    def pieces(self, run: TextRun, span: NodeSpan) -> Iterator[Piece]:
        """The text before a node that no piece has yet, and the node."""
        if span.end <= self.covered:
            return
        yield from self.rest(run, span.start)
        if span.start < self.covered and not self._may_overlap(span):
            span = NodeSpan(self._visible(self.covered, span.end), span.end)
        body = self.text[span.start : span.end]
        tokens = self.counter.count(body)
        if tokens == 0:
            return
        if tokens <= self.sizes.chunk_size and len(body) <= max_characters(self.sizes.chunk_size):
            path, page = self.outline.path(span.start, span.end), self.outline.page(span.start)
            self.last_start, self.covered = span.start, span.end
            yield Piece(body, path, page, span.start, span.end, tokens, 0)
            return
        yield from self._cut(run, max(span.start, self.covered), span.end)

    def finished(self, piece: Piece, index: int) -> Piece:
        """The piece with its number and its windows."""
        return replace(piece, index=index, windows=self.windows(piece.text, self.counter) if self.windows else ())

    def rest(self, run: TextRun, end: int) -> Iterator[Piece]:
        """Pieces of what lies between the last one and a place."""
        gap = self.text[self.covered : end]
        if gap and not gap.isspace() and self.counter.count(gap):
            yield from self._cut(run, self.covered, end)

    def _may_overlap(self, span: NodeSpan) -> bool:
        shared = self.text[span.start : self.covered]
        return span.start > self.last_start and self.counter.count(shared) <= self.sizes.chunk_overlap

    def _visible(self, start: int, end: int) -> int:
        match = _VISIBLE.search(self.text, start, end)
        return match.start() if match else end

    def _cut(self, run: TextRun, start: int, end: int) -> Iterator[Piece]:
        blocks = [
            replace(block, start=max(block.start, start), end=min(block.end, end))
            for block in run.blocks
            if block.start < end and block.end > start
        ]
        for units in pack(cut_blocks(self.text, blocks, sizes=self.sizes, counter=self.counter), self.sizes):
            path = self.outline.path(units[0].start, units[-1].end)
            piece = build_piece(self.text, path, units, 0)
            self.last_start, self.covered = piece.char_start, piece.char_end
            yield piece
