"""Anthropic's and Google's own protocols against the scripted server, over HTTP."""

from collections.abc import Iterator

import httpx
import pytest
from pydantic import SecretStr

from agents.llm.base import (
    ChatModel,
    ModelEnd,
    ModelImage,
    ModelMessage,
    ModelText,
    TokenUsage,
    ToolCall,
    ToolSpec,
    ToolsRefused,
)
from agents.llm.config import ModelEndpoint, Traits
from agents.llm.factory import create_model
from core.errors.server import ModelFailed
from tests.agents.llm.helpers import ASK, TOOL, calls_of, events_of, finish_of, text_of, thoughts_of, usage_of
from tests.fixtures.llm.model_scripts import UPSTREAM_SECRET
from tests.fixtures.llm.model_server import ModelServer

pytestmark = pytest.mark.anyio

BOTH = pytest.mark.parametrize("provider", ["anthropic", "gemini"])
CALLS = (ToolCall("c1", "f", '{"a": 1}'), ToolCall("c2", "g", "{oops"))
HISTORY = [
    ModelMessage("system", "Be brief."),
    ModelMessage("user", "Hi"),
    ModelMessage("assistant", "", CALLS),
    ModelMessage("tool", "one", tool_call_id="c1"),
    ModelMessage("tool", "two", tool_call_id="c2"),
    ModelMessage("user", "And?"),
]


@pytest.fixture(scope="module")
def server() -> Iterator[ModelServer]:
    with ModelServer() as running:
        yield running


def model(server: ModelServer, client: httpx.AsyncClient, provider: str, name: str, **traits: object) -> ChatModel:
    version = "/v1" if provider == "anthropic" else "/v1beta"
    endpoint = ModelEndpoint(
        server.base_url.replace("/v1", version),
        name,
        SecretStr("sk-test"),
        provider=provider,
        traits=Traits(**traits),  # type: ignore[arg-type]
        backoff_seconds=0.01,
    )
    return create_model(endpoint, client)


@BOTH
async def test_text_and_usage_are_streamed(server, client, provider):
    events = await events_of(model(server, client, provider, "plain"))

    assert text_of(events) == "Hello"
    assert events[-1] == ModelEnd("stop")
    counted = {
        "anthropic": TokenUsage(12, 9, reasoning_tokens=4, cached_prompt_tokens=3),
        "gemini": TokenUsage(7, 9, reasoning_tokens=4, cached_prompt_tokens=3),
    }
    assert usage_of(events) == counted[provider]


@BOTH
async def test_key_is_sent_in_the_providers_own_header(server, client, provider):
    await events_of(model(server, client, provider, "plain"))

    headers = server.requests[-1].headers
    named = {"anthropic": "x-api-key", "gemini": "x-goog-api-key"}[provider]
    assert headers[named] == "sk-test"
    assert "authorization" not in headers
    assert "sk-test" not in server.requests[-1].path


@BOTH
async def test_thoughts_text_and_calls_are_told_apart(server, client, provider):
    events = await events_of(model(server, client, provider, "calls"), tools=[TOOL])

    assert (thoughts_of(events), text_of(events)) == ("Hm.", "I look.")
    calls = calls_of(events)
    assert [name for name, _ in calls] == ["f", "g"]
    assert calls[0][1].replace(" ", "") == '{"a":1}'
    assert calls[1][1] in ("", "{}")
    assert finish_of(events) == "tool_calls"


async def test_call_that_the_limit_cut_stays_raw_at_anthropic(server, client):
    events = await events_of(model(server, client, "anthropic", "cut-call"), tools=[TOOL])

    assert calls_of(events) == [("f", '{"path": "/impo')]
    assert finish_of(events) == "length"


async def test_cut_answer_says_that_it_was_cut_at_gemini(server, client):
    assert finish_of(await events_of(model(server, client, "gemini", "cut"))) == "length"


@BOTH
@pytest.mark.parametrize("tools", [(), (TOOL,)])
async def test_conversation_with_calls_and_results_is_taken(server, client, provider, tools):
    """The server checks what the real ones check: order, pairs, definitions, empty blocks."""
    events = await events_of(model(server, client, provider, "plain"), HISTORY, tools)

    assert text_of(events) == "Hello"


async def test_conversation_is_sent_as_anthropic_messages(server, client):
    await events_of(model(server, client, "anthropic", "plain", max_tokens=77), HISTORY, [TOOL])

    body = server.requests[-1].body
    assert (body["system"], body["max_tokens"], body["stream"]) == ("Be brief.", 77, True)
    assert body["messages"] == [
        {"role": "user", "content": [{"type": "text", "text": "Hi"}]},
        {
            "role": "assistant",
            "content": [
                {"type": "tool_use", "id": "c1", "name": "f", "input": {"a": 1}},
                {"type": "tool_use", "id": "c2", "name": "g", "input": {}},
            ],
        },
        {
            "role": "user",
            "content": [
                {"type": "tool_result", "tool_use_id": "c1", "content": "one"},
                {"type": "tool_result", "tool_use_id": "c2", "content": "two"},
                {"type": "text", "text": "And?"},
            ],
        },
    ]
    schema = {"type": "object", "properties": {}}
    assert body["tools"] == [{"name": "f", "description": "Does f.", "input_schema": schema}]
    assert body["tool_choice"] == {"type": "auto"}


