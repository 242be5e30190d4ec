"""The OpenAI-compatible adapter against the scripted server, one quirk per test."""

from collections.abc import AsyncIterator, Iterator

import httpx
import pytest
from pydantic import SecretStr

from agents.models.openai_compatible import Endpoint, OpenAICompatible
from agents.models.port import (
    Message,
    ModelEnd,
    ModelEvent,
    ModelText,
    ModelThought,
    ModelToolCall,
    ModelUsage,
    ToolCall,
    ToolSpec,
    ToolsRefused,
)
from core.errors import ModelFailed
from tests.fixtures.model_scripts import UPSTREAM_SECRET
from tests.fixtures.model_server import ModelServer

pytestmark = pytest.mark.anyio

ASK = [Message("user", "Hi")]
TOOL = ToolSpec("f", "Does f.", {"type": "object", "properties": {}})


@pytest.fixture(scope="module")
def server() -> Iterator[ModelServer]:
    with ModelServer() as running:
        yield running


@pytest.fixture
async def client() -> AsyncIterator[httpx.AsyncClient]:
    async with httpx.AsyncClient() as opened:
        yield opened


def endpoint(server: ModelServer, model: str, **changes: object) -> Endpoint:
    return Endpoint(server.base_url, model, backoff_seconds=0.01, **changes)  # type: ignore[arg-type]


async def collect(
    server: ModelServer,
    client: httpx.AsyncClient,
    model: str,
    messages: list[Message] = ASK,
    tools: tuple[ToolSpec, ...] = (),
    **changes: object,
) -> list[ModelEvent]:
    adapter = OpenAICompatible(endpoint(server, model, **changes), client)
    return [event async for event in adapter.events(messages, tools)]


def calls_of(events: list[ModelEvent]) -> list[tuple[str, str]]:
    """Name and whole arguments of each call, in order."""
    calls: dict[str, tuple[str, str]] = {}
    for event in events:
        if isinstance(event, ModelToolCall):
            assert event.opens == (event.call_id not in calls)
            before = calls.get(event.call_id, ("", ""))[1]
            calls[event.call_id] = (event.name, before + event.arguments_delta)
    return list(calls.values())


def text_of(events: list[ModelEvent]) -> str:
    return "".join(event.delta for event in events if isinstance(event, ModelText))


def finish_of(events: list[ModelEvent]) -> str:
    last = events[-1]
    assert isinstance(last, ModelEnd)
    return last.finish_reason


async def test_text_and_usage_are_streamed_and_usage_is_asked_for(server, client):
    events = await collect(server, client, "plain")

    assert text_of(events) == "Hello from the model."
    assert events[-2:] == [
        ModelUsage(11, 7, reasoning_tokens=2, cached_prompt_tokens=4),
        ModelEnd("stop"),
    ]
    request = server.requests[-1]
    assert request.path == "/v1/chat/completions"
    assert request.body["stream_options"] == {"include_usage": True}
    assert "tools" not in request.body


async def test_reasoning_in_the_first_chunk_is_kept_when_content_is_null(server, client):
    events = await collect(server, client, "reasoning")

    thoughts = "".join(event.delta for event in events if isinstance(event, ModelThought))
    assert thoughts == "First thoughts."
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
    assert [type(event) for event in events] == [ModelToolCall, ModelUsage, ModelEnd]


async def test_content_parts_are_read_as_text(server, client):
    assert text_of(await collect(server, client, "content-parts")) == "Hi"


async def test_stream_is_read_when_cut_between_any_two_bytes_with_crlf(server, client):
    assert text_of(await collect(server, client, "crlf")) == "端口 是 8000。"


async def test_turn_ends_when_done_comes_without_finish_reason(server, client):
    events = await collect(server, client, "no-finish-but-done")

    assert events == [ModelText("Hi"), ModelEnd("stop")]


async def test_turn_ends_when_the_last_frame_lacks_its_blank_line(server, client):
    assert finish_of(await collect(server, client, "unterminated")) == "stop"


async def test_turn_is_whole_when_the_connection_drops_after_the_finish_reason(server, client):
    events = await collect(server, client, "drop-after-finish")

    assert text_of(events) == "Hi"
    assert finish_of(events) == "stop"


@pytest.mark.parametrize(
    ("model", "reason"),
    [
        ("drop", "the connection to the endpoint broke off"),
        ("no-end", "the stream ended early"),
        ("html", "the stream ended early"),
        ("error-in-chunk", "the endpoint reported an error in the stream"),
        ("not-json", "the endpoint sent a chunk that is not JSON"),
        ("endless-event", "the endpoint sent an event that is too large"),
        ("unauthorized", "the endpoint answered HTTP 401"),
        ("bad-request", "the endpoint answered HTTP 400"),
    ],
)
async def test_failure_has_a_safe_reason_when_the_stream_is(server, client, model, reason):
    before = len(server.requests)
    with pytest.raises(ModelFailed) as caught:
        await collect(server, client, model, tools=(TOOL,))

    assert caught.value.details["reason"] == reason
    assert UPSTREAM_SECRET not in repr(caught.value.details)
    assert len(server.requests) == before + 1, "a stream that began is never repeated"


