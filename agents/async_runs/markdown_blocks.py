"""A markdown answer as a flat list of plain-text blocks."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal

from markdown_it import MarkdownIt
from markdown_it.token import Token

LONGEST_ANSWER = 20_000
"""Characters of an answer that are read; what is beyond is in the answer's text only."""
BlockKind = Literal["heading", "paragraph", "quote", "code", "list", "table"]
_SAFE_SCHEMES = ("https://", "http://")
_MARKDOWN = MarkdownIt("commonmark", {"html": False}).enable("table")
_TEXT_KINDS: dict[str, BlockKind] = {
    "heading_open": "heading",
    "paragraph_open": "paragraph",
    "blockquote_open": "quote",
}
_CODE = frozenset({"fence", "code_block"})
_LISTS = frozenset({"bullet_list_open", "ordered_list_open"})


@dataclass(frozen=True, slots=True)
class MarkdownLink:
    """A link of the answer, to http:// or https://."""

    label: str
    url: str


@dataclass(frozen=True, slots=True)
class MarkdownBlock:
    """One block of an answer.

    Attributes:
        text: Of headings, paragraphs, quotes and code blocks.
        items: Of lists, each with its nested text.
        rows: Body of a table; rows have as many cells as the head.
    """

    kind: BlockKind
    text: str = ""
    items: tuple[str, ...] = ()
    is_ordered: bool = False
    columns: tuple[str, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()
    links: tuple[MarkdownLink, ...] = field(default=(), repr=False)


def read_blocks(markdown: str) -> list[MarkdownBlock]:
    """The non-empty blocks of a text in order, without markup."""
    tokens = _MARKDOWN.parse(markdown[:LONGEST_ANSWER])
    blocks = [_block(part) for part in _parts(tokens)]
    return [block for block in blocks if block.text or block.items or block.columns]


def _parts(tokens: Sequence[Token]) -> Iterator[Sequence[Token]]:
    begin = 0
    for place, token in enumerate(tokens):
        if token.level == 0 and token.nesting <= 0:
            yield tokens[begin : place + 1]
            begin = place + 1


def _block(tokens: Sequence[Token]) -> MarkdownBlock:
    kind, links = tokens[0].type, tuple(_links(tokens))
    if kind in _LISTS:
        items = [_text(item) for item in _below(tokens, "list_item_open")]
        return MarkdownBlock(
            "list", items=tuple(item for item in items if item), is_ordered=kind == "ordered_list_open", links=links
        )
    if kind == "table_open":
        rows = [tuple(_text(cell) for cell in _below(row, "th_open", "td_open")) for row in _below(tokens, "tr_open")]
        return MarkdownBlock("table", columns=rows[0], rows=tuple(rows[1:]), links=links)
    if kind in _CODE:
        return MarkdownBlock("code", text=tokens[0].content.strip("\n"))
    return MarkdownBlock(_TEXT_KINDS.get(kind, "paragraph"), text=_text(tokens), links=links)


def _below(tokens: Sequence[Token], *kinds: str) -> Iterator[Sequence[Token]]:
    """The outermost parts of the given kinds."""
    begin, level = 0, 0
    for place, token in enumerate(tokens):
        if token.type in kinds and not level:
            begin, level = place, token.level + 1
        elif level and token.nesting < 0 and token.level == level - 1:
            yield tokens[begin : place + 1]
            level = 0


def _text(tokens: Sequence[Token]) -> str:
    pieces = [
        token.content if token.type in _CODE else _inline(token.children or ())
        for token in tokens
        if token.type in _CODE or token.type == "inline"
    ]
    return "\n".join(piece for piece in pieces if piece).strip()


def _inline(tokens: Sequence[Token]) -> str:
    return "".join("\n" if "break" in token.type else token.content for token in tokens).strip()


def _links(tokens: Sequence[Token]) -> Iterator[MarkdownLink]:
    for children in (token.children or () for token in tokens):
        opened: int | None = None
        for place, token in enumerate(children):
            if token.type == "link_open":
                opened = place
            elif token.type == "link_close" and opened is not None:
                url = str(children[opened].attrs.get("href", ""))
                if url.lower().startswith(_SAFE_SCHEMES):
                    yield MarkdownLink(_inline(children[opened:place]) or url, url)
