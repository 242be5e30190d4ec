"""Calls that models with native tools write into their text, cut anywhere."""

import json
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agents.llm.base import ModelMessage, ModelText, ModelToolCall, ToolCall, ToolSpec
from agents.llm.written_calls import WrittenCallParser
from tests.agents.llm.helpers import ASK, calls_of, collect, finish_of, text_of

pytestmark = pytest.mark.anyio

SCHEMA = {
    "type": "object",
    "properties": {
        "query": {"type": "string"},
        "limit": {"type": ["integer", "null"]},
        "deep": {"type": "boolean"},
        "tags": {"type": "array"},
        "year": {"anyOf": [{"type": "string"}, {"type": "null"}]},
        "level": {"enum": ["1", "2", 3]},
    },
}
TOOLS = (
    ToolSpec("search", "Searches.", SCHEMA, own_name="search/all"),
    ToolSpec("current_time", "Tells the time."),
)
CALL = '{"name": "search", "arguments": {"query": "port"}}'
QUERY = ("search", {"query": "port"})


def read(pieces: list[str]) -> tuple[str, list[tuple[str, object]]]:
    parser = WrittenCallParser(TOOLS)
    events = [event for piece in pieces for event in parser.feed(piece)] + parser.close()
    calls = [event for event in events if isinstance(event, ModelToolCall)]
    text = "".join(event.delta for event in events if isinstance(event, ModelText))
    return text, [(call.name, value_of(call.arguments_delta)) for call in calls]


def value_of(arguments: str) -> object:
    try:
        return json.loads(arguments)
    except ValueError:
        return arguments


@pytest.mark.parametrize(
    ("text", "calls"),
    [
        (CALL, [QUERY]),
        (f"\n```json\n{CALL}\n```", [QUERY]),
        (f"```\n{CALL}", [QUERY]),
        (f"```tool_call\n{CALL}\n```\n```json\n{CALL}\n```\n", [QUERY, QUERY]),
        (f"{CALL}\n{CALL};\n{CALL}", [QUERY, QUERY, QUERY]),
        (f"[{CALL}, {CALL}]", [QUERY, QUERY]),
        ('{"type": "function", "name": "functions.search", "parameters": {"query": "port"}}', [QUERY]),
        ('{"type": "function", "function": {"name": "search", "arguments": {"query": "port"}}}', [QUERY]),
        ('{"arguments": "{\\"query\\": \\"port\\"}", "name": "search", "id": "a"}', [QUERY]),
        (f"<tool_call>{CALL}", [QUERY]),
        (f"<tool_call>{CALL}</tool_call><tool_call>\n{CALL}", [QUERY, QUERY]),
        (f"{CALL}\n<tool_call>{CALL}</tool_call>", [QUERY, QUERY]),
        ("<function=search><parameter=query>port</parameter></function>", [QUERY]),
        ('<function=search>{"query": "port"}</function>', [QUERY]),
        ("<tool_call><function=search>\n<parameter=query>\nport\n</tool_call>", [QUERY]),
        ("<function=current_time></function>", [("current_time", {})]),
        (
            "<function=search><parameter=query>\n7\n</parameter><parameter=limit>7</parameter>"
            '<parameter=deep>\ntrue\n</parameter><parameter=tags>["a"]</parameter></function>',
            [("search", {"query": "7", "limit": 7, "deep": True, "tags": ["a"]})],
        ),
        (
            "<function=search><parameter=year>2024</parameter><parameter=level>1</parameter></function>",
            [("search", {"year": "2024", "level": "1"})],
        ),
        ('{"name": "search/all", "arguments": {"query": "port"}}', [QUERY]),
        ('{"name": "current_time", "arguments": ""}', [("current_time", {})]),
        ('{"name": "current_time", "arguments": null}', [("current_time", {})]),
        ('<tool_call>{"name": "search", "arguments": "{\\"query\\": port}"}', [("search", '{"query": port}')]),
        # The model is told that there is no such tool.
        ('<tool_call>{"name": "delete", "arguments": {}}</tool_call>', [("delete", {})]),
        # What is cut or broken is not shown either; a turn that the limit cut runs no calls.
        ('{"name": "search", "arguments": {"query": "po', [("search", '{"query": "po')]),
        ('<tool_call>{"name": "search", "arguments": {"query": "po', [("search", '{"query": "po')]),
        ("<tool_call><function=search><parameter=query>po", [("search", {"query": "po"})]),
    ],
)
def test_call_in_the_text_is_run_and_not_shown(text: str, calls: list[tuple[str, object]]):
    assert read([text]) == ("", calls)
    assert read(list(text)) == ("", calls)


