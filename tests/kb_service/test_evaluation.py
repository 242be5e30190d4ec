"""Metrics of an evaluation, and expected passages that survive another splitting."""

import math

import pytest

from kb_service.evaluation.matching import ExpectedPassage, RetrievedPassage, contains_words, match_expected, normalised
from kb_service.evaluation.metrics import Quality, mean, percentile, quality

PASSAGE = (
    "The warranty lasts twenty-four months from the day of purchase. It covers the motor and the "
    "pump, but not the filters, which wear out by themselves."
)
CHINESE = "保修期自购买之日起二十四个月。保修范围包括电机和水泵，但不包括滤芯，因为滤芯属于易耗品。"


@pytest.mark.parametrize(
    ("places", "expected"),
    [
        ([1], Quality(1, 1, 1, 1, 1)),
        ([3], Quality(0, 1, 1, 1 / 3, 0.5)),
        ([None], Quality(0, 0, 0, 0, 0)),
        ([11], Quality(0, 0, 0, 0, 0)),
        ([10], Quality(0, 0, 1, 0.1, 1 / math.log2(11))),
        ([1, None], Quality(0.5, 0.5, 0.5, 1, 1 / (1 + 1 / math.log2(3)))),
        ([2, 1], Quality(0.5, 1, 1, 1, 1)),
        # Two things in one passage: nothing could be better.
        ([1, 1], Quality(1, 1, 1, 1, 1)),
    ],
)
def test_figures_are_those_of_the_literature(places: list[int | None], expected: Quality):
    assert vars(quality(places)) == pytest.approx(vars(expected))


def test_mean_is_taken_figure_by_figure():
    assert mean([quality([1]), quality([None])]) == Quality(0.5, 0.5, 0.5, 0.5, 0.5)
    assert mean([]) == Quality(0, 0, 0, 0, 0)


def test_percentile_is_a_value_that_was_measured():
    assert [percentile([3.0, 1.0, 2.0], share) for share in (0, 0.5, 0.95)] == [1, 2, 3]
    assert percentile([], 0.5) == 0


@pytest.mark.parametrize("text", [PASSAGE, CHINESE], ids=["en", "zh"])
def test_expected_words_are_found_however_the_text_was_cut(text: str):
    words = normalised(text)
    for cut in range(len(words) + 1):
        parts = ["x" * 40 + words[:cut], words[cut:] + "y" * 40]
        assert any(contains_words(part, words) for part in parts), cut
        larger, smaller = sorted(parts, key=lambda part: -len(part.strip("xy")))
        assert contains_words(larger, words)
        if len(smaller.strip("xy")) < len(words) // 2 - 1:
            assert not contains_words(smaller, words), cut


def test_a_small_chunk_inside_the_expected_words_is_right():
    assert contains_words(normalised("It covers the motor and the pump"), normalised(PASSAGE))
    assert not contains_words(normalised("the motor"), normalised(PASSAGE))


def test_other_text_of_the_same_subject_is_not_right():
    other = "The warranty covers the motor for twelve months; filters are sold by themselves."
    assert not contains_words(normalised(other), normalised(PASSAGE))
    assert not contains_words(normalised("滤芯属于易耗品，购买后二十四天更换。"), normalised(CHINESE))


def test_short_words_must_be_there_whole():
    assert contains_words(normalised("It costs 12 EUR."), normalised("12 eur"))
    assert not contains_words(normalised("It costs 13 EUR."), normalised("12 EUR"))


def test_marks_case_width_and_line_ends_do_not_matter():
    written = "**Motor** and `pump`:\n| ＡＢＣ | 12 |"
    assert contains_words(normalised(written), normalised("motor AND pump ABC 12"))


def test_document_must_be_the_expected_one():
    ranking = [
        RetrievedPassage("other.md", PASSAGE),
        RetrievedPassage("a.md", "nothing"),
        RetrievedPassage("a.md", PASSAGE),
    ]
    expected = [
        ExpectedPassage("a.md", PASSAGE),
        ExpectedPassage("a.md"),
        ExpectedPassage("none.md"),
    ]
    assert match_expected(expected, ranking) == [
        [False, False, True],
        [False, True, True],
        [False, False, False],
    ]
