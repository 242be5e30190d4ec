"""The assembly of tool calls whose arguments come in pieces."""

import itertools
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agents.llm import openai
from agents.llm.openai import ToolCallAccumulator

scalars = st.none() | st.booleans() | st.integers(-9, 9) | st.text('{}[]"\\,: aü', max_size=8)
values = st.recursive(scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text('"\\{a'), inner))
objects = st.dictionaries(st.text('"\\}k', min_size=1, max_size=3), values, min_size=1, max_size=3)


def delta(arguments: str, **fields: Any) -> dict[str, Any]:
    return {"index": 0, **fields, "function": {"name": "search", "arguments": arguments}}


@given(st.lists(objects, min_size=1, max_size=3), st.data())
def test_calls_are_told_apart_by_their_whole_arguments(given_objects, data):
    # At one index, without ids, the name in every piece: only the arguments tell.
    calls = ToolCallAccumulator()
    put_together: dict[str, str] = {}
    for number, arguments in enumerate(given_objects):
        text = json.dumps({**arguments, "number": number})
        ends = data.draw(st.sets(st.integers(1, len(text) - 1), max_size=5))
        places = [0, *sorted(ends), len(text)]
        for start, end in itertools.pairwise(places):
            event = calls.add(delta(text[start:end]))
            if event is not None:
                told = put_together.setdefault(event.call_id, "")
                put_together[event.call_id] = told + event.arguments_delta

    assert [json.loads(text) for text in put_together.values()] == [
        {**arguments, "number": number} for number, arguments in enumerate(given_objects)
    ]


def test_arguments_are_not_parsed_again_for_every_piece(monkeypatch: pytest.MonkeyPatch):
    parsed: list[str] = []

    def parse(text: str) -> None:
        parsed.append(text)
        raise ValueError

    monkeypatch.setattr(openai, "parse", parse)
    calls = ToolCallAccumulator()
    for piece in ('{"text": "', *["{word} "] * 1000):
        calls.add(delta(piece))

    assert len(parsed) < 3
