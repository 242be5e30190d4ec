"""BM25 term weights for English and Chinese."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kb_service.text.special_terms import special_terms
from kb_service.vector_index.bm25 import encode_document, encode_query


def shared(document: str, query: str) -> int:
    return len(set(encode_document(document).indices) & set(encode_query(query).indices))


def test_chinese_words_meet_when_written_without_blanks():
    assert shared("我们在图书馆学习计算机科学", "计算机") > 0
    assert shared("我们在图书馆学习计算机科学", "天气预报") == 0


def test_english_words_meet_when_inflected():
    assert shared("The engines were running", "run engine") == 2


@pytest.mark.parametrize(
    ("document", "query"),
    [
        ("The tower was built in 1788.", "1788"),
        ("错误码 50203 表示索引不可用", "50203"),
        ("第77座灯塔", "77"),
        ("２０２４年的报告", "2024"),
        ("Article 12(3) of the treaty", "12"),
        ("ERR-1234: the disk is full", "1234"),
    ],
)
def test_numbers_are_words(document: str, query: str):
    assert shared(document, query) == 1
    assert shared(document, f"{query}9") == 0


@pytest.mark.parametrize(
    ("document", "query", "other"),
    [
        ("The function getUserName returns it.", "get_user_name", "set_host_port"),
        ("The function getUserName returns it.", "get user name", "host port"),
        ("Call get_user_name() first.", "getUserName", "setHostPort"),
        ("class HTTPServer", "http server", "https servlet"),
        ("1,250,000 people live there.", "1250000", "12500000"),
        ("Es kostet 1.250.000 Euro.", "1,250,000", "2,350,001"),
        ("1\u202f250\u202f000 habitants", "1250000", "125000"),
        ("１，２５０，０００ 人", "1250000", "125"),
        ("Takeoff 🚀 at noon", "🚀", "🎈"),
    ],
)
def test_identifiers_numbers_with_separators_and_emoji_meet(document: str, query: str, other: str):
    # One less, because a code as a whole is in one of them only.
    assert shared(document, query) >= max(len(encode_document(query).indices) - 1, 1)
    assert shared(document, other) == 0


@pytest.mark.parametrize(
    ("code", "other"),
    [
        ("ERR-1234", "ERR 99, 1234"),
        ("AB-77/3", "AB 3/77"),
        ("10.0.0.1", "10.0.1.0"),
        ("2.1", "2.10"),
        ("v2.10", "v2.1.0"),
        ("2026-11-26", "26-11-2026"),
    ],
)
def test_whole_code_counts_more_than_its_parts(code: str, other: str):
    assert shared(f"See {code}.", code.lower()) > shared(f"See {other}.", code.lower())


@pytest.mark.parametrize("text", ["well-known and/or e.g. iPhones", "→ ← ± ℃"])
def test_signs_between_words_make_no_code(text: str):
    assert not [term for term in special_terms(text) if term.startswith("agentex")]


def test_a_number_takes_nothing_from_the_other_words():
    words = set(encode_query("the keeper of the lighthouse 灯塔看守").indices)
    assert words < set(encode_query("the keeper of the lighthouse 88 灯塔看守").indices)


@pytest.mark.parametrize("text", ["covid19", "GPT4", "B2B"])
def test_digits_within_a_word_are_not_numbers_of_their_own(text: str):
    assert len(encode_query(text).indices) == 1


@pytest.mark.parametrize("text", ["The keeper of the lighthouse wrote a log.", "灯塔看守每天写日志。"])
def test_english_and_chinese_passages_have_words_alone(text: str):
    vector = encode_document(text)
    assert all(value > 1 for value in vector.values)
    assert len(vector.indices) <= len(text)
    assert set(vector.indices) <= set(encode_query(text).indices)


def test_a_foreign_word_takes_nothing_from_the_others():
    plain = encode_document("The keeper of the lighthouse")
    mixed = encode_document("The keeper of the lighthouse, смотритель")
    weights = dict(zip(mixed.indices, mixed.values, strict=True))
    assert all(weights[index] > 0.9 * value for index, value in zip(plain.indices, plain.values, strict=True))


def test_question_has_the_words_of_both_forms_of_chinese():
    # Passages of older versions have those of traditional characters.
    assert set(encode_query("台风").indices) < set(encode_query("颱風").indices)


def test_stop_words_are_dropped_when_a_question_has_others():
    assert len(encode_query("what is the capital").indices) == 1


def test_repeated_terms_weigh_one_in_a_query_and_saturate_in_a_document():
    assert encode_query("river river river") == encode_query("river")
    assert set(encode_query("river").values) == {1.0}
    once, often = encode_document("river"), encode_document("river " * 5)
    assert once.values[0] < often.values[0] < 2.2


@pytest.mark.parametrize("text", ["", "   ", "!?…", "\ud800"])
def test_vector_is_empty_when_a_text_has_no_terms(text):
    assert encode_document(text).indices == encode_query(text).indices == ()


@given(st.text(st.characters()))
def test_indices_are_distinct_and_weighted_for_any_text(text):
    vector = encode_document(text)
    assert len(set(vector.indices)) == len(vector.indices) == len(vector.values)
    assert all(value > 0 for value in vector.values)
