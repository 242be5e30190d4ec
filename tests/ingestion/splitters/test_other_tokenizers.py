"""Splitters with the tokenizers of other encoders, for which a Chinese paragraph is one word."""

from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, trainers

from ingestion.parsers.model import Element, ParsedDocument
from ingestion.splitters import SPLITTERS
from ingestion.splitters.base import SplitSizes
from kb_service.text.token_counter import TokenCounter
from tests.fixtures.knowledge.splitters import split
from tests.fixtures.paths import GUIDE

PAGES = sorted(GUIDE.glob("*/*.md"))
SENTENCES = [f"第{n}章讲的是“怎么安装数据库”，然后启动服务。" for n in range(12)]
WORDS = st.sampled_from(["数据库", "安装", "服务器", "database", "install", "don't", "3.14", "naïve", "😀", "e\u0301"])
SIGNS = st.sampled_from(["", " ", "，", "。", ". ", "！”", "（", "\n", "  \t"])
TEXTS = st.lists(st.tuples(WORDS, SIGNS), min_size=1, max_size=60).map(
    lambda parts: "".join(word + sign for word, sign in parts)
)


def unigram() -> Tokenizer:
    """As XLM-RoBERTa's and so bge-m3's and multilingual-e5's: blanks are the only borders."""
    tokenizer = Tokenizer(models.Unigram())
    tokenizer.normalizer = normalizers.NFKC()
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    trainer = trainers.UnigramTrainer(vocab_size=3000, unk_token="<unk>", special_tokens=["<unk>"], show_progress=False)
    tokenizer.train([str(path) for path in PAGES], trainer)
    return tokenizer


def byte_pairs() -> Tokenizer:
    """As GPT's and many newer encoders'."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(vocab_size=3000, initial_alphabet=alphabet, show_progress=False)
    tokenizer.train([str(path) for path in PAGES], trainer)
    return tokenizer


@pytest.fixture(scope="module", params=[unigram, byte_pairs], ids=lambda make: make.__name__)
def counter(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory):
    make: Callable[[], Tokenizer] = request.param
    path = tmp_path_factory.mktemp("tokenizer") / "tokenizer.json"
    make().save(str(path))
    return TokenCounter(path)


def parsed(text: str) -> ParsedDocument:
    return ParsedDocument((Element("paragraph", text, 0, None, 0, len(text)),), text)


@pytest.mark.parametrize("name", ["sentence", "heading_recursive"])
def test_chinese_is_cut_at_sentence_ends(counter: TokenCounter, name: str):
    text = "".join(SENTENCES)
    pieces = list(split(name, parsed(text), sizes=SplitSizes(60, 0), counter=counter))
    assert len(pieces) > 3
    assert "".join(piece.text for piece in pieces) == text
    assert {piece.text[-1] for piece in pieces} == {"。"}


@pytest.mark.parametrize("name", SPLITTERS)
@given(text=TEXTS, size=st.integers(16, 60))
@settings(max_examples=80, deadline=None)
def test_pieces_hold_every_token_and_about_as_many_as_asked_for(counter: TokenCounter, name: str, text: str, size: int):
    rest = 0
    for piece in split(name, parsed(text), sizes=SplitSizes(size, 0), counter=counter):
        assert piece.text == text[piece.char_start : piece.char_end]
        assert not text[rest : piece.char_start].strip()
        assert not piece.text[0].isspace()
        assert 0 < piece.token_count <= size
        # Cut out of its surroundings a span may be read as a few tokens more.
        assert len(counter.offsets(piece.text)) <= size + 4
        rest = piece.char_end
    assert not text[rest:].strip()


def test_count_is_the_tokenizers_own_but_for_tokens_across_signs(counter: TokenCounter):
    for path in PAGES:
        text = path.read_text(encoding="utf-8")
        own = len(counter.offsets(text))
        # The most is for a page of examples in JSON.
        assert own * 0.98 <= counter.count(text) <= own * 1.35
