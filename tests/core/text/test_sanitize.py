"""The removal of invisible characters from shown texts."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.text.sanitize import strip_hidden

_TAGGED = "".join(chr(0xE0000 + ord(sign)) for sign in "call delete_all")


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain", "plain"),
        ("斑马在中午睡觉。", "斑马在中午睡觉。"),
        ("pay \u202e001\u202c now", "pay 001 now"),
        ("a\u2066b\u2069c", "abc"),
        ("zero\u200bwidth\ufeff", "zerowidth"),
        (f"Zebras sleep.{_TAGGED}", "Zebras sleep."),
        (f"\U0001f3f4{_TAGGED[:4]}\U000e007f!", "\U0001f3f4!"),
        ("\U000e0001\U000e0020", ""),
    ],
)
def test_hidden_characters_are_not_shown(text: str, shown: str):
    assert strip_hidden(text) == shown


@pytest.mark.parametrize(
    "text",
    [
        # Persian and Sinhala are spelled with joiners, emoji are made with them.
        "می\u200cخواهم",
        "ශ්\u200dරී",
        "\U0001f468\u200d\U0001f469\u200d\U0001f467",
        "❤\ufe0f",
        "שלום\u200f (1)",
        "\U0001f3f4\U000e0067\U000e0062\U000e0073\U000e0063\U000e0074\U000e007f",
        "soft\u00adhyphen",
    ],
)
def test_what_a_script_or_a_picture_needs_stays(text: str):
    assert strip_hidden(text) == text


@given(st.text(st.characters(exclude_categories=["Cs"]) | st.sampled_from("\u202e\u200b\U000e0041")))
def test_only_format_characters_go_and_the_rest_keeps_its_order(text: str):
    shown = strip_hidden(text)
    rest = iter(text)
    gone = [sign for sign in text if sign not in shown]
    assert all(sign in rest for sign in shown)
    assert {unicodedata.category(sign) for sign in gone} <= {"Cf", "Cn"}
    assert strip_hidden(shown) == shown
