"""Failures of an OpenAI-compatible endpoint: what is tried again, and what is said."""

import asyncio
import socket
from collections.abc import Iterator

import httpx
import pytest
from pydantic import SecretStr

from agents.llm.base import ModelText, TokenUsage, ToolsRefused
from agents.llm.config import ModelEndpoint
from agents.llm.errors import ModelFault
from agents.llm.openai import OpenAIModel
from core.errors.server import ModelFailed
from tests.agents.llm.helpers import ASK, TOOL, collect, endpoint, events_of, text_of
from tests.fixtures.llm.model_scripts import UPSTREAM_SECRET
from tests.fixtures.llm.model_server import ModelServer

pytestmark = pytest.mark.anyio


@pytest.fixture(scope="module")
def server() -> Iterator[ModelServer]:
    with ModelServer() as running:
        yield running


@pytest.mark.parametrize(
    ("model", "fault"),
    [
        ("drop", "broke_off"),
        ("no-end", "ended_early"),
        ("html", "ended_early"),
        ("web-page", "not_a_model"),
        ("whole-error", "error_in_stream"),
        ("error-in-chunk", "error_in_stream"),
        ("error-object", "error_in_stream"),
        ("error-busy", "busy"),
        ("error-context", "context_too_long"),
        ("no-resources", "error_in_stream"),
        ("not-json", "not_json"),
        ("endless-event", "event_too_large"),
        ("unauthorized", "key_refused"),
        ("forbidden", "key_refused"),
        ("gemini-bad-key", "key_refused"),
        ("no-credit", "no_credit"),
        ("no-quota", "no_credit"),
        ("unknown-model", "unknown_model"),
        ("unknown-model-400", "unknown_model"),
        ("unknown-path", "unknown_path"),
        ("too-long", "context_too_long"),
        ("bad-request", "refused"),
        ("moved", "refused"),
        ("filtered", "filtered"),
        ("sensitive", "filtered"),
    ],
)
async def test_failure_is_named_and_not_repeated_when_the_answer_is(server, client, model, fault):
    before = len(server.requests)
    with pytest.raises(ModelFailed) as caught:
        await collect(server, client, model, tools=(TOOL,))

    assert caught.value.details["fault"] == fault
    assert not isinstance(caught.value, ToolsRefused)
    assert UPSTREAM_SECRET not in repr(caught.value.details)
    assert len(server.requests) == before + 1


@pytest.mark.parametrize("fault", list(ModelFault))
def test_every_failure_says_a_fact_and_a_next_step_in_both_languages(fault: ModelFault):
    for reason, mark in ((fault.en, ": "), (fault.zh, "：")):
        fact, _, step = reason.partition(mark)
        assert fact
        assert step
    assert ("{status}" in fault.en) == ("{status}" in fault.zh)


async def test_filtered_answer_is_given_and_counted_before_the_failure(server, client):
    stream = OpenAIModel(endpoint(server, "filtered"), client).events(ASK)

    assert await anext(stream) == ModelText("Hel")
    assert await anext(stream) == TokenUsage(11, 7, 2, 4)
    with pytest.raises(ModelFailed):
        await anext(stream)


async def test_text_before_an_error_in_the_stream_is_still_given(server, client):
    adapter = OpenAIModel(endpoint(server, "error-in-chunk"), client)
    stream = adapter.events(ASK)

    assert await anext(stream) == ModelText("Hel")
    with pytest.raises(ModelFailed):
        await anext(stream)


@pytest.mark.parametrize("status", [408, 409, 429, 500, 502, 503, 504, 529])
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

    assert (caught.value.details["fault"], caught.value.details["status"]) == ("server_error", 503)
    assert UPSTREAM_SECRET not in repr(caught.value.details)
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
        assert caught.value.details["fault"] == "no_answer_in_time"


async def test_connection_is_closed_when_the_reader_stops_early(client):
    with ModelServer() as slow:
        adapter = OpenAIModel(endpoint(slow, "slow"), client)
        stream = adapter.events(ASK)
        assert await anext(stream) == ModelText("Hel")
        await stream.aclose()

        assert slow.hung_up.wait(5)


async def test_unreachable_endpoint_is_named_as_such(client):
    adapter = OpenAIModel(ModelEndpoint("http://127.0.0.1:9/v1", "m", backoff_seconds=0.01, attempts=2), client)
    with pytest.raises(ModelFailed) as caught:
        _ = [event async for event in adapter.events(ASK)]

    assert caught.value.details["fault"] == "unreachable"


