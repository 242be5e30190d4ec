"""Sanitizer of untrusted Markdown: nothing in it runs, is loaded or links to scripts."""

import html
import re
from collections import defaultdict, deque
from collections.abc import Iterable

from markdown_it import MarkdownIt
from markdown_it.token import Token

LONGEST_READ = 32_768
"""Characters of a text that is read as Markdown; reading ten thousand can take a second."""
_RUN_OF_TICKS = re.compile(r"`+")
_CONTROLS = {code: None for code in (*range(0x20), 0x7F, *range(0x80, 0xA0)) if chr(code) not in "\n\t"}
# A definition may be anywhere in a file, and every [1] of the file becomes its link.
_ALWAYS = ((re.compile(r"\\?<"), "&lt;"), (re.compile(r"!\["), "&#33;["), (re.compile(r"\]:"), "]&#58;"))
_LINKS = re.compile(r"\\?\[")
_SAFE_TARGET = re.compile(r"(?:https?://|mailto:|#)[^\s]*|[^:\s]*(?:[/?#][^\s]*)?", re.IGNORECASE)
_INLINE_SIGNS = re.compile(r"([\\`*_\[\]|~$!])")


def _reader() -> MarkdownIt:
    reader = MarkdownIt("commonmark", {"html": False})
    reader.disable(["reference", "html_block", "html_inline", "autolink"])
    # All links are to be seen here, above all the bad ones.
    reader.validateLink = lambda url: True
    return reader


_READER = _reader()


def plain(text: str) -> str:
    """A text as one literal line of Markdown."""
    line = " ".join(text.split()).translate(_CONTROLS)
    return html.escape(_INLINE_SIGNS.sub(r"\\\1", line), quote=False)


def fenced(text: str, language: str = "") -> str:
    """A text as a code block that it can't close."""
    longest = max((len(run) for run in _RUN_OF_TICKS.findall(text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{language}\n{text.translate(_CONTROLS)}\n{fence}"


def quoted(text: str) -> str:
    """Markdown as a quotation that keeps its looks but not its effects.

    HTML shows as text, also in code whose limits are uncertain; images become links, link definitions become text, and
    so do links of a paragraph with a target such as ``javascript:``. A text that would take long to parse
    (``LONGEST_READ``) becomes code.
    """
    if len(text) > LONGEST_READ:
        return "\n".join(_quotation(fenced(_in_lines(text))))
    lines = _quotation(_in_lines(text).translate(_CONTROLS))
    tokens = _READER.parse("\n".join(lines))
    harmless = [_harmless(line) for line in lines]
    for token in tokens:
        start, end = token.map or (0, 0)
        if token.type == "fence":
            harmless[start + 1 : end] = lines[start + 1 : end]
        elif token.type == "inline":
            harmless[start:end] = _paragraph(lines[start:end], token.children or [])
    return "\n".join(harmless)


def _in_lines(text: str) -> str:
    return re.sub(r"\r\n?", "\n", text)


def _quotation(text: str) -> list[str]:
    return [f"> {line}" if line else ">" for line in text.split("\n")]


def _paragraph(lines: list[str], inside: list[Token]) -> list[str]:
    targets = [str(token.attrGet("href") or token.attrGet("src") or "") for token in inside]
    has_links = all(_SAFE_TARGET.fullmatch(target) for target in targets)
    spans = [_code_spans(line) for line in lines]
    count = sum(token.type == "code_inline" for token in inside)
    # Where the reader and a mere look at the signs agree on every span, there is no doubt.
    if None in spans or sum(len(of_line or ()) for of_line in spans) != count:
        spans = [()] * len(lines)
    return [_harmless(line, of_line or (), has_links=has_links) for line, of_line in zip(lines, spans, strict=True)]


def _code_spans(line: str) -> tuple[tuple[int, int], ...] | None:
    """Where code stands in a line; None if that is uncertain.

    Table cells are parsed one by one, and a backslash may be part of code or not.
    """
    runs = list(_RUN_OF_TICKS.finditer(line))
    if runs and ("|" in line or "\\`" in line):
        return None
    places: defaultdict[int, deque[int]] = defaultdict(deque)
    for place, run in enumerate(runs):
        places[len(run.group())].append(place)
    spans: list[tuple[int, int]] = []
    opening = 0
    while opening < len(runs):
        alike = places[len(runs[opening].group())]
        while alike and alike[0] <= opening:
            alike.popleft()
        if not alike:
            return None
        closing = alike.popleft()
        spans.append((runs[opening].start(), runs[closing].end()))
        opening = closing + 1
    return tuple(spans)


def _harmless(line: str, spans: Iterable[tuple[int, int]] = (), *, has_links: bool = True) -> str:
    """A line without effects; certain code stays as it is."""
    pieces: list[str] = []
    place = 0
    for start, end in spans:
        pieces += (_disarm(line[place:start], has_links=has_links), line[start:end])
        place = end
    return "".join([*pieces, _disarm(line[place:], has_links=has_links)])


def _disarm(text: str, *, has_links: bool) -> str:
    for sign, instead in _ALWAYS:
        text = sign.sub(instead, text)
    return text if has_links else _LINKS.sub("&#91;", text)
