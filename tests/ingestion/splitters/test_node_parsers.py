"""Node parsers of LlamaIndex as splitters: their nodes on ordinary text, and lawful pieces on any."""

import subprocess
import sys
from itertools import pairwise

import pytest
from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_index.core.node_parser import (
    MarkdownNodeParser,
    SemanticSplitterNodeParser,
    SentenceSplitter,
    TokenTextSplitter,
)
from llama_index.core.schema import Document

from ingestion.parsers import parser_for
from ingestion.parsers.limits import ParseLimits
from ingestion.parsers.model import SEPARATOR, Element, ParsedDocument
from ingestion.splitters import SPLITTERS
from ingestion.splitters.base import Piece, SplitSizes
from ingestion.splitters.node_parsers import SENTENCES_COMPARED
from ingestion.splitters.node_runs import LONGEST_RUN, TextRun
from ingestion.splitters.node_spans import find_spans
from ingestion.splitters.units import sentences
from kb_service.text.token_counter import token_counter
from tests.fixtures.knowledge import splitters
from tests.fixtures.paths import GUIDE

COUNTER = token_counter()
PAGES = [GUIDE / language / f"{name}.md" for language in ("en", "zh") for name in ("skills", "documents")]
ALL = [name for name in SPLITTERS if name.startswith("llama_index:")]
each_page = pytest.mark.parametrize("page", PAGES, ids=lambda page: f"{page.parent.name}-{page.stem}")


def split(name: str, parsed: ParsedDocument, size: int = 100, overlap: int = 20) -> list[Piece]:
    sizes = SplitSizes(size, overlap)
    return list(splitters.split(f"llama_index:{name}", parsed, sizes=sizes, counter=COUNTER))


def document(*blocks: tuple[str, str] | tuple[str, str, int]) -> ParsedDocument:
    elements: list[Element] = []
    place = 0
    for kind, text, *level in blocks:
        elements.append(Element(kind, text, level[0] if level else 0, None, place, place + len(text)))
        place += len(text) + len(SEPARATOR)
    return ParsedDocument(tuple(elements), SEPARATOR.join(element.text for element in elements))


def page_text(page, most: int = LONGEST_RUN) -> ParsedDocument:
    """A page of the guide without its tables, which splitters cut themselves, of no more than one run."""
    parsed = parser_for("text/markdown")(page, ParseLimits())
    blocks, length = [], 0
    for element in parsed.elements:
        length += len(element.text) + len(SEPARATOR)
        if element.kind != "table" and length < most:
            blocks.append((element.kind, element.text, element.level))
    return document(*blocks)


def tokens(text: str) -> range:
    return range(COUNTER.count(text))


@each_page
@pytest.mark.parametrize(("size", "overlap"), [(60, 0), (100, 20), (500, 50)])
def test_chunks_of_sentence_splitter_are_the_pieces(page, size, overlap):
    parsed = page_text(page)
    parser = SentenceSplitter(
        chunk_size=size,
        chunk_overlap=overlap,
        tokenizer=tokens,
        paragraph_separator=SEPARATOR,
        chunking_tokenizer_fn=sentences,
    )
    assert [piece.text for piece in split("SentenceSplitter", parsed, size, overlap)] == parser.split_text(parsed.text)


@each_page
@pytest.mark.parametrize(("size", "overlap"), [(60, 0), (100, 20), (500, 50)])
def test_chunks_of_token_text_splitter_are_the_pieces(page, size, overlap):
    parsed = page_text(page)
    parser = TokenTextSplitter(chunk_size=size, chunk_overlap=overlap, tokenizer=tokens)
    assert [piece.text for piece in split("TokenTextSplitter", parsed, size, overlap)] == parser.split_text(parsed.text)


@each_page
def test_nodes_of_markdown_node_parser_are_the_pieces(page):
    parsed = page_text(page)
    blocks = [f"{'#' * e.level} {e.text}" if e.kind == "heading" else e.text for e in parsed.elements]
    nodes = MarkdownNodeParser().get_nodes_from_documents([Document(text=SEPARATOR.join(blocks))])
    pieces = split("MarkdownNodeParser", parsed, 4000)
    assert [piece.text for piece in pieces] == [node.text.lstrip("# ") for node in nodes]
    assert len(pieces) > 5


