"""The tokenizer of the lexical rerank: tokens, sentences, windows."""

import time

import pytest

from kb_service.text.tokenizer import is_cjk_dominant, numbers, sentences, tokenize, windows


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("", []),
        ("The Running dogs, and the cats!", ["run", "dog", "cat"]),
        ("检索增强", ["检索", "索增", "增强"]),
        ("猫", ["猫"]),
        ("カタカナ", ["カタ", "タカ", "カナ"]),
        ("战国无双3的ABC", ["战国", "国无", "无双", "3", "的", "abc"]),
        ("snake_case v2.0", ["snake", "case", "v2", "0"]),
        ("ＡＢＣ１２３ ﬁne", ["abc123", "fine"]),
        ("학습 обучение", ["학습", "обучение"]),
        ("to be, to be", []),
        ("run runs", ["run", "run"]),
        ("0f" * 40, ["0f" * 40]),
    ],
)
def test_tokenize_gives_stems_and_bigrams(text: str, tokens: list[str]) -> None:
    assert tokenize(text) == tokens


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("", []),
        ("1788 and 1788", ["1788", "1788"]),
        ("2024年3月", ["2024", "3"]),
        ("3.14, 10,000 and 007", ["3", "14", "10", "000", "007"]),
        ("２０２４ ٣٤ x²", ["2024", "34"]),
        ("GPT4 a1 1a v2.0", ["0"]),
        ("ⅳ 一九八八", []),
    ],
)
def test_numbers_are_runs_of_digits_beside_no_letter(text: str, found: list[str]) -> None:
    assert numbers(text) == found


def test_sentences_end_at_chinese_and_english_marks() -> None:
    text = "One. Two is 3.5! 三。四？五！six"
    assert sentences(text) == ["One.", "Two is 3.5!", "三。", "四？", "五！", "six"]


def test_windows_are_two_sentences_each_step_one() -> None:
    assert windows("A. B. C.") == ["A. B.", "B. C."]
    assert windows("一句") == ["一句"]
    assert windows(" ") == []


@pytest.mark.parametrize(
    ("query", "dominant"),
    [
        ("", False),
        ("what is RAG", False),
        ("知识库", True),
        ("abcd文", True),
        ("abcde文", False),
        ("한국어", False),
        ("ひらがな", True),
    ],
)
def test_is_cjk_dominant_from_a_fifth_of_the_characters(query: str, dominant: bool) -> None:
    assert is_cjk_dominant(query) is dominant


@pytest.mark.parametrize("unit", ["a", "文", ".", "。", "a. ", "\u0301", " "])
def test_tokenize_takes_linear_time(unit: str) -> None:
    def seconds(times: int) -> float:
        text = unit * times
        start = time.thread_time()
        tokenize(text)
        windows(text)
        return time.thread_time() - start

    seconds(1000)
    # A hundred times the text; a quadratic step would take ten thousand times as long.
    assert seconds(300_000) < 2000 * max(min(seconds(3000) for _ in range(5)), 1e-4)