async def test_text_before_an_error_in_the_stream_is_still_given(server, client):
    adapter = OpenAICompatible(endpoint(server, "error-in-chunk"), client)
    stream = adapter.events(ASK)

    assert await anext(stream) == ModelText("Hel")
    with pytest.raises(ModelFailed):
        await anext(stream)


@pytest.mark.parametrize("status", [408, 409, 429, 500, 502, 503, 504])
async def test_request_is_repeated_when_refused_before_the_first_byte(server, client, status):
    before = len(server.requests)
    events = await collect(server, client, f"fail-{status}-2")

    assert text_of(events) == "Hello at last."
    assert len(server.requests) == before + 3


async def test_refused_answers_give_their_connection_back(server):
    async with httpx.AsyncClient(limits=httpx.Limits(max_connections=1)) as narrow:
        events = await collect(server, narrow, "fail-503-1", read_timeout_seconds=2)

    assert text_of(events) == "Hello at last."


async def test_retries_end_when_all_attempts_are_refused(server, client):
    before = len(server.requests)
    with pytest.raises(ModelFailed) as caught:
        await collect(server, client, "fail-503-9", attempts=3)

    assert caught.value.details == {"reason": "the endpoint answered HTTP 503", "status": 503}
    assert len(server.requests) == before + 3


@pytest.mark.parametrize("wait", ["3600", "Wed, 21 Oct 2099 07:28:00 GMT"])
async def test_no_retry_when_retry_after_is_longer_than_anyone_waits(server, client, wait):
    before = len(server.requests)
    with pytest.raises(ModelFailed):
        await collect(server, client, f"later-{wait}")

    assert len(server.requests) == before + 1


async def test_retry_after_in_the_past_means_at_once(server, client):
    before = len(server.requests)
    with pytest.raises(ModelFailed):
        await collect(server, client, "later-Wed, 21 Oct 2015 07:28:00 GMT", attempts=2)

    assert len(server.requests) == before + 2


async def test_silence_is_an_error_when_longer_than_the_read_timeout(client):
    with ModelServer() as slow:
        with pytest.raises(ModelFailed) as caught:
            await collect(slow, client, "slow", read_timeout_seconds=0.2)
        assert caught.value.details["reason"] == "the endpoint did not answer in time"


async def test_connection_is_closed_when_the_reader_stops_early(client):
    with ModelServer() as slow:
        adapter = OpenAICompatible(endpoint(slow, "slow"), client)
        stream = adapter.events(ASK)
        assert await anext(stream) == ModelText("Hel")
        await stream.aclose()

        assert slow.hung_up.wait(5)


async def test_unreachable_endpoint_is_named_as_such(client):
    adapter = OpenAICompatible(
        Endpoint("http://127.0.0.1:9/v1", "m", backoff_seconds=0.01, attempts=2), client
    )
    with pytest.raises(ModelFailed) as caught:
        _ = [event async for event in adapter.events(ASK)]

    assert caught.value.details["reason"] == "the endpoint can't be reached"


async def test_bad_address_is_a_model_failure(client):
    adapter = OpenAICompatible(Endpoint("http://[::1", "m"), client)
    with pytest.raises(ModelFailed) as caught:
        _ = [event async for event in adapter.events(ASK)]

    assert caught.value.details["reason"] == "the endpoint's address is not valid"


async def test_refused_tools_are_told_apart_from_other_refusals(server, client):
    with pytest.raises(ToolsRefused):
        await collect(server, client, "no-tools", tools=(TOOL,))


@pytest.mark.parametrize("key", [None, SecretStr("")])
async def test_no_authorization_header_is_sent_when_there_is_no_key(server, client, key):
    await collect(server, client, "plain", api_key=key)

    assert "authorization" not in server.requests[-1].headers


async def test_key_is_sent_as_bearer_token(server, client):
    await collect(server, client, "plain", api_key=SecretStr("sk-test"))

    assert server.requests[-1].headers["authorization"] == "Bearer sk-test"


async def test_conversation_is_sent_as_chat_completions_messages(server, client):
    call = ToolCall("c1", "f", '{"a":1}')
    conversation = [
        Message("system", "Be brief."),
        Message("user", "Hi"),
        Message("assistant", "", (call,), reasoning="hm"),
        Message("tool", "result", tool_call_id="c1"),
    ]
    await collect(server, client, "plain", conversation, (TOOL,), echo_reasoning=True)

    body = server.requests[-1].body
    assert body["messages"][2] == {
        "role": "assistant",
        "content": "",
        "tool_calls": [
            {"id": "c1", "type": "function", "function": {"name": "f", "arguments": '{"a":1}'}}
        ],
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