class Letters(BaseEmbedding):
    """An embedding model as LlamaIndex means it: lists of numbers, a few texts at a time."""

    def _get_text_embedding(self, text):
        return splitters.embed_letters([text])[0].tolist()

    _get_query_embedding = _get_text_embedding

    async def _aget_query_embedding(self, query):
        return self._get_text_embedding(query)


@each_page
def test_nodes_of_semantic_splitter_node_parser_are_the_pieces(page):
    parsed = page_text(page)
    parser = SemanticSplitterNodeParser(embed_model=Letters(), sentence_splitter=sentences)
    nodes = parser.get_nodes_from_documents([Document(text=parsed.text)])
    pieces = split("SemanticSplitterNodeParser", parsed, 16_000, 0)
    assert [piece.text for piece in pieces] == [node.text.strip() for node in nodes]
    assert len(pieces) > 3


def test_sentences_are_encoded_so_many_at_once_and_a_repeated_one_once():
    asked = []

    def embed(texts):
        asked.append(list(texts))
        return splitters.embed_letters(texts)

    many = "".join(f"第{number}句。" for number in range(2 * SENTENCES_COMPARED + 1))
    splitter = SPLITTERS["llama_index:SemanticSplitterNodeParser"].splitter(embed)
    for text, counts in ((many, [SENTENCES_COMPARED, SENTENCES_COMPARED, 1]), ("Again. " * 500 + "End.", [5])):
        asked.clear()
        pieces = list(splitter(document(("paragraph", text)), sizes=SplitSizes(60, 0), counter=COUNTER))
        assert [len(texts) for texts in asked] == counts
        assert [piece.char_start for piece in pieces] == sorted({piece.char_start for piece in pieces})
        assert pieces[-1].char_end == len(text)


def test_heading_without_a_body_is_a_node_of_markdown_and_a_comment_in_code_is_none():
    parsed = document(
        ("paragraph", "Before."),
        ("heading", "A", 1),
        ("heading", "A1", 2),
        ("code", "# no heading\n```\nrun\n# neither"),
        ("table", "id | name\n1 | one"),
        ("heading", "B", 1),
        ("paragraph", "# as it was written"),
    )
    pieces = split("MarkdownNodeParser", parsed)
    assert [(piece.text, piece.heading_path) for piece in pieces] == [
        ("Before.", ()),
        ("A", ("A", "A1")),
        ("A1\n\n# no heading\n```\nrun\n# neither\n\nid | name\n1 | one", ("A", "A1")),
        ("B\n\n# as it was written", ("B",)),
    ]


def test_long_section_of_markdown_is_cut_with_the_header_of_its_table():
    rows = "\n".join(f"{number} | item{number}" for number in range(40))
    parsed = document(("heading", "A", 1), ("paragraph", "Text. " * 40), ("table", f"id | name\n{rows}"))
    pieces = split("MarkdownNodeParser", parsed, 60, 0)
    assert len(pieces) > 3
    assert all(piece.token_count <= 60 for piece in pieces)
    assert all("id | name\n" in piece.text for piece in pieces if "item" in piece.text)


@pytest.mark.parametrize("sentence", ["Number {} is short. ", "第{}句话很短。"])
def test_sentences_with_those_around_them_are_passages_found_by_each(sentence):
    text = "".join(sentence.format(number) for number in range(18)).strip()
    parsed = document(("heading", "A", 1), ("paragraph", text), ("heading", "B", 1), ("paragraph", "Alone."))
    pieces = split("SentenceWindowNodeParser", parsed, 500)
    assert [len(piece.windows) for piece in pieces] == [7, 7, 5, 2]
    assert [piece.heading_path for piece in pieces] == [("A",)] * 3 + [("B",)]
    windows = [window for piece in pieces[:3] for window in piece.windows]
    assert windows == ["A", *(sentence.format(number).strip() for number in range(18))]
    entry = SPLITTERS["llama_index:SentenceWindowNodeParser"]
    assert [entry.windows(piece.text, COUNTER) for piece in pieces] == [piece.windows for piece in pieces]


