"""The cut of texts between graphemes."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.text.graphemes import grapheme_boundary, shorten

FLAGS = "\U0001f1e8\U0001f1f3\U0001f1e9\U0001f1ea"


@pytest.mark.parametrize(
    ("text", "place", "cut"),
    [
        ("abc", 2, 2),
        ("abc", 9, 3),
        ("abc", 0, 0),
        ("ae\u0301", 2, 1),
        ("a\U0001f44d\U0001f3fd", 2, 1),
        ("a\U0001f468\u200d\U0001f469", 2, 1),
        ("a\U0001f468\u200d\U0001f469", 3, 1),
        ("a\u2764\ufe0f", 2, 1),
        (FLAGS, 1, 0),
        (FLAGS, 2, 2),
        (FLAGS, 3, 2),
        ("\u1112\u1161\u11ab\u1100", 2, 0),
        ("\u1112\u1161\u11ab\u1100", 3, 3),
        ("汉字", 1, 1),
    ],
)
def test_text_is_cut_where_no_character_breaks(text: str, place: int, cut: int):
    assert grapheme_boundary(text, place) == cut


def test_endless_character_is_cut_all_the_same():
    assert shorten("a" + "\u0301" * 100, 10) == "a" + "\u0301" * 8 + "…"


@given(st.text(), st.integers(1, 30))
def test_shortened_text_is_short_and_a_beginning(text: str, most: int):
    cut = shorten(text, most)

    assert len(cut) <= most
    assert cut == text or (cut[-1] == "…" and text.startswith(cut[:-1]))
