"""Differences between the splitters, on documents with known pieces."""

import gc
import time
import tracemalloc
from collections.abc import Iterator
from itertools import pairwise

import pytest

from ingestion.parsers.model import SEPARATOR, Element, ParsedDocument
from ingestion.splitters import SPLITTERS
from ingestion.splitters.base import Piece, SplitSizes
from ingestion.splitters.parent_child import WINDOW_TOKENS
from kb_service.models import SplitterName
from kb_service.text.token_counter import token_counter
from tests.fixtures.knowledge.splitters import split

COUNTER = token_counter()

every_splitter = pytest.mark.parametrize("name", SPLITTERS)


@pytest.fixture
def without_collections() -> Iterator[None]:
    """A collection goes through the things of all tests before: longer than the work itself."""
    gc.disable()
    yield
    gc.enable()


def _parsed(*blocks: tuple[str, str] | tuple[str, str, int]) -> ParsedDocument:
    elements: list[Element] = []
    place = 0
    for kind, text, *level in blocks:
        end = place + len(text)
        depth = level[0] if level else 0
        elements.append(Element(kind, text, depth, len(elements) + 1, place, end))
        place = end + len(SEPARATOR)
    return ParsedDocument(tuple(elements), SEPARATOR.join(element.text for element in elements))


def _split(name: str, parsed: ParsedDocument, size: int = 20, overlap: int = 0) -> list[Piece]:
    return list(split(name, parsed, sizes=SplitSizes(size, overlap), counter=COUNTER))


def _words(count: int, word: str = "word") -> str:
    return " ".join([word] * count)


def _texts(pieces: list[Piece]) -> list[str]:
    return [piece.text for piece in pieces]


def test_sentences_are_packed_across_paragraphs_and_headings() -> None:
    parsed = _parsed(
        ("heading", "Guide", 1),
        ("heading", "Use", 2),
        ("paragraph", "One two three. Four five six."),
        ("heading", "Notes", 2),
        ("paragraph", "Seven eight nine. " + _words(12) + "."),
    )
    pieces = _split("sentence", parsed)
    assert [piece.heading_path for piece in pieces] == [("Guide",), ("Guide", "Notes")]
    assert pieces[0].text.endswith("Notes\n\nSeven eight nine.")
    assert [piece.page for piece in pieces] == [1, 5]


@pytest.mark.parametrize(
    "sentences",
    [
        ["他说：“今天下雨了。”", "她问：「真的吗？」", "是的！！", "……", "（完。）", "《书名。》"],
        ["He said so (twice). ", 'She asked, "Why now?" ', "Version 3.14 is fine; ", "Yes! "],
        ["第一句写在\n两行里。", "第二句\n也是\n这样；", "A line\nthat goes on\nand on. ", "End! "],
    ],
)
def test_sentences_that_fit_are_never_cut(sentences: list[str]) -> None:
    text = "".join(sentences * 5)
    borders = {0}
    for sentence in sentences * 5:
        borders.add(max(borders) + len(sentence))
    for size in (16, 20, 27):
        for piece in _split("sentence", _parsed(("paragraph", text)), size=size):
            blanks = len(text[piece.char_end :]) - len(text[piece.char_end :].lstrip())
            assert {piece.char_start, piece.char_end + blanks} <= borders


def test_sentences_overlap_by_whole_sentences() -> None:
    text = "".join(f"第{number}句话\n很短。" for number in range(1, 7))
    pieces = _split("sentence", _parsed(("paragraph", text)), size=18, overlap=8)
    assert _texts(pieces)[:2] == [
        "第1句话\n很短。第2句话\n很短。",
        "第2句话\n很短。第3句话\n很短。",
    ]


def test_a_sentence_longer_than_a_piece_is_cut_and_the_next_one_is_whole() -> None:
    text = "\n".join([_words(9)] * 4) + ". Then a short one."
    pieces = _split("sentence", _parsed(("paragraph", text)))
    assert pieces[0].text == f"{_words(9)}\n{_words(9)}"
    assert pieces[-1].text == "Then a short one."


def test_fixed_windows_have_the_size_and_the_overlap_asked_for() -> None:
    words = [f"w{number}" for number in range(100)]
    costs = {word: COUNTER.count(word) for word in words}
    pieces = _split("fixed", _parsed(("paragraph", " ".join(words))), size=40, overlap=10)
    for piece in pieces[:-1]:
        assert 40 - max(costs.values()) < piece.token_count <= 40
    for before, after in pairwise(pieces):
        shared = set(before.text.split()) & set(after.text.split())
        assert 10 - max(costs.values()) < sum(costs[word] for word in shared) <= 10
    assert words == list(dict.fromkeys(word for piece in pieces for word in piece.text.split()))


