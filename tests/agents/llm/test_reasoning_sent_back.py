"""Reasoning that providers want back with tool calls: kept in the journal, sent after a recovery too."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any
from uuid import uuid4

import httpx
import pytest
from pydantic import SecretStr

from agents.agui.decoder import read_run_request
from agents.llm.base import ModelMessage, ToolCall
from agents.llm.config import ModelEndpoint
from agents.llm.factory import create_model
from agents.llm.providers import PROVIDERS
from core.db.database import Database
from tests.agents.llm.helpers import TOOL, events_of, text_of
from tests.agents.runs.helpers import follow, make_request, register, service_of
from tests.fixtures.llm.model_server import ModelServer

pytestmark = pytest.mark.anyio

VERSIONS = {"anthropic": "/v1", "gemini": "/v1beta", "deepseek": "/v1", "openrouter": "/v1"}
THINKING = {"thinking": {"type": "enabled", "budget_tokens": 1024}}
THOUGHT = {"type": "thinking", "thinking": "Hm.", "signature": "xyz"}
REDACTED = {"type": "redacted_thinking", "data": "zzz"}
# Each block whole, though it came in pieces: its signature is over all of it.
DETAILS = [
    {"type": "reasoning.text", "index": 0, "text": "Hm.", "signature": "xyz"},
    {"type": "reasoning.encrypted", "data": "zzz", "index": 0},
]


@pytest.fixture(scope="module")
def server() -> Iterator[ModelServer]:
    with ModelServer() as running:
        yield running


def endpoint(server: ModelServer, provider: str, name: str) -> ModelEndpoint:
    traits = PROVIDERS[provider].traits
    if provider == "anthropic":
        traits = replace(traits, extra_body=THINKING)
    base_url = server.base_url.replace("/v1", VERSIONS[provider])
    return ModelEndpoint(base_url, name, SecretStr("sk-test"), provider=provider, traits=traits)


def calling_turn(provider: str, body: dict[str, Any]) -> Any:
    """What went back of the turn that called."""
    if provider == "gemini":
        (turn,) = [content for content in body["contents"] if content["role"] == "model"]
        return [part.get("thoughtSignature") for part in turn["parts"]]
    (turn,) = [message for message in body["messages"] if message["role"] == "assistant"]
    if provider == "openrouter":
        return turn["reasoning_details"]
    return turn["content"][:-1] if provider == "anthropic" else turn["reasoning_content"]


@pytest.mark.parametrize("database_kind", ["sqlite"], indirect=True)
@pytest.mark.parametrize(
    ("provider", "sent_back"),
    [
        ("gemini", ["c2lnbmVk"]),
        ("anthropic", [THOUGHT, REDACTED]),
        ("deepseek", "Hm."),
        ("openrouter", DETAILS),
    ],
)
async def test_another_process_sends_back_what_came_with_the_call(
    database: Database,
    server: ModelServer,
    client: httpx.AsyncClient,
    provider: str,
    sent_back: object,
):
    principal, model = (
        await register(database),
        create_model(endpoint(server, provider, "asks"), client),
    )
    thread_id, props = str(uuid4()), {"agent_type": "react"}
    first = service_of(database, model)
    request = make_request("Delete all?", threadId=thread_id, forwardedProps=props)
    events = await follow(first, await first.start(principal, request))
    (interrupt,) = events[-1]["outcome"]["interrupts"]
    assert "xyz" not in str(events)
    assert "c2lnbmVk" not in str(events)

    said = {"interruptId": interrupt["id"], "status": "resolved", "payload": {"confirmed": True}}
    body = {"threadId": thread_id, "runId": str(uuid4()), "messages": [], "resume": [said]}
    second = service_of(database, model)
    events = await follow(second, await second.start(principal, read_run_request(body)))

    assert "Done." in [event.get("delta") for event in events]
    assert calling_turn(provider, server.requests[-1].body) == sent_back


async def test_calls_that_no_model_made_are_sent_without_thinking(server: ModelServer, client: httpx.AsyncClient):
    """The server refuses them beside thinking, as the real one does."""
    conversation = [
        ModelMessage("user", "Hi"),
        ModelMessage("assistant", "", (ToolCall("c1", "f", "{}"),)),
        ModelMessage("tool", "one", tool_call_id="c1"),
    ]
    model = create_model(endpoint(server, "anthropic", "asks"), client)
    assert text_of(await events_of(model, conversation, [TOOL])) == "Done."
    await events_of(model, conversation[:1], [TOOL])
    assert server.requests[-1].body["thinking"] == THINKING["thinking"]
