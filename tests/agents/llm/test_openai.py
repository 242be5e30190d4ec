"""The OpenAI-compatible adapter against the scripted server, one quirk per test."""

import asyncio
from collections.abc import Iterator

import pytest
from pydantic import SecretStr

from agents.llm.base import ModelEnd, ModelImage, ModelMessage, ModelText, ModelToolCall, TokenUsage, ToolCall, ToolSpec
from agents.llm.config import ModelEndpoint
from agents.llm.factory import create_http_client
from agents.llm.openai import OpenAIModel
from core.errors.server import ModelFailed
from tests.agents.llm.helpers import (
    ASK,
    TOOL,
    calls_of,
    collect,
    endpoint,
    events_of,
    finish_of,
    text_of,
    thoughts_of,
    usage_of,
)
from tests.fixtures.llm.model_server import ModelServer

pytestmark = pytest.mark.anyio


@pytest.fixture(scope="module")
def server() -> Iterator[ModelServer]:
    with ModelServer() as running:
        yield running


async def test_text_and_usage_are_streamed_and_usage_is_asked_for(server, client):
    events = await collect(server, client, "plain")

    assert text_of(events) == "Hello from the model."
    assert events[-2:] == [
        TokenUsage(11, 7, reasoning_tokens=2, cached_prompt_tokens=4),
        ModelEnd("stop"),
    ]
    request = server.requests[-1]
    assert request.path == "/v1/chat/completions"
    assert request.body["stream_options"] == {"include_usage": True}
    assert "tools" not in request.body


async def test_reasoning_in_the_first_chunk_is_kept_when_content_is_null(server, client):
    events = await collect(server, client, "reasoning")

    assert thoughts_of(events) == "First thoughts."
    assert text_of(events) == "I will look."
    assert calls_of(events) == [
        ("search_knowledge_base", '{"query": "port"}'),
        ("search_knowledge_base", '{"query": "host"}'),
    ]
    assert finish_of(events) == "tool_calls"


@pytest.mark.parametrize(
    ("model", "calls"),
    [
        ("two-in-one-chunk", [("f", '{"a":1}'), ("g", '{"b":2}')]),
        ("index-zero-twice", [("f", '{"a":1}'), ("g", '{"b":2}')]),
        ("index-zero-twice-no-ids", [("f", '{"a":1}'), ("f", '{"b":2}')]),
        ("interleaved", [("f", '{"a":1}'), ("g", '{"b":2}')]),
        ("no-index", [("f", '{"a":1}')]),
        ("new-id-per-chunk", [("f", '{"a":1}')]),
        ("object-arguments", [("f", '{"a": 1}')]),
        ("bad-arguments", [("f", '{"a": oops')]),
        ("no-ids", [("f", '{"a":1}')]),
        ("id-and-name-in-each-chunk", [("f", '{"a":1}')]),
        ("name-in-each-chunk", [("f", '{"a":1}')]),
        ("same-id-twice", [("f", '{"a":1}'), ("f", '{"b":2}')]),
        ("same-id-twice-at-index-zero", [("f", '{"a":1}'), ("f", '{"b":2}')]),
        ("name-after-id", [("f", '{"a":1}')]),
        ("name-after-arguments", [("f", '{"a":1}')]),
        ("no-name", [("unnamed", '{"a":1}')]),
        ("empty-object-first", [("f", '{"a":1}')]),
        ("empty-object", [("f", "{}")]),
        ("null-arguments", [("f", "")]),
        ("call-repeated-at-the-end", [("f", '{"a":1}')]),
        ("calls-but-stop", [("f", "{}")]),
        ("whole-call", [("f", '{"a":1}')]),
    ],
)
async def test_tool_calls_are_assembled_when_the_stream_is(server, client, model, calls):
    events = await collect(server, client, model, tools=(TOOL,))

    assert calls_of(events) == calls
    assert finish_of(events) == "tool_calls"


async def test_truncated_arguments_stay_raw_when_the_limit_cuts_them(server, client):
    events = await collect(server, client, "truncated", tools=(TOOL,))

    assert calls_of(events) == [("f", '{"path": "/impo')]
    assert finish_of(events) == "length"


async def test_calls_get_ids_of_their_own_when_upstream_sends_none(server, client):
    events = await collect(server, client, "index-zero-twice-no-ids", tools=(TOOL,))

    ids = {event.call_id for event in events if isinstance(event, ModelToolCall)}
    assert len(ids) == 2
    assert all(ids)


async def test_deltas_are_joined_when_one_read_brings_many(server, client):
    events = await collect(server, client, "arguments-100", tools=(TOOL,))

    assert calls_of(events) == [("f", '{"n": ' + "1" * 100 + "}")]
    # One network read is one event downstream.
    assert [type(event) for event in events] == [ModelToolCall, TokenUsage, ModelEnd]