@pytest.mark.parametrize("address", ["http://[::1", "127.0.0.1:9/v1", "ftp://127.0.0.1/v1", "x"])
async def test_bad_address_is_named_as_such(client, address):
    with pytest.raises(ModelFailed) as caught:
        await events_of(OpenAIModel(ModelEndpoint(address, "m"), client))

    assert caught.value.details["fault"] == "bad_address"


@pytest.mark.parametrize("key", ["sk-\u5bc6", "sk-a\nb", "sk-\x00"])
async def test_key_that_cannot_be_sent_is_named_and_not_shown(server, client, key):
    with pytest.raises(ModelFailed) as caught:
        await collect(server, client, "plain", api_key=SecretStr(key))

    assert caught.value.details["fault"] == "bad_key"
    assert key not in repr(caught.value.details)


@pytest.mark.parametrize("status", [429, 503])
async def test_retry_after_is_waited_for(server, client, status):
    events = await collect(server, client, f"patience-{status}")

    assert text_of(events) == "Hello at last."
    first, second = [r for r in server.requests if r.body["model"] == f"patience-{status}"]
    assert second.arrived - first.arrived >= 1


async def test_request_is_repeated_when_nobody_listens_yet():
    """The server comes up between the first try, which is refused, and the second."""
    with socket.socket() as reserved:
        reserved.bind(("127.0.0.1", 0))
        port = reserved.getsockname()[1]
    late = ModelServer(port=port)
    tries: list[httpx.Request] = []

    async def start_before_the_second(request: httpx.Request) -> None:
        tries.append(request)
        if len(tries) == 2:
            await asyncio.to_thread(late.__enter__)

    hooks = {"request": [start_before_the_second]}
    async with httpx.AsyncClient(event_hooks=hooks) as client:
        try:
            adapter = OpenAIModel(endpoint(late, "plain"), client)
            assert text_of(await events_of(adapter)) == "Hello from the model."
        finally:
            late.__exit__(None, None, None)
    assert len(tries) == 2


async def test_request_is_repeated_when_the_line_is_cut_before_the_first_byte(server, client):
    before = len(server.requests)
    with pytest.raises(ModelFailed) as caught:
        await collect(server, client, "never-a-byte", attempts=3)

    assert caught.value.details["fault"] == "unreachable"
    assert len(server.requests) == before + 3


async def test_call_ends_at_its_deadline_when_the_line_is_only_kept_alive(server, client):
    adapter = OpenAIModel(endpoint(server, "alive", call_seconds=1), client)
    stream = adapter.events(ASK)

    assert await anext(stream) == ModelText("Hel")
    with pytest.raises(ModelFailed) as caught:
        await anext(stream)
    assert caught.value.details["fault"] == "too_long"


async def test_call_ends_at_its_deadline_when_it_waits_for_another_try(server, client):
    with pytest.raises(ModelFailed) as caught:
        await collect(server, client, "later-15", call_seconds=0.5)

    assert caught.value.details["fault"] == "too_long"


@pytest.mark.parametrize(
    "answer",
    [
        "400-registry.ollama.ai/library/gemma:latest does not support tools",
        '400-"auto" tool choice requires --enable-auto-tool-choice to be set',
        "400-deepseek-reasoner does not support Function Calling",
        "400-Unsupported parameter: 'tools' is not supported with this model.",
        "400-Unrecognized request argument supplied: tools",
        "404-No endpoints found that support tool use.",
        "422-extra_forbidden body.tools Extra inputs are not permitted",
        "500-tools param requires --jinja flag",
    ],
)
async def test_refused_tools_are_told_apart_at_once(server, client, answer):
    before = len(server.requests)
    with pytest.raises(ToolsRefused):
        await collect(server, client, f"refused-{answer}", tools=(TOOL,))

    assert len(server.requests) == before + 1


@pytest.mark.parametrize(
    "answer",
    [
        "400-Invalid schema for function 'f': unsupported type",
        "400-messages with role 'tool' must follow 'tool_calls' must be supported",
        "400-tool_call_id is unknown and not supported",
        "400-temperature is not supported",
        "400-Invalid 'tools[0].function.name': unknown parameter",
    ],
)
async def test_other_refusals_are_not_taken_for_refused_tools(server, client, answer):
    with pytest.raises(ModelFailed) as caught:
        await collect(server, client, f"refused-{answer}", tools=(TOOL,))

    assert not isinstance(caught.value, ToolsRefused)
