"""Runs of a document's text, of bounded length, for node parsers."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from ingestion.splitters.sections import SectionIndex
from ingestion.splitters.units import TextBlock, sentences

LONGEST_RUN = 20_000
"""Most characters of a run, except for a table's: a bound on memory, and on what takes more than linear time."""

_TAIL = 2_000
_LAST_BLANK = re.compile(r"\s\S*\Z")


@dataclass(frozen=True, slots=True)
class TextRun:
    """Neighbouring blocks and their text.

    Attributes:
        text: ``blocks`` as they stand in the document, from ``start`` on.
        is_own: Whether it is cut without the node parser: a table.
    """

    text: str
    start: int
    blocks: Sequence[TextBlock]
    is_own: bool = False

    @property
    def end(self) -> int:
        return self.start + len(self.text)

    def slice(self, start: int, end: int) -> str:
        """The text between two places of the document."""
        return self.text[start - self.start : end - self.start]


def runs(outline: SectionIndex, text: str, *, by_section: bool, is_table_text: bool) -> Iterator[TextRun]:
    """The runs that tile a text.

    Args:
        by_section: Whether a run ends with a heading's section.
        is_table_text: Whether tables are text; otherwise, and where they are too long, each is a run of its own.
    """
    groups = (section.blocks for section in outline.sections) if by_section else (outline.blocks,)
    for blocks in groups:
        yield from _runs(blocks, text, is_table_text=is_table_text)


def _runs(blocks: Iterable[TextBlock], text: str, *, is_table_text: bool) -> Iterator[TextRun]:
    run: list[TextBlock] = []
    for block in blocks:
        is_own = block.kind == "table" and not (is_table_text and block.end - block.start <= LONGEST_RUN)
        parts = [block] if is_own else _parts(block, text)
        for part in parts:
            if run and (is_own or part.end - run[0].start > LONGEST_RUN):
                yield _run(run, text)
                run = []
            if is_own:
                yield _run([part], text, is_own=True)
            else:
                run.append(part)
    if run:
        yield _run(run, text)


def _run(blocks: Sequence[TextBlock], text: str, *, is_own: bool = False) -> TextRun:
    start = blocks[0].start
    return TextRun(text[start : blocks[-1].end], start, tuple(blocks), is_own)


def _parts(block: TextBlock, text: str) -> Iterator[TextBlock]:
    """A block in parts of at most ``LONGEST_RUN``, cut between sentences, or words, where there are any."""
    start = block.start
    while block.end - start > LONGEST_RUN:
        end = start + LONGEST_RUN
        tail = text[end - _TAIL : end]
        last = sentences(tail)[-1]
        if len(last) == len(tail) and (blank := _LAST_BLANK.search(tail)):
            last = tail[blank.start() :]
        if len(last) < len(tail):
            end -= len(last)
        yield replace(block, start=start, end=end)
        start = end
    yield replace(block, start=start)
