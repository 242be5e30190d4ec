"""English told from other languages by stop words."""

import pytest

from kb_service.vector_index.stop_words import is_english, is_foreign, stop_word_kinds

ENGLISH = "the keeper of the lighthouse was in the tower and wrote what he saw over there"


@pytest.mark.parametrize(
    "text",
    [
        "der leuchtturmwärter war im turm und schrieb auf was er dort sah",
        "el guardián del faro estaba en la torre y escribió lo que veía",
        "strażnik latarni morskiej był na wieży i pisał, co tam widział",
        "deniz feneri bekçisi kuledeydi ve gördüğünü yazdı",
        "người gác hải đăng ở trong tháp và viết những gì ông thấy",
    ],
)
def test_other_languages_are_foreign_whether_or_not_they_have_a_list(text: str) -> None:
    assert is_foreign(text.split())
    assert not is_english(text.split())


def test_english_is_english() -> None:
    assert is_english(ENGLISH.split())
    assert not is_foreign(ENGLISH.split())


@pytest.mark.parametrize(
    "text", ["", "kubernetes 1.30 release", "el niño", "jean-luc godard, françois truffaut, a b c d"]
)
def test_few_words_show_no_language(text: str) -> None:
    assert not is_english(text.split())
    assert not is_foreign(text.split())


def test_english_passage_about_others_stays_english() -> None:
    names = "die frau ohne schatten by strauß and la bohème by puccini"
    assert not is_foreign(f"{ENGLISH} {names}".split())


def test_words_that_languages_share_count_for_neither() -> None:
    assert stop_word_kinds("in") == (True, True)
    assert stop_word_kinds("lighthouse") == (False, False)
