"""Stream cursors: safe in every header, and each the name of one place."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from api.streaming.framing import format_cursor, parse_cursor
from core.errors.requests import InvalidCursor

run_ids = st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1, max_size=200)


@given(run_ids, st.integers(0, 10**12))
def test_cursor_comes_back_as_it_was(run_id: str, seq: int):
    cursor = format_cursor(run_id, seq)

    assert parse_cursor(cursor) == (run_id, seq)
    # What a header does to its value changes nothing.
    assert parse_cursor(f" {cursor}\t") == (run_id, seq)


@given(run_ids, st.integers(0, 10**12))
def test_cursor_is_one_line_of_printable_ascii(run_id: str, seq: int):
    cursor = format_cursor(run_id, seq)

    assert cursor.isascii()
    assert cursor.isprintable()
    assert " " not in cursor


@pytest.mark.parametrize("run_id", ["run-001", "a:b:c", "x/y?z#1", "0b6cd2f0-9d52-4f0e", "{}'\"&"])
def test_usual_ids_stand_in_it_as_they_are(run_id: str):
    assert format_cursor(run_id, 7) == f"{run_id}:7"


@pytest.mark.parametrize(
    "text",
    ["", ":", "7", "run", ":7", "run:", "run:x", "run:-1", "run:1.5", "run:٣", "run:" + "9" * 16],
)
def test_other_text_is_refused(text: str):
    with pytest.raises(InvalidCursor):
        parse_cursor(text)


def test_very_long_text_is_refused_without_being_repeated():
    with pytest.raises(InvalidCursor) as caught:
        parse_cursor("x" * 10**6 + ":1")

    assert len(str(caught.value.details["cursor"])) == 4000
