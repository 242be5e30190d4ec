"""The heading-recursive splitter, on documents with known pieces."""

import inspect
import pkgutil
from importlib import import_module

import pytest

import ingestion.splitters
from ingestion.parsers.model import SEPARATOR, Element, ParsedDocument
from ingestion.splitters import SPLITTERS
from ingestion.splitters.base import Piece, SplitSizes, indexed_text
from ingestion.splitters.heading_recursive import split
from kb_service.text.token_counter import token_counter
from tests.fixtures.knowledge.splitters import embed_letters

COUNTER = token_counter()


def _parsed(*blocks: tuple[str, str] | tuple[str, str, int]) -> ParsedDocument:
    elements: list[Element] = []
    place = 0
    for kind, text, *level in blocks:
        end = place + len(text)
        depth = level[0] if level else 0
        elements.append(Element(kind, text, depth, len(elements) + 1, place, end))
        place = end + len(SEPARATOR)
    return ParsedDocument(tuple(elements), SEPARATOR.join(element.text for element in elements))


def _split(parsed: ParsedDocument, size: int = 20, overlap: int = 0) -> list[Piece]:
    return list(split(parsed, sizes=SplitSizes(size, overlap), counter=COUNTER))


def _words(count: int, word: str = "word") -> str:
    return " ".join([word] * count)


def test_split_of_a_short_document_is_one_piece() -> None:
    parsed = _parsed(("paragraph", "Hello world."), ("list_item", "你好。"))
    assert _split(parsed) == [Piece("Hello world.\n\n你好。", (), 1, 0, 17, 6, 0)]


def test_split_of_a_document_without_tokens_is_empty() -> None:
    assert _split(ParsedDocument((), "")) == []
    assert _split(_parsed(("paragraph", "\u200b \x0c"))) == []


def test_split_reads_text_that_no_element_holds() -> None:
    parsed = ParsedDocument((Element("paragraph", "b", 0, 3, 2, 3),), "a b c")
    assert [piece.text for piece in _split(parsed)] == ["a b c"]


def test_split_keeps_sections_apart_under_their_heading_paths() -> None:
    parsed = _parsed(
        ("heading", "Guide", 1),
        ("heading", "Install", 2),
        ("paragraph", _words(15)),
        ("heading", "Use", 2),
        ("paragraph", _words(15)),
        ("heading", "Notes", 1),
        ("paragraph", _words(15)),
    )
    pieces = _split(parsed)
    assert [piece.heading_path for piece in pieces] == [
        ("Guide", "Install"),
        ("Guide", "Use"),
        ("Notes",),
    ]
    assert pieces[0].text.startswith("Guide\n\nInstall\n\nword")
    assert [piece.page for piece in pieces] == [1, 4, 6]


def test_split_joins_tiny_siblings_under_the_path_they_share() -> None:
    parsed = _parsed(
        ("heading", "FAQ", 1),
        *(block for name in "ABCDEF" for block in (("heading", name, 2), ("paragraph", "Yes, so."))),
    )
    pieces = _split(parsed, size=28)
    assert [piece.heading_path for piece in pieces] == [("FAQ",), ("FAQ", "F")]
    assert pieces[0].text.count("Yes") == 5


def test_split_does_not_join_a_tiny_section_to_a_stranger() -> None:
    parsed = _parsed(
        ("heading", "A", 1),
        ("heading", "B", 2),
        ("paragraph", "one"),
        ("heading", "C", 1),
        ("heading", "D", 2),
        ("paragraph", "two"),
    )
    assert [piece.heading_path for piece in _split(parsed)] == [("A", "B"), ("C", "D")]


def test_split_keeps_a_heading_without_body_apart_from_its_sibling() -> None:
    parsed = _parsed(("heading", "A", 1), ("heading", "B", 1), ("paragraph", _words(15)))
    assert [piece.heading_path for piece in _split(parsed)] == [("A",), ("B",)]