def test_sentence_longer_than_a_window_has_several():
    text = f"Short. {' '.join(['word'] * 300)}. Short."
    (piece,) = split("SentenceWindowNodeParser", document(("paragraph", text)), 500)
    assert len(piece.windows) == 5
    assert max(COUNTER.count(window) for window in piece.windows) <= 128


@pytest.mark.parametrize(
    "name", ["SentenceSplitter", "TokenTextSplitter", "SentenceWindowNodeParser", "SemanticSplitterNodeParser"]
)
def test_table_is_cut_between_rows_and_keeps_its_header(name):
    rows = [f"{number} | item{number}" for number in range(60)]
    parsed = document(("paragraph", "Before."), ("table", "\n".join(["id | name", *rows])), ("paragraph", "After."))
    pieces = split(name, parsed, 40, 5)
    assert (pieces[0].text, pieces[-1].text) == ("Before.", "After.")
    assert [line for piece in pieces[1:-1] for line in piece.text.split("\n")[1:]] == rows
    assert {piece.text.split("\n")[0] for piece in pieces[1:-1]} == {"id | name"}


@pytest.mark.parametrize("name", ["SentenceSplitter", "TokenTextSplitter"])
def test_runs_end_between_sentences(name):
    text = "".join(f"Sentence {number} of a long text goes on. " for number in range(2000)).strip()
    assert len(text) > 3 * LONGEST_RUN
    pieces = split(name, document(("paragraph", text)), 500, 0)
    assert " ".join(piece.text for piece in pieces) == text
    if name == "SentenceSplitter":
        assert {piece.text[-1] for piece in pieces} == {"."}


def test_nodes_are_found_in_order_where_their_text_repeats():
    run = TextRun("ab ab ab ab cd", 100, ())
    assert [(span.start, span.end) for span in find_spans(run, ["ab ab", "ab ab", "ab cd"])] == [
        (100, 105),
        (106, 111),
        (109, 114),
    ]
    # What is not there, or only repeats, has no place; what follows has one all the same.
    assert [(span.start, span.end) for span in find_spans(run, ["ab", "xx", "", "ab ab ab cd"])] == [
        (100, 102),
        (103, 114),
    ]


@pytest.mark.parametrize("name", ALL)
def test_splitting_needs_no_network_and_no_data_of_nltk_or_tiktoken(name, tmp_path):
    program = f"""
import sys
def refuse(event, _):
    if event.startswith("socket."):
        raise PermissionError(event)
sys.addaudithook(refuse)
from tests.ingestion.splitters.test_node_parsers import document, split
text = "First sentence. Second one, longer than it! 第三句。" * 30
assert len(split({name.partition(":")[2]!r}, document(("heading", "A", 1), ("paragraph", text)), 40, 5)) > 3
print("done")
"""
    environment = {"NLTK_DATA": str(tmp_path), "TIKTOKEN_CACHE_DIR": str(tmp_path), "PYTHONPATH": "."}
    run = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, env=environment, check=False, timeout=120
    )
    assert (run.stdout, run.returncode) == ("done\n", 0), run.stderr
    assert list(tmp_path.iterdir()) == []


def test_llama_index_is_loaded_at_the_first_split():
    program = "import sys, ingestion.splitters; print('llama_index.core' in sys.modules)"
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "False"


def test_sentences_are_the_text():
    text = "One. Two!\nstill two? \n\n第三句。“第四句！”第五句"
    parts = sentences(text)
    assert "".join(parts) == text
    assert [part.strip() for part in parts] == ["One.", "Two!", "still two?", "第三句。", "“第四句！”", "第五句"]
    assert sentences("") == []
    assert all(before + after for before, after in pairwise(parts))
