"""One model turn as a list of events, and what is read from it."""

from collections.abc import Sequence

import httpx

from agents.llm.base import (
    ChatModel,
    ModelEnd,
    ModelEvent,
    ModelMessage,
    ModelText,
    ModelThought,
    ModelToolCall,
    TokenUsage,
    ToolSpec,
)
from agents.llm.config import ModelEndpoint, Traits
from agents.llm.openai import OpenAIModel
from tests.fixtures.llm.model_server import ModelServer

ASK = [ModelMessage("user", "Hi")]
TOOL = ToolSpec("f", "Does f.", {"type": "object", "properties": {}})


def endpoint(server: ModelServer, model: str, **changes: object) -> ModelEndpoint:
    """The server as an endpoint; the names of traits go to its traits (``tools_mode`` is one)."""
    if mode := changes.pop("tools_mode", None):
        changes["tools"] = mode
    traits = {n: changes.pop(n) for n in list(changes) if n in Traits.__dataclass_fields__}
    given = Traits(**{"tools": "native", **traits})  # type: ignore[arg-type]
    return ModelEndpoint(server.base_url, model, traits=given, backoff_seconds=0.01, **changes)  # type: ignore[arg-type]


async def events_of(
    model: ChatModel, messages: Sequence[ModelMessage] = ASK, tools: Sequence[ToolSpec] = ()
) -> list[ModelEvent]:
    return [event async for event in model.events(messages, tools)]


async def collect(
    server: ModelServer,
    client: httpx.AsyncClient,
    model: str,
    messages: Sequence[ModelMessage] = ASK,
    tools: Sequence[ToolSpec] = (),
    **changes: object,
) -> list[ModelEvent]:
    adapter = OpenAIModel(endpoint(server, model, **changes), client)
    return await events_of(adapter, messages, tools)


def calls_of(events: list[ModelEvent]) -> list[tuple[str, str]]:
    """Name and whole arguments of each call, in order."""
    calls: dict[str, tuple[str, str]] = {}
    for event in events:
        if isinstance(event, ModelToolCall):
            assert event.opens == (event.call_id not in calls)
            assert event.name
            assert event.call_id
            before = calls.get(event.call_id, ("", ""))[1]
            calls[event.call_id] = (event.name, before + event.arguments_delta)
    return list(calls.values())


def text_of(events: list[ModelEvent]) -> str:
    return "".join(event.delta for event in events if isinstance(event, ModelText))


def thoughts_of(events: list[ModelEvent]) -> str:
    return "".join(event.delta for event in events if isinstance(event, ModelThought))


def usage_of(events: list[ModelEvent]) -> TokenUsage:
    (usage,) = [event for event in events if isinstance(event, TokenUsage)]
    return usage


def finish_of(events: list[ModelEvent]) -> str:
    last = events[-1]
    assert isinstance(last, ModelEnd)
    return last.finish_reason