def test_split_bounds_the_characters_of_a_piece_where_words_stand_far_apart() -> None:
    pieces = _split(_parsed(("paragraph", ("a" + " " * 3000) * 5)), size=16)
    assert [piece.text for piece in pieces] == ["a"] * 5


def test_split_keeps_a_paragraph_whole_when_it_fits() -> None:
    first, second = _words(8, "one") + ".", _words(15, "two") + "."
    pieces = _split(_parsed(("paragraph", first), ("paragraph", second)))
    assert [piece.text for piece in pieces] == [first, second]


def test_split_cuts_a_long_paragraph_at_sentences_with_overlap() -> None:
    text = "".join(f"第{number}句话。" for number in range(1, 10))
    pieces = _split(_parsed(("paragraph", text)), size=16, overlap=6)
    assert pieces[0].text == "第1句话。第2句话。第3句话。"
    assert pieces[1].text == "第3句话。第4句话。第5句话。"


def test_split_overlaps_by_clauses_when_no_sentence_ends() -> None:
    text = _words(5) + ", " + _words(300)
    pieces = _split(_parsed(("paragraph", text)), size=100, overlap=40)
    assert pieces[0].char_end > pieces[1].char_start
    assert all(COUNTER.count(piece.text) <= 100 for piece in pieces)


def test_split_repeats_a_tables_header_row() -> None:
    rows = [f"{number} | item{number}" for number in range(12)]
    parsed = _parsed(("table", "\n".join(["id | name", *rows])))
    pieces = _split(parsed, overlap=15)
    assert len(pieces) > 1
    for piece in pieces[1:]:
        header, _, body = piece.text.partition("\n")
        assert header == "id | name"
        assert body == parsed.text[piece.char_start : piece.char_end]
    assert pieces[0].text == parsed.text[pieces[0].char_start : pieces[0].char_end]
    assert [row for piece in pieces for row in piece.text.splitlines()[1:]] == rows


def test_split_does_not_repeat_a_header_row_of_more_than_half_a_piece() -> None:
    header = " | ".join(["name"] * 8)
    parsed = _parsed(("table", "\n".join([header, *["1 | 2 | 3"] * 9])))
    assert sum(piece.text.count(header) for piece in _split(parsed)) == 1


def test_split_cuts_code_between_lines_and_keeps_the_indentation() -> None:
    code = "\n".join(["def main():", *(f"    call({number})" for number in range(9))])
    pieces = _split(_parsed(("code", code)))
    assert "\n".join(piece.text for piece in pieces) == code


def test_split_prefers_blank_lines_in_code() -> None:
    block = "a = 1\nb = 2\nc = 3"
    pieces = _split(_parsed(("code", "\n\n".join([block] * 4))))
    assert [piece.text for piece in pieces] == ["\n\n".join([block] * 2)] * 2


@pytest.mark.parametrize(("size", "overlap"), [(15, 0), (20, 20), (20, -1)])
def test_sizes_are_refused_when_no_piece_could_keep_them(size: int, overlap: int) -> None:
    with pytest.raises(ValueError, match="chunk_"):
        SplitSizes(size, overlap)


def test_indexed_text_has_title_and_headings_in_front() -> None:
    piece = Piece("Install\n\nRun make.", ("Guide", "Install"), None, 0, 18, 4, 0)
    assert indexed_text(piece, "Agentex ") == "Agentex\nGuide\nInstall\n\nRun make."
    assert indexed_text(piece, "Guide") == "Guide\nInstall\n\nRun make."
    assert indexed_text(piece, "") == "Guide\nInstall\n\nRun make."


def test_every_splitter_is_registered() -> None:
    found = {
        info.name
        for info in pkgutil.iter_modules(ingestion.splitters.__path__)
        if hasattr(import_module(f"ingestion.splitters.{info.name}"), "split")
    }
    assert {name for name in SPLITTERS if not name.startswith("llama_index:")} == found
    assert all(inspect.getdoc(entry.splitter(embed_letters)) for entry in SPLITTERS.values())
