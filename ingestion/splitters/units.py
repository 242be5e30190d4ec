"""The smallest units of a document from which pieces are packed."""

import re
from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

from core.types.text_pages import page_at
from ingestion.splitters.base import CHARACTERS_PER_TOKEN, SplitSizes
from kb_service.text.token_counter import TokenCounter, Word, characters

_SENTENCE_ENDS = frozenset(".!?;。！？；…｡")
_CLOSINGS = "\"'”’)]」』）】》〉〕"
_LONGEST_CLOSING = 16
# Borders are after a sign or at a line feed: there the tokenizer ends a word as well, so that units' token counts add
# up. The look-behind keeps a run of dots linear.
_BLANK_LINE = r"(?P<opens>\n[^\S\n]*\n\s*)"
_ENGLISH_END = r"(?<![.!?;])[.!?;]++[\"'”’)\]]*+(?=\s)"
_CHINESE_END = r"[。！？；…｡]+[”’」』）】》〉〕]*"
_BORDERS = {"code": re.compile(rf"{_BLANK_LINE}|\n"), "table": re.compile(r"(?P<opens>(?!))|\n")}
_VISIBLE = re.compile(r"\S")
_TEXT_BORDER = re.compile(rf"{_BLANK_LINE}|{_CHINESE_END}|{_ENGLISH_END}|\n")
_SENTENCE_BORDER = re.compile(rf"{_BLANK_LINE}|{_CHINESE_END}|{_ENGLISH_END}")
_CLAUSE_ENDS = frozenset(",;:，；：、")
_LEAST_PART = 32
_DEEPEST_INDENT = 80


class TableHeader(NamedTuple):
    """A table's header row, repeated in front of each piece that starts in the rows below it."""

    start: int
    end: int
    tokens: int


class TextUnit(NamedTuple):
    """A sentence, line or row, from its first to its last token.

    Attributes:
        tokens: tokens of the span; of neighbouring units they add up.
        opens: whether a paragraph, block or element starts here.
    """

    start: int
    end: int
    tokens: int
    opens: bool
    page: int | None
    lead: TableHeader | None


@dataclass(frozen=True, slots=True)
class TextBlock:
    """An element's kind, page and span, which starts at the end of the element before it; page offsets ascend."""

    kind: str
    start: int
    end: int
    page: int | None
    later_pages: tuple[tuple[int, int], ...] = ()

    def page_at(self, place: int) -> int | None:
        return page_at(place, self.page, self.later_pages)


def max_characters(tokens: int) -> int:
    """The most characters that a span of so many tokens may have."""
    return tokens * CHARACTERS_PER_TOKEN


def ends_sentence(text: str, end: int, following: int) -> bool:
    """Whether a sentence ends between two units, of which ``following`` starts the second."""
    tail = text[max(0, end - _LONGEST_CLOSING) : min(following, end + _LONGEST_CLOSING)]
    return tail.rstrip().rstrip(_CLOSINGS)[-1:] in _SENTENCE_ENDS


def sentences(text: str) -> list[str]:
    """The sentences of running text, none of them empty, each with the blanks before it; joined they are the text."""
    ends = [0]
    for match in _SENTENCE_BORDER.finditer(text):
        if not text[ends[-1] : match.end()].isspace():
            ends.append(match.end())
    return [text[start:end] for start, end in pairwise((*ends, len(text))) if start < end]


def cut_units(text: str, block: TextBlock, *, sizes: SplitSizes, counter: TokenCounter) -> Iterator[TextUnit]:
    """Cut a block into units, each within ``sizes.chunk_size`` together with its lead.

    Running text is cut into sentences, code into lines, a table into rows; longer ones at clauses, then words, then
    characters. Linear time; memory for one window of text.
    """
    lead = _lead(text, block, sizes, counter)
    room = sizes.chunk_size - (lead.tokens if lead else 0)
    part = min(room, max(sizes.chunk_overlap, _LEAST_PART))
    for opens, words in _sentences(text, block, counter):
        first = opens
        for tokens, span in _fit(text, words, room, part):
            start = span[0].start if block.kind != "code" else _indented(text, span[0].start)
            below = lead if lead and start >= lead.end else None
            yield TextUnit(start, span[-1].end, tokens, first, block.page_at(start), below)
            first = False


def _lead(text: str, block: TextBlock, sizes: SplitSizes, counter: TokenCounter) -> TableHeader | None:
    if block.kind != "table":
        return None
    row = _VISIBLE.search(text, block.start, block.end)
    start = row.start() if row else block.end
    end = text.find("\n", start, min(block.end, start + max_characters(sizes.chunk_size)))
    if end < 0:
        return None
    tokens = counter.count(text[start:end])
    return TableHeader(start, end, tokens) if 0 < tokens <= sizes.chunk_size // 2 else None


def _sentences(text: str, block: TextBlock, counter: TokenCounter) -> Iterator[tuple[bool, list[Word]]]:
    """The words between two borders, and whether they open a paragraph."""
    border = _BORDERS.get(block.kind, _TEXT_BORDER)
    place = block.start
    opens = True
    for window in counter.windows(text, block.start, block.end):
        starts = [word.start for word in window]
        done = 0
        for match in border.finditer(text, place, window[-1].end if window else place):
            stop = bisect_left(starts, match.end(), done)
            if stop > done:
                yield opens, window[done:stop]
                opens = False
            opens = opens or match["opens"] is not None
            done = stop
        if done < len(window):
            yield opens, window[done:]
            opens = False
        place = window[-1].end if window else place


def _fit(text: str, words: list[Word], room: int, part: int) -> Iterator[tuple[int, list[Word]]]:
    """The words as one span if they fit, else as spans of about ``part`` tokens."""
    tokens = sum(word.tokens for word in words)
    if tokens <= room and words[-1].end - words[0].start <= max_characters(room):
        yield tokens, words
        return
    span: list[Word] = []
    tokens = 0
    for word in _small(text, words, part):
        if span and (tokens + word.tokens > part or word.end - span[0].start > max_characters(part)):
            yield tokens, span
            span, tokens = [], 0
        span.append(word)
        tokens += word.tokens
        if 2 * tokens > part and text[word.end - 1] in _CLAUSE_ENDS:
            yield tokens, span
            span, tokens = [], 0
    if span:
        yield tokens, span


def _small(text: str, words: list[Word], part: int) -> Iterator[Word]:
    for word in words:
        if word.tokens > part:
            yield from characters(text, word)
        else:
            yield word


def _indented(text: str, start: int) -> int:
    line = text.rfind("\n", max(0, start - _DEEPEST_INDENT), start) + 1
    return line if line and text[line:start].isspace() else start
