"""The blocks and top-level sections of a body, by CommonMark with tables."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from markdown_it import MarkdownIt
from markdown_it.token import Token

from skills.parser.source import SkillSource
from skills.schema import Section

# Text inside of blocks stays as written, so that only the blocks are read: linear, and in less
# than half the time. 20 levels of nesting are the preset's own bound.
_BLOCKS = MarkdownIt("commonmark").enable("table")
_BLOCKS.core.ruler.enableOnly(["block"])

_MARKER = re.compile(r"[ \t]*(?:[-*+]|\d{1,9}[.)])[ \t]*")


@dataclass(frozen=True, slots=True)
class OutlineBlock:
    """A top-level block: its lines from 1 without trailing blank ones, tokens with nested ones, and raw text.

    ``kind`` is ``heading``, ``paragraph``, ``bullet_list``, ``ordered_list``, ``fence``, ``code_block``, ``table``,
    ``blockquote``, ``html_block`` or ``hr``; ``level`` is 0 except for headings.
    """

    kind: str
    start: int
    end: int
    tokens: Sequence[Token]
    text: str = ""
    level: int = 0


@dataclass(frozen=True, slots=True)
class BodyOutline:
    """The blocks of a body, which starts at ``first_line`` of the file; the tokens' maps count lines from 0 there."""

    first_line: int
    tokens: list[Token]
    blocks: tuple[OutlineBlock, ...]


@dataclass(frozen=True, slots=True)
class DraftSection:
    """A top-level section with its blocks."""

    section: Section
    heading: OutlineBlock
    blocks: Sequence[OutlineBlock]

    @property
    def key(self) -> str | None:
        return self.section.key


@dataclass(frozen=True, slots=True)
class ListItem:
    """An item of a list: its lines, its number (0 in a list of bullets), its tokens."""

    start: int
    end: int
    number: int
    tokens: Sequence[Token]


def read(source: SkillSource, first_line: int) -> BodyOutline:
    """The outline of a file's text from a line on."""
    body = source.text if first_line == 1 else "\n".join(source.lines[first_line - 1 :])
    tokens = _BLOCKS.parse(body)
    return BodyOutline(first_line, tokens, tuple(_blocks(tokens, source, first_line)))


def _blocks(tokens: list[Token], source: SkillSource, first_line: int) -> Iterator[OutlineBlock]:
    at = 0
    while at < len(tokens):
        token = tokens[at]
        end = at + 1
        if token.nesting == 1:
            while tokens[end].level > 0 or tokens[end].nesting >= 0:
                end += 1
            end += 1
        yield _block(tokens[at:end], source, first_line)
        at = end


def _block(tokens: list[Token], source: SkillSource, first_line: int) -> OutlineBlock:
    token = tokens[0]
    kind = token.type.removesuffix("_open")
    start, end = line_span(token, source, first_line)
    text = tokens[1].content if kind in {"heading", "paragraph"} else token.content
    level = int(token.tag[1]) if kind == "heading" else 0
    return OutlineBlock(kind, start, end, tokens, text, level)


def line_span(token: Token, source: SkillSource, first_line: int) -> tuple[int, int]:
    """A block token's first line and last non-blank one, in the file."""
    start, end = token.map or (0, 1)
    start, end = start + first_line, end + first_line - 1
    while end > start and not source.line(end).strip():
        end -= 1
    return start, end


def list_items_of(block: OutlineBlock, source: SkillSource, first_line: int) -> Iterator[ListItem]:
    """The items of a list, without those of nested lists."""
    start = 0
    for at, token in enumerate(block.tokens):
        if token.level != 1:
            continue
        if token.type == "list_item_open":
            start = at
        elif token.type == "list_item_close":
            opened = block.tokens[start]
            first, last = line_span(opened, source, first_line)
            number = int(opened.info) if opened.info.isdecimal() else 0
            yield ListItem(first, last, number, block.tokens[start + 1 : at])


def item_text(item: ListItem, source: SkillSource) -> str:
    """An item's markdown without its marker and indentation."""
    first = source.line(item.start)
    marker = _MARKER.match(first)
    width = marker.end() if marker else 0
    lines = [first[width:].rstrip()]
    for number in range(item.start + 1, item.end + 1):
        line = source.line(number).expandtabs(4)
        indent = len(line) - len(line.lstrip(" "))
        lines.append(line[min(indent, width) :].rstrip())
    return "\n".join(lines).strip()


def raw_lines(source: SkillSource, start: int, end: int) -> str:
    """Lines of the file as written, without blank ones around."""
    return "\n".join(source.lines[start - 1 : end]).strip("\n").rstrip()
