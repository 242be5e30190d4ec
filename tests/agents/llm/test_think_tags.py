"""The parser of reasoning in a text, cut anywhere."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agents.llm.base import ModelText, ModelThought
from agents.llm.openai import OpenAIModel
from agents.llm.think_tags import ThinkTagParser, ThoughtHabit
from tests.agents.llm.helpers import ASK, endpoint, events_of, text_of, thoughts_of

pytestmark = pytest.mark.anyio


def read(pieces: list[str], habit: bool | None = False, *, is_cut: bool = False) -> tuple[str, str, bool | None]:
    """Thoughts, text, and the habit afterwards."""
    shown = ThoughtHabit(habit)
    parser = ThinkTagParser(shown)
    events = [event for piece in pieces for event in parser.feed(piece)]
    events += parser.close(is_cut=is_cut, has_calls=False)
    thoughts = "".join(event.delta for event in events if isinstance(event, ModelThought))
    return thoughts, "".join(event.delta for event in events if isinstance(event, ModelText)), shown.begins_in_thought


fragments = st.sampled_from(
    [
        "<think>",
        "</think>",
        "<thinking>",
        "</thinking>",
        "</thought>",
        "plan",
        "\n",
        " ",
        "`",
        "```\n",
        "<",
        "</th",
        "中",
        "'",
    ]
)


@given(st.lists(fragments, max_size=12).map("".join), st.sampled_from([False, True, None]), st.data())
def test_what_is_read_does_not_depend_on_how_the_stream_is_cut(whole: str, habit: bool | None, data: st.DataObject):
    cuts = sorted(data.draw(st.lists(st.integers(0, len(whole)), max_size=6)))
    pieces = [whole[start:end] for start, end in pairwise([0, *cuts, len(whole)])]

    assert read(pieces, habit) == read([whole], habit)


@given(st.text("ab <>/`\n"), st.sampled_from([False, None]))
def test_text_without_tags_is_given_whole(whole: str, habit: bool | None):
    assert read(list(whole), habit)[:2] == ("", whole)


@pytest.mark.parametrize(
    ("text", "thoughts", "answer"),
    [
        ("plan</think>answer", "plan", "answer"),
        ("```py\nx\n```\nplan\n</thinking>\n\nanswer", "```py\nx\n```\nplan\n", "answer"),
        ("<think>plan</think>answer", "plan", "answer"),
        ("</think>answer", "", "answer"),
        ("It ends with `</think>`.", "", "It ends with `</think>`."),
        ('It ends with "</think>".', "", 'It ends with "</think>".'),
        ("```\nplan</think>answer\n```", "", "```\nplan</think>answer\n```"),
        ("Models write <think>plan</think> first.", "", "Models write <think>plan</think> first."),
    ],
)
def test_what_stands_before_a_lone_tag_is_reasoning_unless_the_text_speaks_of_the_tag(text, thoughts, answer):
    assert read([text], None)[:2] == (thoughts, answer)
    assert read(list(text), None)[:2] == (thoughts, answer)


def test_habit_is_learned_from_what_a_whole_answer_shows():
    assert read(["plan</think>answer"], None)[2] is True
    assert read(["answer"], None)[2] is False
    # Whether a thought was cut can't be seen.
    assert read(["plan"], None, is_cut=True)[2] is None
    assert read(["\n"], None)[2] is None


def test_thoughts_are_streamed_once_the_habit_is_known():
    parser = ThinkTagParser(ThoughtHabit(begins_in_thought=True))

    assert parser.feed("pl") == [ModelThought("pl")]
    assert parser.feed("an</thi") == [ModelThought("an")]
    assert parser.feed("nk>\n") == []
    assert parser.feed("answer") == [ModelText("answer")]


def test_answer_is_not_lost_when_the_model_has_changed_its_habit():
    assert read(["an", "swer"], True) == ("answer", "answer", None)


def test_text_without_end_is_let_go():
    parser = ThinkTagParser(ThoughtHabit(None))
    assert parser.feed("x" * 30_000) == []
    assert parser.feed("x" * 10_000) == [ModelText("x" * 40_000)]


def test_reading_a_long_text_piece_by_piece_is_linear():
    assert read(["word "] * 6000, None)[1] == "word " * 6000
    assert read(["word "] * 200_000, True)[0] == "word " * 200_000


async def test_local_model_is_held_back_in_its_first_turn_only(server, client):
    model = OpenAIModel(endpoint(server, "plain", begins_in_thought=None), client)
    first, second = [await events_of(model) for _ in range(2)]
    assert [text_of(events) for events in (first, second)] == ["Hello from the model."] * 2

    slow = OpenAIModel(endpoint(server, "slow", begins_in_thought=None), client)
    slow._habit = model._habit
    stream = slow.events(ASK)
    assert await anext(stream) == ModelText("Hel")
    await stream.aclose()


async def test_thoughts_of_a_local_model_are_reasoning_in_every_turn(server, client):
    model = OpenAIModel(endpoint(server, "lone-closing-tag-vllm", begins_in_thought=None), client)
    for _ in range(3):
        events = await events_of(model)
        assert (thoughts_of(events), text_of(events)) == ("plan on", "answer")