async def test_content_parts_are_read_as_text(server, client):
    assert text_of(await collect(server, client, "content-parts")) == "Hi"


async def test_stream_is_read_when_cut_between_any_two_bytes_with_crlf(server, client):
    assert text_of(await collect(server, client, "crlf")) == "端口 是 8000。"


async def test_turn_ends_when_done_comes_without_finish_reason(server, client):
    events = await collect(server, client, "no-finish-but-done")

    assert [event for event in events if not isinstance(event, TokenUsage)] == [
        ModelText("Hi"),
        ModelEnd("stop"),
    ]


async def test_turn_ends_when_the_last_frame_lacks_its_blank_line(server, client):
    assert finish_of(await collect(server, client, "unterminated")) == "stop"


async def test_turn_is_whole_when_the_connection_drops_after_the_finish_reason(server, client):
    events = await collect(server, client, "drop-after-finish")

    assert text_of(events) == "Hi"
    assert finish_of(events) == "stop"


async def test_odd_chunks_are_passed_over(server, client):
    assert text_of(await collect(server, client, "odd-chunks")) == "Hi"


async def test_completion_that_came_whole_is_read_like_a_stream(server, client):
    events = await collect(server, client, "whole")

    assert (thoughts_of(events), text_of(events)) == ("Hm.", "Hi")
    assert events[-2:] == [TokenUsage(5, 3), ModelEnd("stop")]


async def test_reasoning_is_given_once_when_it_comes_under_both_names(server, client):
    assert thoughts_of(await collect(server, client, "both-reasonings")) == "Hm."


async def test_leading_think_tags_are_reasoning_when_the_model_writes_them(server, client):
    events = await collect(server, client, "think-tags", think_tags=True)

    assert (thoughts_of(events), text_of(events)) == ("Let me see.", "Hi <think> you")
    unended = await collect(server, client, "think-only", think_tags=True)
    assert (thoughts_of(unended), text_of(unended)) == ("no end <", "")


async def test_think_tags_stay_text_when_the_endpoint_does_not_use_them(server, client):
    assert text_of(await collect(server, client, "think-tags", think_tags=False)).startswith("<think>Let me")


@pytest.mark.parametrize("model", ["usage-in-choice", "usage-in-each-chunk", "usage-then-zeros", "whole"])
async def test_usage_is_counted_once_wherever_it_comes(server, client, model):
    assert usage_of(await collect(server, client, model)) == TokenUsage(5, 3)


def asked_for_usage(server: ModelServer, since: int) -> list[bool]:
    return ["stream_options" in request.body for request in server.requests[since:]]


async def test_endpoint_that_refuses_stream_options_is_asked_without_them_from_then_on(server, client):
    model = OpenAIModel(endpoint(server, "no-stream-options"), client)
    before = len(server.requests)
    for _ in range(2):
        events = await events_of(model)
        assert text_of(events) == "Uncounted."
        assert usage_of(events).is_estimated
        assert finish_of(events) == "stop"
    assert asked_for_usage(server, before) == [True, False, False]


async def test_turns_at_once_each_find_out_that_stream_options_are_refused(server, client):
    model = OpenAIModel(endpoint(server, "no-stream-options"), client)
    turns = await asyncio.gather(*(events_of(model) for _ in range(4)))
    assert [text_of(events) for events in turns] == ["Uncounted."] * 4


async def test_refused_stream_options_and_refused_tools_are_told_apart(server, client):
    before = len(server.requests)
    changes = {"tools_mode": "auto"}
    await collect(server, client, "no-stream-options-no-tools", tools=[TOOL], **changes)
    sent = server.requests[before:]
    assert asked_for_usage(server, before) == [True, False, False]
    assert ["tools" in request.body for request in sent] == [True, True, False]


async def test_stream_options_that_the_operator_wants_are_not_left_out(server, client):
    extra = {"stream_options": {"include_usage": True}}
    before = len(server.requests)
    with pytest.raises(ModelFailed) as caught:
        await collect(server, client, "no-stream-options", stream_usage=False, extra_body=extra)
    assert (caught.value.details["fault"], caught.value.details["status"]) == ("refused", 400)
    assert asked_for_usage(server, before) == [True]


@pytest.mark.parametrize("model", ["no-usage", "usage-null", "drop-after-finish"])
async def test_usage_is_estimated_and_marked_when_none_comes(server, client, model):
    usage = usage_of(await collect(server, client, model, [ModelMessage("user", "y" * 4000)]))

    assert usage.is_estimated
    assert 1000 <= usage.prompt_tokens < 1100
    assert usage.completion_tokens == (100 if model == "no-usage" else 1)


async def test_cut_answer_says_that_it_was_cut(server, client):
    assert finish_of(await collect(server, client, "length")) == "length"


