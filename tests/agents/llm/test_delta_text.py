"""The text of deltas that end within a character or are blank."""

import json
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agents.llm.base import ModelReasoningBlock, ModelText, ModelThought, ModelToolCall
from agents.llm.delta_text import DeltaCleaner, parse_chunk, whole_characters, whole_escapes


def cleaned(*events):
    cleaner = DeltaCleaner()
    return [*cleaner.feed(events), *cleaner.close()]


@given(st.text("aé\n\U0001f680\ud83d\ude80", max_size=20), st.data())
def test_text_does_not_depend_on_how_the_stream_is_cut(whole: str, data: st.DataObject):
    halves = "".join(
        chr(int.from_bytes(whole.encode("utf-16-be", "surrogatepass")[n : n + 2], "big"))
        for n in range(0, len(whole.encode("utf-16-be", "surrogatepass")), 2)
    )
    cuts = sorted(data.draw(st.lists(st.integers(0, len(halves)), max_size=6)))
    pieces = [halves[start:end] for start, end in pairwise([0, *cuts, len(halves)])]
    text = "".join(event.delta for event in cleaned(*map(ModelText, pieces)))

    assert text == (whole_characters(whole) if whole.strip() else "")
    text.encode()


def test_halves_of_different_streams_are_not_joined():
    assert cleaned(ModelThought("a\ud83d"), ModelText("\ude80b")) == [ModelThought("a\ufffd"), ModelText("\ufffdb")]
    first, second = ModelToolCall("1", "f", "\ud83d", opens=True), ModelToolCall("2", "f", "\ude80", opens=True)
    assert [event.arguments_delta for event in cleaned(first, second)] == ["\ufffd", "\ufffd"]


def test_call_that_opens_with_half_a_character_is_opened_once():
    events = cleaned(ModelToolCall("1", "f", '"\ud83d', opens=True), ModelToolCall("1", "f", '\ude80"', opens=False))

    assert events == [ModelToolCall("1", "f", '"\U0001f680"', opens=True)]


def test_reasoning_block_has_whole_characters():
    block = {"type": "reasoning.text", "text": "\ud83d\ude80 \ud83d", "index": 0}

    assert cleaned(ModelReasoningBlock(block)) == [ModelReasoningBlock({**block, "text": "\U0001f680 \ufffd"})]


@given(st.text('ab\\"\U0001f680\ud83d\ude80', max_size=12))
def test_escapes_of_any_text_become_valid_json(text: str):
    read = parse_chunk(whole_escapes(json.dumps({"text": text})))

    assert read == {"text": whole_characters(text)}
    json.dumps(read, ensure_ascii=False).encode()


@pytest.mark.parametrize("payload", ["{", '{"a": "\\ud83d"', "\\ud83d", "[" * 100_000 + '"\\ud83d"', "<html>"])
def test_what_is_no_json_is_refused(payload: str):
    with pytest.raises(ValueError):  # noqa: PT011 - the callers catch it
        parse_chunk(payload)
