"""Properties of every splitter, on generated documents."""

import unicodedata
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ingestion.parsers.model import SEPARATOR, Element, ParsedDocument
from ingestion.splitters import SPLITTERS
from ingestion.splitters.base import Piece, SplitSizes
from ingestion.splitters.parent_child import WINDOW_TOKENS
from kb_service.text.token_counter import token_counter
from tests.fixtures.knowledge.splitters import split

COUNTER = token_counter()

_WORDS = st.sampled_from(
    [
        *("the", "Retrieval", "unbelievable", "don't", "3.14", "e.g.", "naïve", "Σίσυφος"),
        *("战国无双", "知识库", "检索增强生成", "学习", "カタカナ", "한국어", "ภาษาไทย"),
        *("😀", "👨‍👩‍👧", "é", "e\u0301", "\u200b", "\x0c", "﷽", "𠀀𠀁", "｡ﾊﾝｶｸ"),
        *("x" * 130, "0f3a" * 90, "한" * 120, "......", "----", "（注）"),
    ]
)
_SIGNS = st.sampled_from([" ", "", "，", ", ", "。", ". ", "！", "? ", "；", "\n", "\n\n", "   \t "])
_TEXTS = st.lists(st.tuples(_WORDS, _SIGNS), min_size=1, max_size=60).map(
    lambda parts: "".join(word + sign for word, sign in parts).strip()
)
_ANY_TEXTS = st.text(min_size=1, max_size=200).map(str.strip)
_KINDS = st.sampled_from(["heading", "paragraph", "paragraph", "list_item", "table", "code"])


def _parsed(blocks: list[tuple[str, str, int]], every: int = 0) -> ParsedDocument:
    """A document of blocks; with ``every``, a page begins behind so many characters of each."""
    elements: list[Element] = []
    place = 0
    for kind, text, level in blocks:
        body = " ".join(text.split()) if kind == "heading" else text
        if body:
            first = place + 1 if every else None
            later = [(at, place + 1 + at) for at in range(every, len(body), every)] if every else ()
            end = place + len(body)
            elements.append(Element(kind, body, level, first, place, end, tuple(later)))
            place += len(body) + len(SEPARATOR)
    return ParsedDocument(tuple(elements), SEPARATOR.join(element.text for element in elements))


_BLOCKS = st.lists(st.tuples(_KINDS, st.one_of(_TEXTS, _ANY_TEXTS), st.integers(1, 4)), min_size=1, max_size=12)
_DOCUMENTS = _BLOCKS.map(_parsed)
_SIZES = st.tuples(st.integers(16, 80), st.integers(0, 15)).map(lambda pair: SplitSizes(*pair))


every_splitter = pytest.mark.parametrize("name", SPLITTERS)


def _pieces(name: str, parsed: ParsedDocument, sizes: SplitSizes) -> list[Piece]:
    return list(split(name, parsed, sizes=sizes, counter=COUNTER))


def _is_nothing(text: str) -> bool:
    """Whether there is nothing but blanks and what the tokenizer drops."""
    return COUNTER.count(text) == 0 and all(
        sign.isspace() or sign == "\ufffd" or unicodedata.category(sign)[0] in "CM" for sign in text
    )


@every_splitter
@given(parsed=_DOCUMENTS, sizes=_SIZES)
@settings(max_examples=150, deadline=None)
def test_pieces_keep_the_laws_for_any_document(name: str, parsed: ParsedDocument, sizes: SplitSizes) -> None:
    pieces = _pieces(name, parsed, sizes)
    rest = place = 0
    for index, piece in enumerate(pieces):
        assert piece.index == index
        assert 0 < COUNTER.count(piece.text) <= piece.token_count <= sizes.chunk_size
        span = parsed.text[piece.char_start : piece.char_end]
        assert piece.text == span or piece.text.endswith("\n" + span)
        assert place <= piece.char_start
        assert rest <= piece.char_end
        assert _is_nothing(parsed.text[rest : piece.char_start])
        rest, place = piece.char_end, piece.char_start
    assert _is_nothing(parsed.text[rest:])


@every_splitter
@given(blocks=_BLOCKS, every=st.integers(1, 40), sizes=_SIZES)
@settings(max_examples=100, deadline=None)
def test_piece_names_the_page_that_its_span_starts_on(
    name: str, blocks: list[tuple[str, str, int]], every: int, sizes: SplitSizes
) -> None:
    parsed = _parsed(blocks, every)
    for piece in _pieces(name, parsed, sizes):
        start = piece.char_start
        element = next(one for one in parsed.elements if start < one.char_end)
        passed = [page for at, page in element.later_pages if element.char_start + at <= start]
        assert piece.page == (passed[-1] if passed else element.page)


@every_splitter
@given(text=st.one_of(_TEXTS, _ANY_TEXTS), sizes=_SIZES)
@settings(max_examples=100, deadline=None)
def test_overlap_stays_within_its_size_for_any_text(name: str, text: str, sizes: SplitSizes) -> None:
    pieces = _pieces(name, _parsed([("paragraph", text, 0)]), sizes)
    for before, after in pairwise(pieces):
        assert before.char_start < after.char_start
        assert before.char_end < after.char_end
        shared = text[after.char_start : before.char_end]
        assert COUNTER.count(shared) <= sizes.chunk_overlap


@pytest.mark.parametrize("name", ["parent_child", "llama_index:SentenceWindowNodeParser"])
@given(text=st.one_of(_TEXTS, _ANY_TEXTS), repeats=st.integers(1, 20))
@settings(max_examples=100, deadline=None)
def test_windows_tile_their_piece(name: str, text: str, repeats: int) -> None:
    parsed = _parsed([("paragraph", " ".join([text] * repeats), 0)])
    for piece in _pieces(name, parsed, SplitSizes(400, 0)):
        # A piece that was cut out of a very long word says a few tokens more than it has.
        if name == "parent_child" and COUNTER.count(piece.text) <= WINDOW_TOKENS:
            assert piece.windows == ()
        if not piece.windows:
            assert COUNTER.count(piece.text) <= WINDOW_TOKENS
            continue
        assert len(piece.windows) > 1
        rest = piece.text
        for window in piece.windows:
            assert 0 < COUNTER.count(window) <= WINDOW_TOKENS
            gap, found, rest = rest.partition(window)
            assert found
            assert _is_nothing(gap)
        assert _is_nothing(rest)


@given(parsed=_DOCUMENTS, sizes=_SIZES)
@settings(max_examples=50, deadline=None)
def test_parents_are_the_pieces_of_heading_recursive(parsed: ParsedDocument, sizes: SplitSizes) -> None:
    parents = _pieces("parent_child", parsed, sizes)
    assert parents == _pieces("heading_recursive", parsed, sizes)