@pytest.mark.parametrize("ending", ["", "/", "/chat/completions", "/chat/completions/", " "])
async def test_base_url_is_joined_however_it_ends(server, client, ending):
    adapter = OpenAIModel(ModelEndpoint(f"{server.base_url}{ending}", "plain"), client)
    await events_of(adapter)

    assert server.requests[-1].path == "/v1/chat/completions"


async def test_base_url_keeps_its_own_path(server, client):
    base = server.base_url.replace("/v1", "/api/paas/v4")
    await events_of(OpenAIModel(ModelEndpoint(base, "plain"), client))

    assert server.requests[-1].path == "/api/paas/v4/chat/completions"


async def test_traits_say_how_the_request_looks(server, client):
    await collect(
        server,
        client,
        "plain",
        [ModelMessage("system", "Be brief."), *ASK],
        (ToolSpec("f", "Does f."),),
        stream_usage=False,
        parallel_tools=False,
        max_tokens=99,
        max_tokens_field="max_completion_tokens",
        system_role="developer",
        extra_body={"enable_thinking": False},
    )

    body = server.requests[-1].body
    assert "stream_options" not in body
    assert body["parallel_tool_calls"] is False
    assert body["max_completion_tokens"] == 99
    assert body["enable_thinking"] is False
    assert [message["role"] for message in body["messages"]] == ["developer", "user"]
    # A schema that says nothing is refused by several endpoints.
    assert body["tools"][0]["function"]["parameters"] == {"type": "object", "properties": {}}


async def test_system_message_is_part_of_the_first_question_when_its_role_is_not_known(server, client):
    asked = [ModelMessage("system", "Be brief."), *ASK, ModelMessage("assistant", "Yes?"), *ASK]
    await collect(server, client, "plain", asked, system_role="user")

    sent = [(m["role"], m["content"]) for m in server.requests[-1].messages]
    assert sent == [("user", "Be brief.\n\nHi"), ("assistant", "Yes?"), ("user", "Hi")]


async def test_half_a_surrogate_pair_is_sent_as_something_readable(server, client):
    await collect(server, client, "plain", [ModelMessage("user", "a\ud800b")])

    assert server.requests[-1].messages[0]["content"] == "a?b"


@pytest.mark.parametrize("key", [None, SecretStr("")])
async def test_no_authorization_header_is_sent_when_there_is_no_key(server, client, key):
    await collect(server, client, "plain", api_key=key)

    assert "authorization" not in server.requests[-1].headers


async def test_key_is_sent_as_bearer_token(server, client):
    await collect(server, client, "plain", api_key=SecretStr("sk-test"))

    assert server.requests[-1].headers["authorization"] == "Bearer sk-test"


async def test_white_space_around_the_key_is_not_sent(server, client):
    await collect(server, client, "plain", api_key=SecretStr(" sk-test\n"))

    assert server.requests[-1].headers["authorization"] == "Bearer sk-test"


async def test_conversation_is_sent_as_chat_completions_messages(server, client):
    call = ToolCall("c1", "f", '{"a":1}')
    conversation = [
        ModelMessage("system", "Be brief."),
        ModelMessage("user", "Hi"),
        ModelMessage("assistant", "", (call,), reasoning="hm"),
        ModelMessage("tool", "result", tool_call_id="c1"),
    ]
    await collect(server, client, "plain", conversation, (TOOL,), echo_reasoning=True)

    body = server.requests[-1].body
    assert body["messages"][2] == {
        "role": "assistant",
        "content": "",
        "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "f", "arguments": '{"a":1}'}}],
        "reasoning_content": "hm",
    }
    assert body["messages"][3] == {"role": "tool", "content": "result", "tool_call_id": "c1"}
    assert body["tools"] == [
        {
            "type": "function",
            "function": {
                "name": "f",
                "description": "Does f.",
                "parameters": {"type": "object", "properties": {}},
            },
        }
    ]
    await collect(server, client, "plain", conversation, (TOOL,))
    assert "reasoning_content" not in server.requests[-1].body["messages"][2]


async def test_pictures_are_not_counted_by_the_length_of_their_bytes(server, client):
    asked = OpenAIModel(endpoint(server, "no-usage", vision=True), client)
    seen = ModelImage("image/jpeg", b"x" * 300_000)
    usage = usage_of(await events_of(asked, [ModelMessage("user", "Hi", images=(seen,))]))

    assert 1600 <= usage.prompt_tokens < 1700
    assert len(str(server.requests[-1].body)) > 400_000


async def test_more_runs_are_served_at_once_than_a_client_has_connections_by_default():
    with ModelServer() as slow:
        async with create_http_client() as client, asyncio.timeout(20):
            adapter = OpenAIModel(endpoint(slow, "slow"), client)
            streams = [adapter.events(ASK) for _ in range(120)]
            # Each of them is held in its middle, so that none frees its connection for another.
            begun = await asyncio.gather(*(anext(stream) for stream in streams))
            for stream in streams:
                await stream.aclose()
    assert begun == [ModelText("Hel")] * 120
