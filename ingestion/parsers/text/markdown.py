"""Markdown: CommonMark with tables, front matter and embedded HTML."""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from markdown_it import MarkdownIt
from markdown_it.token import Token

from ingestion.parsers.builder import DocumentBuilder
from ingestion.parsers.limits import ParseLimits
from ingestion.parsers.model import ParsedDocument
from ingestion.parsers.text import plain
from ingestion.parsers.text.charset import decode
from ingestion.parsers.text_cleanup import BREAK, clean, flow_lines
from ingestion.parsers.web import html

SIMPLIFIED = "simplified"
"""Warning: the structure was beyond bounds, the text was read as plain text."""

_DEEPEST = 60
_MARKS = re.compile(r"[\[\]<`*_~!&\\]")
_FRONT_MATTER = re.compile(r"(---|\+\+\+)[ \t]*\n")
_TITLE = re.compile(r"""title\s*[:=]\s*(["']?)(.+?)\1\s*$""", re.IGNORECASE)
_LONGEST_FRONT_MATTER = 16_384
_LONGEST_TITLE = 300
_CONTAINERS = frozenset({"bullet_list_open", "ordered_list_open"})


def parse(path: Path, limits: ParseLimits) -> ParsedDocument:
    """Read Markdown of any encoding.

    Links give their text, images their alternative text, list items keep their marker. Front matter gives its title as
    level-1 heading if the document has none, and a paragraph. A document nested too deeply is read as plain text, with
    the warning ``simplified``.
    """
    decoded = decode(path.read_bytes())
    front, body = split_front_matter(clean(decoded.text))
    builder = DocumentBuilder(limits)
    tokens = _block_parser().parse(body)
    is_simplified = _is_too_deep(tokens)
    _add_front_matter(builder, front, [] if is_simplified else tokens)
    _add_body(builder, body, tokens, limits)
    warnings = decoded.warnings + ((SIMPLIFIED,) if is_simplified else ())
    return builder.finish(encoding=decoded.encoding, confidence=decoded.confidence, warnings=warnings)


def add_markdown(out: DocumentBuilder, text: str, limits: ParseLimits) -> bool:
    """Add the blocks of clean Markdown without front matter; False if it was read as plain text."""
    tokens = _block_parser().parse(text)
    _add_body(out, text, tokens, limits)
    return not _is_too_deep(tokens)


def _is_too_deep(tokens: Sequence[Token]) -> bool:
    return any(token.level >= _DEEPEST - 1 for token in tokens)


def _add_body(out: DocumentBuilder, text: str, tokens: Sequence[Token], limits: ParseLimits) -> None:
    if not _is_too_deep(tokens):
        _MarkdownReader(out, limits).read(tokens)
        return
    for kind, block, level in plain.blocks(text):
        out.add(kind, block, level=level)


def split_front_matter(text: str) -> tuple[str, str]:
    """The YAML or TOML block at the head of a text (without its fences), and the rest."""
    text = text.lstrip("\ufeff")
    fence = _FRONT_MATTER.match(text)
    if fence is None:
        return "", text
    end = text.find(f"\n{fence[1]}", fence.end() - 1, _LONGEST_FRONT_MATTER)
    behind = text.find("\n", end + 1)
    if end < 0 or text[end + 1 : behind if behind > 0 else None].strip() != fence[1]:
        return "", text
    return text[fence.end() : end], text[behind + 1 :] if behind > 0 else ""


def _add_front_matter(out: DocumentBuilder, front: str, tokens: Sequence[Token]) -> None:
    titles = (_TITLE.match(line[:_LONGEST_TITLE]) for line in front.split("\n"))
    title = next((match[2] for match in titles if match), "")
    if title and not any(t.type == "heading_open" and t.tag == "h1" for t in tokens):
        out.add("heading", title, level=1)
    out.add("paragraph", front)


def _block_parser() -> MarkdownIt:
    """A parser without the inline stage, which most blocks don't need; see ``_MarkdownReader``."""
    parser = MarkdownIt("commonmark", {"maxNesting": _DEEPEST})
    return parser.enable(["table", "strikethrough"]).disable(["inline", "text_join"])


class _MarkdownReader:
    def __init__(self, out: DocumentBuilder, limits: ParseLimits) -> None:
        self._out = out
        self._limits = limits
        self._inline = MarkdownIt("commonmark").enable("strikethrough")
        self._counters: list[int | None] = []
        self._marker = ""

    def read(self, tokens: Sequence[Token]) -> None:
        remaining = iter(tokens)
        for token in remaining:
            if token.type in ("fence", "code_block"):
                self._out.add("code", token.content)
            elif token.type == "html_block":
                self._out.extend(html.read(token.content, self._limits))
            elif token.type == "heading_open":
                text = flow_lines(self._text(next(remaining).content))
                self._out.add("heading", text.replace("\n", " "), level=int(token.tag[1:]))
            elif token.type == "table_open":
                self._out.add_table(self._rows(remaining))
            elif token.type == "inline":
                self._add_paragraph(token)
            else:
                self._track_lists(token)

    def _track_lists(self, token: Token) -> None:
        if token.type in _CONTAINERS:
            ordered = token.type == "ordered_list_open"
            start = token.attrGet("start")
            self._counters.append(int(start if start is not None else 1) if ordered else None)
        elif token.type in ("bullet_list_close", "ordered_list_close"):
            self._counters.pop()
        elif token.type == "list_item_open":
            number = self._counters[-1]
            self._marker = "- " if number is None else f"{number}. "
            if number is not None:
                self._counters[-1] = number + 1
        elif token.type == "list_item_close":
            self._marker = ""

    def _add_paragraph(self, token: Token) -> None:
        text = flow_lines(self._text(token.content))
        if text and self._marker:
            self._out.add("list_item", self._marker + text, level=len(self._counters))
            self._marker = ""
        else:
            self._out.add("paragraph", text)

    def _rows(self, tokens: Iterator[Token]) -> Iterator[list[str]]:
        row: list[str] = []
        for token in tokens:
            if token.type == "table_close":
                return
            if token.type == "inline":
                row.append(self._text(token.content))
            elif token.type == "tr_close":
                yield row
                row = []

    def _text(self, content: str) -> str:
        if not _MARKS.search(content) and "  \n" not in content:
            return content
        tokens = self._inline.parseInline(content)[0].children or []
        return "".join(map(_inline_text, tokens))


def _inline_text(token: Token) -> str:
    if token.type in ("text", "code_inline", "text_special"):
        return token.content
    if token.type == "softbreak":
        return "\n"
    if token.type == "hardbreak" or (token.type == "html_inline" and token.content[:3] == "<br"):
        return BREAK
    if token.type == "image":
        return "".join(map(_inline_text, token.children or [])) or token.content
    return ""
