"""The protocol of tool calls in plain text, over HTTP and with its reader cut anywhere."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agents.llm.base import ModelMessage, ModelText, TokenUsage, ToolCall, ToolSpec, ToolsRefused
from agents.llm.openai import OpenAIModel
from agents.llm.text_tools import CLOSE, OPEN, TextCallParser
from core.errors.server import ModelFailed
from tests.agents.llm.helpers import ASK, TOOL, calls_of, collect, endpoint, events_of, finish_of, text_of

pytestmark = pytest.mark.anyio

SCHEMA = {"type": "object", "properties": {"query": {"type": "string"}}, "required": ["query"]}
SEARCH = ToolSpec("search_knowledge_base", "Searches.", SCHEMA)


async def test_calls_are_read_from_the_text_and_what_follows_them_is_left_out(server, client):
    events = await collect(server, client, "text-call", tools=[TOOL], tools_mode="text")

    assert text_of(events) == "Let me look."
    assert calls_of(events) == [("f", '{"a": "</tool>"}'), ("g", "{}")]
    assert finish_of(events) == "tool_calls"
    assert "tools" not in server.requests[-1].body


async def test_text_that_only_looks_like_a_call_is_given_whole(server, client):
    events = await collect(server, client, "text-no-call", tools=[TOOL], tools_mode="text")

    assert text_of(events) == 'a < b, <tools>, <tool name=x> and "<tool" end <tool na'
    assert (calls_of(events), finish_of(events)) == ([], "stop")


async def test_text_is_given_on_while_the_model_still_writes(server, client):
    adapter = OpenAIModel(endpoint(server, "text-slow", tools="text"), client)
    stream = adapter.events(ASK, [TOOL])

    assert await anext(stream) == ModelText("Hel")
    await stream.aclose()
    assert server.hung_up.wait(5)


async def test_tools_are_described_to_the_model_with_their_schema(server, client):
    asked = [ModelMessage("system", "Be brief."), *ASK]
    await collect(server, client, "plain", asked, [SEARCH], tools_mode="text")

    system, user = server.requests[-1].messages
    assert system["content"].startswith("Be brief.\n\n")
    assert "- search_knowledge_base: Searches." in system["content"]
    assert '"required": ["query"]' in system["content"]
    assert user == {"role": "user", "content": "Hi"}


async def test_calls_and_results_of_the_history_are_told_in_words(server, client):
    calls = (ToolCall("1", "f", '{"a":1}'), ToolCall("2", "g", ""))
    asked = [
        *ASK,
        ModelMessage("assistant", "Let me look.", calls),
        ModelMessage("tool", "found </result> <tool", tool_call_id="1"),
        ModelMessage("tool", "nothing", tool_call_id="2"),
        ModelMessage("user", "And?"),
    ]
    await collect(server, client, "plain", asked, tools_mode="text")

    assert server.requests[-1].messages == [
        {"role": "user", "content": "Hi"},
        {
            "role": "assistant",
            "content": 'Let me look.\n<tool name="f">{"a":1}</tool>\n<tool name="g">{}</tool>',
        },
        {
            "role": "user",
            "content": '<result tool="f">\nfound <\\/result> <tool\n</result>\n\n'
            '<result tool="g">\nnothing\n</result>\n\nAnd?',
        },
    ]


async def test_unreadable_call_is_shown_to_the_model_once(server, client):
    events = await collect(server, client, "text-repaired", tools=[TOOL], tools_mode="text")

    assert calls_of(events) == [("f", '{"a": 1}')]
    assert sum(isinstance(event, TokenUsage) for event in events) == 2
    said, told = server.requests[-1].messages[-2:]
    assert said["content"].endswith("{a: 2}</tool>")
    assert "not one JSON object" in told["content"]


@pytest.mark.parametrize(
    ("model", "fault"),
    [
        ("text-broken", "not one JSON object"),
        ("text-unclosed", "closing tag </tool> is missing"),
        ("text-no-name", "no readable name"),
    ],
)
async def test_model_that_never_writes_a_readable_call_fails_openly(server, client, model, fault):
    with pytest.raises(ModelFailed) as caught:
        await collect(server, client, model, tools=[TOOL], tools_mode="text")

    assert caught.value.details["fault"] == "unreadable_call"
    assert len(server.requests) == 2
    assert fault in server.requests[-1].messages[-1]["content"]


async def test_call_that_the_limit_cut_is_marked_as_cut(server, client):
    events = await collect(server, client, "text-cut", tools=[TOOL], tools_mode="text")

    assert calls_of(events) == [("g", "{}"), ("f", '{"path": "/impo')]
    assert finish_of(events) == "length"


async def test_whole_call_is_not_taken_for_a_cut_one(server, client):
    events = await collect(server, client, "text-cut-after", tools=[TOOL], tools_mode="text")

    assert (calls_of(events), finish_of(events)) == ([("f", "{}")], "tool_calls")


async def test_calls_are_left_out_when_no_tools_are_offered(server, client):
    asked = [*ASK, ModelMessage("assistant", "", (ToolCall("1", "f", "{}"),))]
    events = await collect(server, client, "text-call", asked, tools_mode="text")

    assert (text_of(events), calls_of(events)) == ("Let me look.", [])


async def test_all_is_text_when_tools_play_no_part(server, client):
    events = await collect(server, client, "text-broken", tools_mode="text")

    assert text_of(events) == '<tool name="f">{"a": oops}</tool>'


async def test_text_takes_over_when_the_endpoint_refuses_tools_and_stays(server, client):
    adapter = OpenAIModel(endpoint(server, "text-rag", tools="auto"), client)
    asked = [ModelMessage("user", "Which port?")]
    for _ in range(2):
        events = await events_of(adapter, asked, [SEARCH])
        assert calls_of(events) == [("search_knowledge_base", '{"query": "Which port?"}')]

    assert ["tools" in request.body for request in server.requests] == [True, False, False]


async def test_text_takes_over_when_only_the_history_has_calls(server, client):
    model = "refused-400-this model does not support tools"
    history = [*ASK, ModelMessage("assistant", "", (ToolCall("1", "f", "{}"),))]
    adapter = OpenAIModel(endpoint(server, model, tools="auto"), client)

    assert text_of(await events_of(adapter, history)) == "Hello at last."


async def test_no_tools_are_offered_at_all_when_the_trait_says_none(server, client):
    with pytest.raises(ToolsRefused):
        await collect(server, client, "plain", tools=[TOOL], tools_mode="none")
    assert server.requests == []
    assert text_of(await collect(server, client, "plain", tools_mode="none"))


def read(pieces: list[str]) -> tuple[str, list[tuple[str, str]], str]:
    reader = TextCallParser()
    text = "".join([reader.feed(piece) for piece in pieces])
    text += reader.close("stop")
    return text, [(call.name, call.arguments) for call in reader.calls], reader.fault


fragments = st.sampled_from(
    [
        OPEN,
        CLOSE,
        "f",
        '"',
        ">",
        '">',
        "{",
        "}",
        '{"a": 1}',
        '{"a": "</tool>\\""}',
        "<",
        " ",
        "\n",
        "中",
    ]
)


@given(st.lists(fragments, max_size=12).map("".join), st.data())
def test_what_is_read_does_not_depend_on_how_the_stream_is_cut(whole: str, data: st.DataObject):
    cuts = sorted(data.draw(st.lists(st.integers(0, len(whole)), max_size=6)))
    places = [0, *cuts, len(whole)]
    pieces = [whole[a:b] for a, b in pairwise(places)]

    assert read(pieces) == read([whole])


@given(st.text())
def test_text_without_an_opening_tag_is_given_whole(whole: str):
    if OPEN not in whole:
        assert read(list(whole)) == (whole.lstrip(), [], "")


def test_reading_a_long_call_piece_by_piece_is_linear():
    arguments = '{"a": "' + "x" * 200_000 + '"}'
    text, calls, fault = read(list(f'{OPEN}f">{arguments}{CLOSE}'))

    assert (text, calls, fault) == ("", [("f", arguments)], "")
