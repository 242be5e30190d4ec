"""Passages of a manual in HTML or DocBook, a few hundred words each, with the section they stand in."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from html.parser import HTMLParser
from pathlib import Path

_PREFORMATTED = {"pre", "programlisting", "screen", "synopsis", "literallayout"}
_HEADINGS = {"h1": 1, "h2": 2, "h3": 3, "h4": 4, "h5": 5, "h6": 6}
_HTML_BLOCKS = {"p", "div", "li", "dt", "dd", "blockquote", "table", "section", "ul", "ol", "dl"}
_DOCBOOK_BLOCKS = {"para", "simpara", "listitem", "term", "title", "refpurpose", "member", "table"}
_BLOCKS = _HTML_BLOCKS | _DOCBOOK_BLOCKS | _PREFORMATTED
_DOCBOOK_SECTIONS = {"chapter", "appendix", "preface", "refentry", "section", "simplesect"} | {
    f"{name}{level}" for name in ("sect", "refsect") for level in range(1, 5)
}
_ROWS = {"tr": "td th", "row": "entry"}
_CELLS = {"td", "th", "entry"}
_ITEMS = {"li", "listitem"}
_SKIPPED_TAGS = {"script", "style", "head", "indexterm", "refmeta", "nav", "tocgroup"}
_SKIPPED_CLASSES = {
    *("toc", "navheader", "navfooter", "docnav", "related", "sphinxsidebar", "footer"),
    *("headerlink", "list-of-tables", "list-of-figures", "refnamediv-toc", "blurb"),
}
_SKIPPED_IDS = {"banner", "title"}
_ADMONITIONS = {"note", "tip", "caution", "warning", "important"}
_VOID = {"br", "img", "hr", "meta", "link", "input", "col", "xref", "colspec", "spanspec"}
_IDEOGRAPH = "\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\uff00-\uffef\u3000-\u303f"
_GAP_BETWEEN_IDEOGRAPHS = re.compile(rf"(?<=[{_IDEOGRAPH}])[ \n]+(?=[{_IDEOGRAPH}])")
_WORD = re.compile(rf"[{_IDEOGRAPH}]|[^\s{_IDEOGRAPH}]+")
_CDATA = re.compile(r"<!\[CDATA\[(.*?)\]\]>", re.DOTALL)
# Comments, and what a title or term holds besides its words.
_COMMENT = re.compile(r"<!--.*?-->|<indexterm\b.*?</indexterm>|\(<type>.*?</type>\)", re.DOTALL)
_TAG = re.compile(r"<[^>]+>")
_NAMED = re.compile(
    r'\bid="([^"]+)"(?:(?!\bid="|<para>).){0,1500}?<(?:title|refname|term)>(.*?)</(?:title|refname|term)>',
    re.DOTALL,
)
_NUMBER = re.compile(
    r"^(?:(?:chapter|part|appendix|kapitel|anhang|chapitre|annexe|capítulo|apéndice|apêndice|глава|"
    r"приложение)\s+)?(?:第\s*\d+\s*章|附录\s*\w|付録\s*\w)?(?:[A-Z]?\d*(?:\.\d+)*\.\s+)?",
    re.IGNORECASE,
)
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+|(?<=[。！？])|\n")
SMALLEST, USUAL, LARGEST = 60, 170, 230


@dataclass(frozen=True)
class ManualBlock:
    """A paragraph, list item, table row or program text, and the headings over it."""

    text: str
    headings: tuple[str, ...]
    anchor: str


@dataclass(frozen=True)
class CorpusPassage:
    """A piece of a manual; ``document`` is the file's path below the folder with the packages."""

    document: str
    anchor: str
    title: str
    text: str