def test_fixed_windows_ignore_the_structure_but_know_page_and_headings() -> None:
    parsed = _parsed(("heading", "A", 1), ("paragraph", _words(18)), ("heading", "B", 1), ("paragraph", "end"))
    pieces = _split("fixed", parsed, size=19)
    assert [(piece.text[-3:], piece.heading_path, piece.page) for piece in pieces] == [
        ("ord", ("A",), 1),
        ("end", ("B",), 3),
    ]
    assert [piece.heading_path for piece in _split("fixed", parsed, size=20)] == [(), ("B",)]


def test_markdown_sections_are_never_joined_and_long_ones_are_cut() -> None:
    parsed = _parsed(
        ("paragraph", "Before."),
        ("heading", "A", 1),
        ("heading", "A1", 2),
        ("paragraph", "Tiny."),
        ("heading", "A2", 2),
        ("paragraph", _words(60)),
        ("heading", "B", 1),
    )
    pieces = _split("markdown_sections", parsed, size=40)
    assert [piece.heading_path for piece in pieces] == [
        (),
        ("A", "A1"),
        ("A", "A2"),
        ("A", "A2"),
        ("B",),
    ]
    assert _texts(pieces)[:2] == ["Before.", "A\n\nA1\n\nTiny."]


def test_parents_have_windows_of_equal_length_only_when_they_are_long() -> None:
    text = " ".join(f"w{number}." for number in range(110))
    (short,) = _split("parent_child", _parsed(("paragraph", "Short.")), size=500)
    assert short.windows == ()
    (parent,) = _split("parent_child", _parsed(("paragraph", text)), size=500)
    assert " ".join(parent.windows) == text
    counts = [COUNTER.count(window) for window in parent.windows]
    assert len(counts) == -(-parent.token_count // WINDOW_TOKENS)
    assert max(counts) - min(counts) < 10


@every_splitter
def test_only_two_splitters_make_windows(name: str) -> None:
    pieces = _split(name, _parsed(("paragraph", f"{_words(30)}. " * 20)), size=300)
    windowed = {"parent_child", "llama_index:SentenceWindowNodeParser"}
    assert any(piece.windows for piece in pieces) == (name in windowed)


@every_splitter
def test_tables_keep_their_header_row_wherever_the_splitter_knows_of_tables(name: str) -> None:
    rows = [f"{number} | item{number}" for number in range(12)]
    pieces = _split(name, _parsed(("table", "\n".join(["id | name", *rows]))))
    headed = [piece.text.startswith("id | name\n") for piece in pieces]
    assert all(headed) == (name != "fixed")


@pytest.mark.usefixtures("without_collections")
@every_splitter
@pytest.mark.parametrize("unit", ["a", "世", "word ", ".", ".)", "\n", "a\n", "# a\n", "\u0301"])
def test_split_of_one_huge_line_takes_linear_time(name: str, unit: str) -> None:
    def seconds(characters: int) -> float:
        parsed = _parsed(("paragraph", "a" + unit * (characters // len(unit)) + "b"))
        start = time.thread_time()
        for piece in split(name, parsed, sizes=SplitSizes(), counter=COUNTER):
            assert len(piece.text) <= 16 * 500
        return time.thread_time() - start

    base = min(seconds(2_000) for _ in range(3))
    # Fifteen times the text; a quadratic step would take 225 times as long.
    assert seconds(30_000) < 180 * max(base, 0.0025)


@pytest.mark.usefixtures("without_collections")
@every_splitter
def test_split_of_many_small_elements_takes_linear_time(name: str) -> None:
    def seconds(sections: int) -> float:
        blocks = [("heading", f"H{number}", 1 + number % 3) for number in range(sections)]
        parsed = _parsed(*(block for head in blocks for block in (head, ("paragraph", "text"))))
        start = time.thread_time()
        for _ in split(name, parsed, sizes=SplitSizes(), counter=COUNTER):
            pass
        return time.thread_time() - start

    base = min(seconds(100) for _ in range(3))
    assert seconds(2_000) < 150 * max(base, 0.005)


@every_splitter
def test_split_holds_no_more_memory_when_the_text_is_longer(name: str) -> None:
    # What is loaded at the first split is not of the text.
    _split(name, _parsed(("paragraph", "word")))

    def peak(characters: int) -> int:
        parsed = _parsed(("paragraph", "word " * (characters // 5)))
        tracemalloc.start()
        for _ in split(name, parsed, sizes=SplitSizes(), counter=COUNTER):
            pass
        _, most = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        return most

    assert peak(160_000) < 1.5 * peak(80_000)


def test_knowledge_bases_can_have_the_splitters_that_exist() -> None:
    assert set(SPLITTERS) == set(SplitterName)