@pytest.mark.parametrize(
    "text",
    [
        '{"name": "Ada", "arguments": {"query": "port"}}',
        '{"name": "search", "arguments": {"query": "port"}, "answer": 42}',
        '{"name": "search"}',
        '{"name": "search", "arguments": [1]}',
        f'{{"calls": [\n{CALL}\n]}}',
        f"```json\n[\n{CALL},\n1]\n```\n",
        f"```\n{CALL}\n```\nis a call.",
        f"{CALL} is a call.",
        f"In a line: {CALL}",
        f"Written `<tool_call>{CALL}</tool_call>`.",
        f"```xml\n<tool_call>{CALL}</tool_call>\n```",
        "The tag <tool_call> begins a call.",
        "Write <function=NAME> and then the parameters, which end with </function>.",
        "The tag <function= x of a long text.",
        f"{CALL}\n[1, 2",
        "[1] and [2]\n[link](url)\n{x}\n{\n}",
        "<tool_call",
        '{"na',
        "```",
    ],
)
def test_what_is_no_call_is_given_whole(text: str):
    assert read([text]) == (text, [])
    assert read(list(text)) == (text, [])


def test_text_is_passed_on_while_it_can_be_no_call():
    parser = WrittenCallParser(TOOLS)

    assert parser.feed("Hel") == [ModelText("Hel")]
    assert parser.feed("lo <b> x\n") == [ModelText("lo <b> x")]
    assert parser.feed("{") == []
    assert parser.feed('"answer": 1') == [ModelText("\n{"), ModelText('"answer": 1')]
    assert parser.feed("\n```json\n") == []
    assert parser.feed('{"name": "Ada"') == [ModelText("\n```json\n{"), ModelText('"name": "Ada"')]


fragments = st.sampled_from(
    [
        CALL,
        f"<tool_call>{CALL}</tool_call>",
        "<tool_call>",
        "</tool_call>",
        "<function=search>",
        "<parameter=query>",
        "</function>",
        "```json\n",
        "```",
        "`",
        "\n",
        " ",
        "{",
        "[",
        "}",
        '{"name": "search"',
        '{"name": "Ada"',
        "word",
        "<",
    ]
)


@given(st.lists(fragments, max_size=8).map("".join), st.data())
def test_what_is_read_does_not_depend_on_how_the_stream_is_cut(whole: str, data: st.DataObject):
    cuts = sorted(data.draw(st.lists(st.integers(0, len(whole)), max_size=6)))
    pieces = [whole[start:end] for start, end in pairwise([0, *cuts, len(whole)])]

    assert read(pieces) == read([whole])


@given(st.text('ab`[]{}<>":,\n ', max_size=60), st.data())
def test_text_that_names_no_tool_is_given_whole(whole: str, data: st.DataObject):
    cuts = sorted(data.draw(st.lists(st.integers(0, len(whole)), max_size=6)))

    assert read([whole[start:end] for start, end in pairwise([0, *cuts, len(whole)])]) == (whole, [])


@pytest.mark.parametrize("frame", ["{}", "<tool_call>{}</tool_call>", "```json\n{}\n```"])
def test_reading_a_long_call_piece_by_piece_is_linear(frame: str):
    query = "x" * 200_000
    call = json.dumps({"name": "search", "arguments": {"query": query}})

    assert read(list(frame.format(call))) == ("", [("search", {"query": query})])


def test_reading_a_long_text_piece_by_piece_is_linear():
    blank = "\n" * 100_000
    for text in ("```\n[\n{\n```\n[1] {x}\n" * 5000, "word `{` " * 10_000, f"a{blank}", f"<tool_call>{blank}"):
        assert read([text]) == (text, [])
        assert read(list(text)) == (text, [])


async def test_written_call_of_an_earlier_tool_is_left_out_when_no_tools_are_offered(server, client):
    history = [*ASK, ModelMessage("assistant", "", (ToolCall("1", "search_knowledge_base", "{}"),))]
    history.append(ModelMessage("tool", "nothing", tool_call_id="1"))
    events = await collect(server, client, "written-untooled", history)

    assert text_of(events) == "I will look."


async def test_written_call_that_the_limit_cut_is_marked_as_cut(server, client):
    events = await collect(server, client, "written-cut", tools=[ToolSpec("search_knowledge_base", "Searches.")])

    assert calls_of(events) == [("search_knowledge_base", '{"query": "po')]
    assert finish_of(events) == "length"
