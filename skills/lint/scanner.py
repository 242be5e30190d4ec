"""Searchable text of a draft, with code set apart from prose."""

import re
from bisect import bisect_right
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import accumulate, pairwise

from skills.diagnostics import Finding
from skills.diagnostics.literal_prefilter import lower_keeping_length
from skills.parser.draft import SkillDraft
from skills.schema import TextEdit

Span = tuple[int, int]
"""Two offsets in characters of the normalised text: the first one, and the one behind the last."""

_TICKS = re.compile(r"`+|\n[ \t]*(?=\n)")
_CODE_BLOCKS = frozenset({"fence", "code_block"})
# Marks of markdown and line ends may stand between any two words of a phrase.
_TO_BLANKS = str.maketrans("*_`>~#\n\t", "        ")


@dataclass(frozen=True)
class ScannedText:
    """Texts of equal length; ``prose`` blanks code, ``flat`` is one line and blanks markdown's marks."""

    draft: SkillDraft
    text: str
    prose: str
    flat: str
    lower: str
    fences: tuple[Span, ...]
    starts: tuple[int, ...]

    def line_of(self, offset: int) -> int:
        return bisect_right(self.starts, offset)

    def lines(self, first: int, last: int) -> Span:
        """The span of some lines without the last line end."""
        end = self.starts[last] - 1 if last < len(self.starts) else len(self.text)
        return self.starts[first - 1], max(self.starts[first - 1], end)

    def finding(self, code: str, span: Span, facts: Mapping[str, object] | None = None, variant: str = "") -> Finding:
        first, last = self.line_of(span[0]), self.line_of(max(span[0], span[1] - 1))
        column = span[0] - self.starts[first - 1] + 1
        return Finding(code, first, column, last, facts or {}, variant)

    def edit(self, span: Span, replacement: str) -> TextEdit:
        source = self.draft.source
        places = ((line := self.line_of(offset), offset - self.starts[line - 1] + 1) for offset in span)
        start, end = (source.offset(line, column) for line, column in places)
        return TextEdit(start, end, replacement)


def scan(draft: SkillDraft) -> ScannedText:
    """Prepare a draft for searching, in linear time."""
    source = draft.source
    text = source.text
    starts = tuple(accumulate((len(line) + 1 for line in source.lines[:-1]), initial=0))
    fences = tuple(_fences(draft, starts, len(text)))
    prose = _blanked(text, fences)
    prose = _blanked(prose, tuple(_code_spans(prose)))
    return ScannedText(draft, text, prose, text.translate(_TO_BLANKS), lower_keeping_length(text), fences, starts)


def _fences(draft: SkillDraft, starts: tuple[int, ...], length: int) -> Iterator[Span]:
    first_line = draft.outline.first_line
    for token in draft.outline.tokens:
        if token.type in _CODE_BLOCKS and token.map:
            first, behind = (line + first_line for line in token.map)
            end = starts[behind - 1] if behind <= len(starts) else length
            yield starts[min(first, len(starts)) - 1], end


def _code_spans(text: str) -> Iterator[Span]:
    """Inline code: between two equally long runs of backticks within a paragraph."""
    marks = list(_TICKS.finditer(text))
    breaks = [at for at, mark in enumerate(marks) if mark[0][0] == "\n"]
    for before, behind in pairwise([-1, *breaks, len(marks)]):
        runs = marks[before + 1 : behind]
        waiting: dict[int, list[int]] = {}
        for at in range(len(runs) - 1, -1, -1):
            waiting.setdefault(len(runs[at][0]), []).append(at)
        at = 0
        while at < len(runs):
            same = waiting[len(runs[at][0])]
            while same and same[-1] <= at:
                same.pop()
            if same:
                yield runs[at].start(), runs[same[-1]].end()
                at = same[-1]
            at += 1


def _blanked(text: str, spans: tuple[Span, ...]) -> str:
    parts: list[str] = []
    place = 0
    for start, end in spans:
        if start < place:
            continue
        parts += text[place:start], _BLANKED.sub(" ", text[start:end])
        place = end
    return "".join([*parts, text[place:]])


_BLANKED = re.compile(r"[^\n]")
