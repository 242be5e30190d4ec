"""Blocks of a passage: paragraphs, list items, table rows, code and headings.

A passage is a document's extracted text: Markdown's marks are gone from it. A heading is a line of its own, a table is lines of
cells between bars, code is lines without a fence. Pasted Markdown and plain text files still have their marks.
"""

import math
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from kb_service.text.tokenizer import is_cjk_dominant, tokenize

UnitKind = Literal["sentence", "item", "row", "code", "heading"]

_FENCE = re.compile(r"^\s*(```|~~~)")
_HEADING = re.compile(r"^\s{0,3}#{1,6}\s")
_RULE = re.compile(r"^\s*(?:[-=*_]{3,}|\|?[\s:|-]*-[\s:|-]*\|?)\s*$")
_UNDERLINE = re.compile(r"^\s*(?:={3,}|-{3,}|\|?[\s:|-]*-[\s:|-]*\|[\s:|-]*)\s*$")
# "9.6.14. Using LVM", "第 4 章 认证", "Table 14.2. Settings": numbers that no sentence begins with.
_NUMBERED = re.compile(
    r"^\s*(?:\d{1,3}(?:\.\d{1,3})+\.?|[A-Z]\.\d{1,3}(?:\.\d{1,3})*\.|第\s*\d+\s*[章节節篇部]"
    r"|[图圖表例]\s*\d+(?:[.\-]\d+)*[.:：]?"
    r"|(?:Chapter|Section|Part|Appendix|Figure|Table|Example)\s+[\dA-Z]+(?:[.\-]\d+)*[.:]?)\s+\S"
)
_LONGEST_HEADING = 120
_ITEM = re.compile(r"^\s*(?:[-*+•·]|\d{1,3}[.)、]|[（(]\d{1,2}[）)])\s+")
_NUMBERED_ITEM = re.compile(r"^\s*[（(]?(\d{1,3})[.)、）]\s+")
_ROW = re.compile(r"^\s*\||\s\|\s|\s\|$")
_CRUMBS = re.compile(r"\s(?:>|»|›|→)\s|^[^|]*\s\|\s[^|]*$")
_PAIR = re.compile(r"^\s*[^\s:：][^:：]{0,40}[:：](?:\s|(?<=：))\s*\S")
_CODE_MARK = re.compile(
    r"[{}<>;$\\]|\w\(|\w=\S|\S = \S|\s--?[A-Za-z]|::|->|://|&&|\s\./|^\s{2,}\S|^\s*(?:return|import|def|if)\b"
)
_EMPHASIS = re.compile(r"^\s*(\*\*|__)(.+)\1\s*$")
CLOSERS = "”’」』）》】)]\"'"
_TERMINAL = tuple(".!?。！？…:：;；")
_QUESTION_MARKS = ("?", "？")
_CJK_WORD = 1.7
# Nothing here asks for more words than such a text has.
_LONG_TEXT = 300
LABEL_WORDS = 6
"""A line without an end that has fewer words is a label of what follows."""


@dataclass(frozen=True, slots=True)
class Block:
    """Consecutive lines of one kind.

    Attributes:
        asks: Whether it is a heading in the form of a question, as lists of frequent questions have.
        is_header: Whether it is the row that names a table's columns.
    """

    kind: UnitKind
    lines: Sequence[str]
    asks: bool = False
    is_header: bool = False

    @property
    def text(self) -> str:
        """The block on one line, without a list item's mark."""
        text = _ITEM.sub("", self.lines[0]).strip()
        for line in self.lines[1:]:
            stripped = line.strip()
            glue = "" if is_cjk_dominant(text[-1:]) and is_cjk_dominant(stripped[:1]) else " "
            text = f"{text}{glue}{stripped}"
        return text


def blocks(text: str, heading_path: Sequence[str]) -> list[Block]:
    """The blocks of a passage in order; rules and blank lines only separate them."""
    headings = {plain(heading) for heading in heading_path}
    longest = 2 * max((len(heading) for heading in heading_path), default=0)
    every = [part for block in _marked_blocks(text) for part in _refined(block)]
    for index in range(len(every)):
        every[index] = _as_heading(every, index, headings, longest)
    return every


def plain(text: str) -> str:
    """The text's tokens, to compare headings by."""
    return " ".join(tokenize(text)) or text.strip()


def has_end(text: str) -> bool:
    """Whether the text ends as a sentence does."""
    return text.rstrip(CLOSERS + "*_`").endswith(_TERMINAL)


def word_count(text: str) -> float:
    """About how many words with a meaning of their own a text has, in either language; infinite for a long one."""
    if len(text) > _LONG_TEXT:
        return math.inf
    tokens = tokenize(text)
    chinese = sum(is_cjk_dominant(token) for token in tokens)
    return len(tokens) - chinese + chinese / _CJK_WORD


