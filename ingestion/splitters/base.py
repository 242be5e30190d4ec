"""The protocol of splitters: parsed elements in, pieces out."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from kb_service.embeddings.protocol import Vectors
from kb_service.text.token_counter import TokenCounter


class ElementSpan(Protocol):
    """One element of a parsed document; splitters know ``heading``, ``table`` and ``code``, others are running text."""

    @property
    def kind(self) -> str: ...

    @property
    def text(self) -> str:
        """The element's own text; of a heading, the text for the heading path."""
        ...

    @property
    def level(self) -> int:
        """Depth of a heading, from 1."""
        ...

    @property
    def page(self) -> int | None:
        """Page the element starts on, from 1."""
        ...

    @property
    def char_start(self) -> int:
        """First character in the document's plain text."""
        ...

    @property
    def char_end(self) -> int:
        """One past the last character in the document's plain text."""
        ...

    @property
    def later_pages(self) -> Sequence[tuple[int, int]]:
        """Offsets in ``text`` of the pages after ``page``, ascending, each with its page."""
        ...


class ParsedText(Protocol):
    """A parsed document: its canonical plain text and its elements."""

    @property
    def text(self) -> str: ...

    @property
    def elements(self) -> Sequence[ElementSpan]:
        """The elements, ascending and not overlapping; text between them belongs to the next."""
        ...


SMALLEST_CHUNK = 16
"""Least ``chunk_size``: any one character, with half of it left for a table's header, fits."""


CHARACTERS_PER_TOKEN = 16
"""Most characters of a span per token: prose has 4 to 5, Chinese 1; more are blanks and signs."""


@dataclass(frozen=True, slots=True)
class SplitSizes:
    """Sizes of pieces in tokens; ValueError below ``SMALLEST_CHUNK`` or for an overlap outside 0 to ``chunk_size`` -
    1.
    """

    chunk_size: int = 500
    chunk_overlap: int = 50

    def __post_init__(self) -> None:
        if self.chunk_size < SMALLEST_CHUNK:
            raise ValueError(f"chunk_size must be at least {SMALLEST_CHUNK} tokens")
        if not 0 <= self.chunk_overlap < self.chunk_size:
            raise ValueError("chunk_overlap must be from 0 to below chunk_size")


@dataclass(frozen=True, slots=True)
class Piece:
    """A passage of a document, the unit of the index and of citations.

    ``text`` is ``parsed.text[char_start:char_end]``, except for a later piece of a table that was cut by rows: it has
    the table's header rows and a line feed in front of that slice.

    Attributes:
        heading_path: the headings above the passage, outermost first; of small sections that share a piece, their
            common headings.
        page: page the passage starts on; of a table's later piece, that of its first row below the header.
        token_count: tokens of ``text`` by the counter, or a few more where a word had to be cut; never above the
            requested size.
        index: place among the document's pieces, from 0.
        windows: parts of ``text``, in order and without overlap, whose dense vectors stand for the passage's own;
            empty where the passage has a single vector.
    """

    text: str
    heading_path: tuple[str, ...]
    page: int | None
    char_start: int
    char_end: int
    token_count: int
    index: int
    windows: tuple[str, ...] = ()


class PassageEmbedder(Protocol):
    """Encodes texts while a splitter's thread waits: one row of length 1 for each; raises what the encoder raises."""

    def __call__(self, texts: Sequence[str], /) -> Vectors: ...


class Splitter(Protocol):
    """Cuts a parsed document into pieces.

    Laws, whatever the splitter:

    - Spans ascend: neither starts nor ends ever go back.
    - Spans tile the text: what stands before the first, after the last and between one span and
      the next holds no token: only blanks and characters that the tokenizer drops (control and
      format characters, stray accents). Spans may overlap.
    - A piece has a token, and at most ``chunk_size`` of them; its text is the slice of its span
      (for tables see ``Piece``).
    - Time is linear in the text.
    """

    def __call__(self, parsed: ParsedText, *, sizes: SplitSizes, counter: TokenCounter) -> Iterator[Piece]: ...


def indexed_text(piece: Piece, title: str) -> str:
    """The text whose terms go into the sparse vector: title (blank for none) and headings in front.

    The dense vector is made of ``piece.text`` alone. A heading that stands as a line in the passage itself is not
    repeated.
    """
    present = {line.strip() for line in piece.text.splitlines()}
    front = dict.fromkeys(part.strip() for part in (title, *piece.heading_path))
    return "\n".join([*(part for part in front if part and part not in present), piece.text])