class ManualReader(HTMLParser):
    """Collects the blocks of one file; HTML and DocBook differ only in the names of their tags."""

    def __init__(self, link_titles: Mapping[str, str]) -> None:
        super().__init__(convert_charrefs=True)
        self.blocks: list[ManualBlock] = []
        self._link_titles = link_titles
        self._buffer: list[str] = []
        self._prefix = ""
        self._headings: list[tuple[int, str]] = []
        self._anchor = self._next_anchor = ""
        self._sections = 0
        self._heading_level = 0
        self._expects_title = self._in_admonition = False
        self._rows = self._preformatted = 0
        self._skipping: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Open a block, a section or a heading."""
        if tag in _VOID:
            self.handle_startendtag(tag, attrs)
            return
        values = {name: value or "" for name, value in attrs}
        classes = set(values.get("class", "").split())
        skipped = tag in _SKIPPED_TAGS or classes & _SKIPPED_CLASSES or values.get("id") in _SKIPPED_IDS
        if self._skipping or skipped:
            self._skipping.append(tag)
            return
        self._note_anchor(tag, values)
        # The heading of a note ("Tip"), right after its beginning, begins no section.
        if tag in _HEADINGS and self._in_admonition:
            return
        self._in_admonition = bool(classes & _ADMONITIONS)
        if tag in _DOCBOOK_SECTIONS:
            self._flush()
            self._sections += 1
            self._expects_title = True
        elif tag in _HEADINGS or (tag == "title" and self._expects_title) or tag == "refname":
            self._flush()
            self._heading_level = _HEADINGS.get(tag, self._sections)
            self._expects_title = False
        elif tag in _ROWS:
            self._flush()
            self._rows += 1
        elif tag in _BLOCKS and not self._rows:
            self._flush()
            self._preformatted += tag in _PREFORMATTED
            self._prefix = "- " if tag in _ITEMS else self._prefix

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note an anchor, put in the title of what a link names."""
        if self._skipping:
            return
        values = {name: value or "" for name, value in attrs}
        self._note_anchor(tag, values)
        if tag == "xref":
            target = values.get("linkend", "")
            self._buffer.append(self._link_titles.get(target, target))
        elif tag == "br":
            self._buffer.append("\n" if self._preformatted else " ")

    def handle_endtag(self, tag: str) -> None:
        """Close what the tag opened."""
        if self._skipping:
            # Some files leave tags open that HTML does not require to be closed.
            while self._skipping and self._skipping.pop() != tag:
                pass
        elif tag in _DOCBOOK_SECTIONS:
            self._flush()
            self._sections -= 1
        elif self._heading_level and (tag in _HEADINGS or tag in {"title", "refname"}):
            self._end_heading()
        elif tag in _CELLS and self._rows:
            self._buffer.append(" | ")
        elif tag in _ROWS:
            self._rows = max(0, self._rows - 1)
            self._flush()
        elif tag in _BLOCKS and not self._rows:
            self._flush()
            self._preformatted = max(0, self._preformatted - (tag in _PREFORMATTED))

    def handle_data(self, data: str) -> None:
        """Collect text."""
        if not self._skipping:
            self._buffer.append(data)

    def _note_anchor(self, tag: str, values: Mapping[str, str]) -> None:
        anchor = values.get("id") or (values.get("name") if tag == "a" else None)
        if not anchor:
            return
        sections = values.get("class", "").startswith(("sect", "refentry", "chapter", "appendix"))
        if sections or self._heading_level or tag == "section" or tag in _DOCBOOK_SECTIONS:
            self._next_anchor = anchor

    def _end_heading(self) -> None:
        heading = _NUMBER.sub("", tidy("".join(self._buffer)))
        self._buffer.clear()
        level, self._heading_level = self._heading_level, 0
        self._headings = [(own, text) for own, text in self._headings if own < level]
        self._headings.append((level, heading))
        self._anchor, self._next_anchor = self._next_anchor or self._anchor, ""

    def _flush(self) -> None:
        if self._heading_level:
            return
        text = "".join(self._buffer)
        self._buffer.clear()
        text = text.strip("\n").rstrip() if self._preformatted else tidy(text).removesuffix(" |")
        if text.strip():
            headings = tuple(heading for _, heading in self._headings)
            self.blocks.append(ManualBlock(self._prefix + text, headings, self._anchor))
            self._prefix = ""


def tidy(text: str) -> str:
    """Text with single spaces, and none where a line of Chinese or Japanese was wrapped."""
    return _GAP_BETWEEN_IDEOGRAPHS.sub("", " ".join(text.split()))


def size(text: str) -> float:
    """The number of words; an ideograph counts as half a word."""
    words = _WORD.findall(text)
    ideographs = sum(len(word) == 1 and bool(re.match(rf"[{_IDEOGRAPH}]", word)) for word in words)
    return len(words) - ideographs / 2


def read_blocks(path: Path, link_titles: Mapping[str, str]) -> list[ManualBlock]:
    """The blocks of a file."""
    reader = ManualReader(link_titles)
    source = path.read_text(encoding="utf-8", errors="replace")
    reader.feed(_CDATA.sub(lambda found: escape(found[1]), source))
    reader.close()
    return reader.blocks


def link_titles(paths: Iterable[Path]) -> dict[str, str]:
    """What each id in DocBook files names: the title, command or term that follows it."""
    titles: dict[str, str] = {}
    for path in paths:
        source = _COMMENT.sub("", path.read_text(encoding="utf-8", errors="replace"))
        titles |= {id_: tidy(_TAG.sub("", text)) for id_, text in _NAMED.findall(source)}
    return titles


def passages_of(document: str, blocks: Sequence[ManualBlock]) -> Iterator[CorpusPassage]:
    """The blocks of each section packed into passages of about the usual size."""
    start = 0
    for end in range(1, len(blocks) + 1):
        if end == len(blocks) or blocks[end].headings != blocks[start].headings:
            yield from _pack(document, blocks[start:end])
            start = end


def _pack(document: str, blocks: Sequence[ManualBlock]) -> Iterator[CorpusPassage]:
    texts: list[str] = []
    parts: list[str] = []
    for block in blocks:
        for part in _parts(block.text):
            if parts and size("\n\n".join([*parts, part])) > LARGEST:
                texts.append("\n\n".join(parts))
                parts = []
            parts.append(part)
            if size("\n\n".join(parts)) >= USUAL:
                texts.append("\n\n".join(parts))
                parts = []
    rest = "\n\n".join(parts)
    if texts and size(rest) < SMALLEST:
        texts[-1] += f"\n\n{rest}" if rest else ""
    elif size(rest) >= SMALLEST:
        texts.append(rest)
    title = " – ".join(blocks[0].headings[-2:])
    for text in texts:
        yield CorpusPassage(document, blocks[0].anchor, title, text)


def _parts(text: str) -> Iterable[str]:
    """A text, or its sentences in parts when it is too long for one passage."""
    if size(text) <= LARGEST:
        return [text]
    parts = [""]
    ends = [found.end() for found in _SENTENCE_END.finditer(text)]
    for start, end in zip([0, *ends], [*ends, len(text)], strict=True):
        if parts[-1] and size(parts[-1] + text[start:end]) > USUAL:
            parts.append("")
        parts[-1] += text[start:end]
    return [part.strip("\n ") for part in parts if part.strip()]