def _marked_blocks(text: str) -> Iterator[Block]:
    lines: list[str] = []
    every = text.splitlines()
    in_code = _begins_in_code(every)
    open_kind: UnitKind = "code" if in_code else "sentence"
    for line, following in zip(every, [*every[1:], ""], strict=True):
        kind = _line_kind(line, following)
        if _FENCE.match(line) or (not in_code and (kind is None or kind != "sentence")):
            if lines:
                yield Block(open_kind, tuple(lines))
            lines = []
        if _FENCE.match(line):
            in_code = not in_code
            open_kind = "code" if in_code else "sentence"
        elif in_code:
            lines.append(line)
        elif kind is None:
            open_kind = "sentence"
        elif kind == "heading":
            is_row = _ROW.search(line) is not None
            yield Block("row" if is_row else "heading", (line.strip(" #"),), is_header=is_row)
            open_kind = "sentence"
        else:
            open_kind = kind if kind != "sentence" or not lines else open_kind
            lines.append(line)
    if lines:
        yield Block(open_kind, tuple(lines))


def _begins_in_code(lines: Iterable[str]) -> bool:
    """Whether a passage was cut out of code: a fence with a language opens, so the one before it closed."""
    in_code = False
    for fence in filter(_FENCE.match, lines):
        if in_code and fence.strip(" `~"):
            return True
        in_code = not in_code
    return False


def _line_kind(line: str, following: str) -> UnitKind | None:
    if not line.strip() or _RULE.match(line):
        return None
    if _HEADING.match(line) or _UNDERLINE.match(following):
        return "heading"
    return "item" if _ITEM.match(line) else "sentence"


def _refined(block: Block) -> Iterator[Block]:
    """A paragraph taken apart into the rows, pairs or code that its lines are."""
    if block.kind != "sentence":
        yield block
        return
    for lines in _runs_of_rows(block.lines):
        is_table = len(lines) > 1 or lines[0].lstrip().startswith("|")
        if _ROW.search(lines[0]) and is_table:
            yield from _rows(lines)
        elif len(lines) > 1 and all(map(_PAIR.match, lines)) and not any(map(has_end, lines)):
            yield from (Block("row", (line.strip(),)) for line in lines)
        elif lines := [line for line in lines if not _is_crumbs(line)]:
            yield Block("code" if _is_code(lines) else "sentence", tuple(lines))


def _is_crumbs(line: str) -> bool:
    """Whether a line says where a page is, which the heading path does."""
    return _CRUMBS.search(line) is not None and not has_end(line)


def _runs_of_rows(lines: Sequence[str]) -> Iterator[list[str]]:
    run: list[str] = []
    for line in lines:
        if run and (_ROW.search(line) is None) != (_ROW.search(run[-1]) is None):
            yield run
            run = []
        run.append(line)
    if run:
        yield run


def _rows(lines: Sequence[str]) -> Iterator[Block]:
    for index, line in enumerate(lines):
        text = line.strip().strip("|").strip()
        # A row that names columns states no figure.
        is_header = index == 0 and len(lines) > 1 and not any(map(str.isdigit, text))
        yield Block("row", (text,), is_header=is_header)


def _is_code(lines: Sequence[str]) -> bool:
    marked = sum(_CODE_MARK.search(line) is not None for line in lines)
    return 2 * marked >= len(lines) and not any(
        has_end(line) for line in lines if not line.rstrip().endswith((":", ";"))
    )


def _as_heading(every: Sequence[Block], index: int, headings: set[str], longest: int) -> Block:
    """The block, or the heading that it is by its place and form; the blocks before it are settled."""
    block = every[index]
    if block.kind in ("code", "row") or len(block.lines) > 1:
        return block
    emphasised = _EMPHASIS.match(block.lines[0])
    text = emphasised[2] if emphasised else block.lines[0].strip()
    asks = text.rstrip(CLOSERS).endswith(_QUESTION_MARKS)
    if block.kind == "heading":
        return replace(block, asks=asks)
    is_bare = not has_end(text)
    if is_bare and index and every[index - 1].kind != "heading" and every[index - 1].lines[-1].endswith((":", "：")):
        # A line that a colon introduces is an example, as "run:" has one below it.
        return Block("code", block.lines) if block.kind == "sentence" else block
    is_title = (len(text) <= longest and plain(text) in headings) or (
        is_bare and len(text) <= _LONGEST_HEADING and _NUMBERED.match(text) is not None
    )
    leads = index + 1 < len(every) and (block.kind == "sentence" or _is_lone_number(every, index))
    is_label = leads and (asks or emphasised is not None or (is_bare and word_count(text) < LABEL_WORDS))
    return Block("heading", (text,), asks=asks) if is_title or is_label else block


def _is_lone_number(every: Sequence[Block], index: int) -> bool:
    """Whether a numbered line counts sections instead of the items of a list."""
    number = _number(every[index])
    if number is None:
        return False
    if index + 1 < len(every) and _number(every[index + 1]) is not None:
        return False
    for before in reversed(every[:index]):
        if before.kind != "item":
            break
        if _number(before) is not None:
            return _number(before) != number - 1
    return True


def _number(block: Block) -> int | None:
    match = _NUMBERED_ITEM.match(block.lines[0]) if block.kind == "item" else None
    return int(match[1]) if match else None