async def test_results_stand_behind_their_calls_when_the_user_spoke_in_between(server, client):
    asked = [*HISTORY[:3], ModelMessage("user", "Hurry!"), *HISTORY[3:5]]
    await events_of(model(server, client, "anthropic", "plain"), asked)

    kinds = [block["type"] for block in server.requests[-1].body["messages"][-1]["content"]]
    assert kinds == ["tool_result", "tool_result", "text"]


async def test_tools_of_the_history_are_defined_but_not_offered_at_anthropic(server, client):
    await events_of(model(server, client, "anthropic", "plain"), HISTORY)

    body = server.requests[-1].body
    assert [tool["name"] for tool in body["tools"]] == ["f", "g"]
    assert body["tool_choice"] == {"type": "none"}


async def test_conversation_is_sent_as_gemini_contents(server, client):
    await events_of(model(server, client, "gemini", "models/plain", max_tokens=77), HISTORY, [TOOL])

    request = server.requests[-1]
    assert request.path == "/v1beta/models/plain:streamGenerateContent?alt=sse"
    assert request.body["systemInstruction"] == {"parts": [{"text": "Be brief."}]}
    assert request.body["generationConfig"] == {"maxOutputTokens": 77}
    assert [content["role"] for content in request.body["contents"]] == ["user", "model"] + ["user"] * 2
    (declared,) = request.body["tools"][0]["functionDeclarations"]
    assert declared["parametersJsonSchema"] == TOOL.parameters
    responses = [p["functionResponse"] for p in request.body["contents"][2]["parts"]]
    assert responses == [
        {"name": "f", "response": {"output": "one"}},
        {"name": "g", "response": {"output": "two"}},
    ]


@pytest.mark.parametrize(
    ("provider", "name", "fault", "requests"),
    [
        ("anthropic", "bad-key", "key_refused", 1),
        ("anthropic", "unknown-model", "unknown_model", 1),
        ("anthropic", "too-long", "context_too_long", 1),
        ("anthropic", "no-credit", "no_credit", 1),
        ("anthropic", "refusal", "filtered", 1),
        ("anthropic", "no-end", "ended_early", 1),
        ("anthropic", "drop", "broke_off", 1),
        ("anthropic", "overloaded", "busy", 1),
        ("gemini", "bad-key", "key_refused", 1),
        ("gemini", "elsewhere", "unknown_model", 1),
        ("gemini", "too-long", "context_too_long", 1),
        ("gemini", "safety", "filtered", 1),
        ("gemini", "blocked", "filtered", 1),
        ("gemini", "malformed", "error_in_stream", 1),
        ("gemini", "no-end", "ended_early", 1),
        ("gemini", "drop", "broke_off", 1),
        ("gemini", "error", "error_in_stream", 1),
        # The words of a rate limit sound like an empty account.
        ("gemini", "quota", "busy", 3),
    ],
)
async def test_failure_is_named(server, client, provider, name, fault, requests):
    before = len(server.requests)
    with pytest.raises(ModelFailed) as caught:
        await events_of(model(server, client, provider, name))

    assert caught.value.details["fault"] == fault
    assert UPSTREAM_SECRET not in repr(caught.value.details)
    assert len(server.requests) == before + requests


@BOTH
async def test_text_before_a_cut_is_given_and_not_taken_for_an_answer(server, client, provider):
    stream = model(server, client, provider, "drop").events(ASK)

    assert await anext(stream) == ModelText("Hel")
    with pytest.raises(ModelFailed):
        await anext(stream)


@BOTH
async def test_tools_can_be_told_in_words_or_not_at_all(server, client, provider):
    spec = ToolSpec("f", "Does f.", {"type": "object", "properties": {}})
    await events_of(model(server, client, provider, "plain", tools="text"), ASK, [spec])

    body = server.requests[-1].body
    assert "tools" not in body
    assert "Does f." in str(body.get("system") or body["systemInstruction"])
    with pytest.raises(ToolsRefused):
        await events_of(model(server, client, provider, "plain", tools="none"), ASK, [spec])


SEEN = ModelImage("image/jpeg", b"\xff\xd8\xff")
DATA = "/9j/"


@pytest.mark.parametrize(
    ("provider", "parts"),
    [
        (
            "anthropic",
            [
                {
                    "type": "image",
                    "source": {"type": "base64", "media_type": "image/jpeg", "data": DATA},
                },
                {"type": "text", "text": "Hi"},
            ],
        ),
        ("gemini", [{"inlineData": {"mimeType": "image/jpeg", "data": DATA}}, {"text": "Hi"}]),
    ],
)
async def test_pictures_are_shown_as_the_protocol_has_them(server, client, provider, parts):
    asked = model(server, client, provider, "plain", vision=True)
    assert asked.sees_images
    await events_of(asked, [ModelMessage("user", "Hi", images=(SEEN,))])

    body = server.requests[-1].body
    sent = body["messages"][0]["content"] if provider == "anthropic" else body["contents"][0]["parts"]
    assert sent == parts
