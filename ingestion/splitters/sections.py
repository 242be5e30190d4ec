"""Sections of a parsed document: blocks under their headings."""

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import takewhile

from ingestion.splitters.base import ParsedText
from ingestion.splitters.units import TextBlock

_LONGEST_HEADING = 200

HeadingPath = tuple[str, ...]
_Levels = list[tuple[int, str]]


@dataclass(slots=True)
class HeadingSection:
    """The blocks under one heading, the heading's own block first."""

    path: HeadingPath
    blocks: list[TextBlock] = field(default_factory=list[TextBlock])

    @property
    def has_body(self) -> bool:
        return any(block.kind != "heading" for block in self.blocks)


def iterate_sections(parsed: ParsedText) -> Iterator[HeadingSection]:
    """The document's sections, whose blocks tile the text; a heading without a body joins its first sub-section."""
    section = HeadingSection(())
    levels: _Levels = []
    place = 0
    for element in parsed.elements:
        if element.kind == "heading":
            parents = _parents(levels, element.level)
            deeper = len(parents) == len(levels)
            levels = [*parents, (element.level, _heading(element.text))]
            path = tuple(name for _, name in levels)
            if section.has_body or (section.blocks and not deeper):
                yield section
                section = HeadingSection(path)
            section.path = path
        end = max(place, element.char_end)
        later = tuple((element.char_start + at, page) for at, page in element.later_pages)
        section.blocks.append(TextBlock(element.kind, place, end, element.page, later))
        place = end
    if parsed.text[place:].strip() or not section.blocks:
        section.blocks.append(TextBlock("paragraph", place, len(parsed.text), None))
    yield section


def common_path(path: HeadingPath, other: HeadingPath) -> HeadingPath:
    """The common prefix of two heading paths."""
    pairs = zip(path, other, strict=False)
    return tuple(name for name, _ in takewhile(lambda pair: pair[0] == pair[1], pairs))


class SectionIndex:
    """Where sections and pages start, for pieces that ignore blocks or cross sections."""

    def __init__(self, parsed: ParsedText) -> None:
        self.sections = list(iterate_sections(parsed))
        self.blocks = [block for section in self.sections for block in section.blocks]
        self._section_starts = [section.blocks[0].start for section in self.sections]
        self._block_starts = [block.start for block in self.blocks]

    def path(self, start: int, end: int) -> HeadingPath:
        """The common headings of ``text[start:end]``; the span is not empty."""
        first = bisect_right(self._section_starts, start) - 1
        last = bisect_right(self._section_starts, end - 1)
        path = self.sections[first].path
        for section in self.sections[first + 1 : last]:
            path = common_path(path, section.path)
        return path

    def page(self, start: int) -> int | None:
        return self.blocks[bisect_right(self._block_starts, start) - 1].page_at(start)


def _parents(levels: _Levels, level: int) -> _Levels:
    return list(takewhile(lambda heading: heading[0] < level, levels))


def _heading(text: str) -> str:
    return " ".join(text.split())[:_LONGEST_HEADING]
