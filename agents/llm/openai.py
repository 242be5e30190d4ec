"""Client of OpenAI-compatible chat-completions endpoints."""

import json
from collections.abc import AsyncGenerator, Iterable, Sequence
from contextlib import aclosing
from dataclasses import replace
from typing import TypeGuard

import httpx
from pydantic import JsonValue

from agents.llm.adapter import HttpChatModel, all_images, uses_tools
from agents.llm.base import (
    FinishReason,
    ModelEvent,
    ModelMessage,
    ModelReasoningBlock,
    ModelText,
    ModelThought,
    ModelToolCall,
    TokenUsage,
    ToolCall,
    ToolSpec,
)
from agents.llm.config import ModelEndpoint, Traits
from agents.llm.errors import ModelFault, StreamOptionsRefused, model_failed
from agents.llm.think_tags import ThinkTagParser, ThoughtHabit
from agents.llm.tool_arguments import replayable_arguments
from agents.llm.tool_call_accumulator import ToolCallAccumulator
from agents.llm.transport import ModelRequest, PayloadReader, stream_error
from agents.llm.written_calls import WrittenCallParser
from agents.tool_names import portable_name
from core.errors.server import ModelFailed
from core.json_access import as_count, as_list, as_object, as_text
from core.logging import get_logger

_log = get_logger(__name__)

_FINISH_REASONS: dict[str, FinishReason] = {
    "stop": "stop",
    "tool_calls": "tool_calls",
    "function_call": "tool_calls",
    "tool_use": "tool_calls",
    "length": "length",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "content_filter": "content_filter",
    "sensitive": "content_filter",
    "safety": "content_filter",
}
# The endpoint gave up half-way.
_BROKEN_OFF = frozenset({"error", "abort", "network_error", "insufficient_system_resource"})
_NO_PARAMETERS: dict[str, JsonValue] = {"type": "object", "properties": {}}
# For stream errors without a code: their text decides.
_STATUS = 400


# Fields that come in pieces; all others, such as encrypted data, come at once.
_TEXTS = {"reasoning.text": "text", "reasoning.summary": "summary"}


def request_body(
    model: str, messages: Sequence[ModelMessage], tools: Sequence[ToolSpec], traits: Traits
) -> dict[str, JsonValue]:
    """The body of a streaming chat-completions request."""
    body: dict[str, JsonValue] = {
        "model": model,
        "messages": [_message(message, traits) for message in _with_system(messages, traits)],
        "stream": True,
    }
    if traits.stream_usage:
        body["stream_options"] = {"include_usage": True}
    if traits.max_tokens is not None:
        body[traits.max_tokens_field] = traits.max_tokens
    if traits.temperature is not None:
        body["temperature"] = traits.temperature
    if tools:
        body["tools"] = [_tool(tool) for tool in tools]
        if traits.parallel_tools is not None:
            body["parallel_tool_calls"] = traits.parallel_tools
    return {**body, **traits.extra_body}


def _tool(tool: ToolSpec) -> dict[str, JsonValue]:
    return {
        "type": "function",
        "function": {
            "name": tool.name,
            "description": tool.description,
            # Several endpoints refuse a schema that says nothing.
            "parameters": tool.parameters or _NO_PARAMETERS,
        },
    }


def _with_system(messages: Sequence[ModelMessage], traits: Traits) -> Sequence[ModelMessage]:
    """The messages, the system's joined to the first question where its role is not known."""
    system = [message.content for message in messages if message.role == "system"]
    if traits.system_role != "user" or not system:
        return messages
    rest = [message for message in messages if message.role != "system"]
    first = next((n for n, message in enumerate(rest) if message.role == "user"), None)
    if first is None:
        return [ModelMessage("user", "\n\n".join(system)), *rest]
    content = "\n\n".join([*system, rest[first].content])
    return [*rest[:first], replace(rest[first], content=content), *rest[first + 1 :]]


def _message(message: ModelMessage, traits: Traits) -> dict[str, JsonValue]:
    role = traits.system_role if message.role == "system" else message.role
    fields: dict[str, JsonValue] = {"role": role, "content": _content_parts(message)}
    if message.role == "tool":
        fields["tool_call_id"] = message.tool_call_id
    if message.tool_calls:
        fields["tool_calls"] = [
            {"id": call.id, "type": "function", "function": _function(call)} for call in message.tool_calls
        ]
        if traits.echo_reasoning:
            # Required on each message with calls, empty where the model did not make them.
            fields[traits.reasoning_field] = message.reasoning
        if message.reasoning_blocks:
            fields["reasoning_details"] = list[JsonValue](message.reasoning_blocks)
    return fields


def _function(call: ToolCall) -> dict[str, JsonValue]:
    # Models write names and arguments that endpoints do not take back.
    return {"name": portable_name(call.name), "arguments": replayable_arguments(call.arguments)}


def _content_parts(message: ModelMessage) -> JsonValue:
    if not message.images:
        return message.content
    parts: list[JsonValue] = [{"type": "text", "text": message.content}]
    for image in message.images:
        url = f"data:{image.mime_type};base64,{image.base64}"
        parts.append({"type": "image_url", "image_url": {"url": url}})
    return parts


class OpenAIReader(PayloadReader):
    """Reader of one completion, streamed or whole."""

    def __init__(self, traits: Traits, tools: Sequence[ToolSpec] = (), habit: ThoughtHabit | None = None) -> None:
        super().__init__()
        self._calls = ToolCallAccumulator(tools)
        self._details = ReasoningAccumulator()
        self._written = WrittenCallParser(tools) if tools else None
        self._has_native_calls = False
        self._tags = ThinkTagParser(habit) if traits.think_tags else None
        self._reasoning_fields = (traits.reasoning_field, "reasoning_content", "reasoning")

    def close(self) -> list[ModelEvent]:
        calls = self._note_native(self._calls.close())
        is_cut = self.finish_reason == "length"
        text = self._tags.close(is_cut=is_cut, has_calls=self.has_calls) if self._tags else []
        written = [*self._read_text(text), *self._note_written(self._written.close() if self._written else [])]
        return [*written, *calls, *self._details.close()]

    def _read(self, payload: str) -> Iterable[ModelEvent]:
        if payload.strip() == "[DONE]":
            self.is_done = True
            return []
        return super()._read(payload)

    def _read_object(self, chunk: dict[str, JsonValue]) -> list[ModelEvent]:
        if chunk.get("error") or chunk.get("object") == "error":
            raise _reported(chunk)
        self._read_usage(as_object(chunk.get("usage")))
        events: list[ModelEvent] = []
        for choice in as_list(chunk.get("choices"))[:1]:
            events += self._read_choice(as_object(choice))
        return events

    def _read_choice(self, choice: dict[str, JsonValue]) -> Iterable[ModelEvent]:
        # Moonshot counts here.
        self._read_usage(as_object(choice.get("usage")))
        if reason := as_text(choice.get("finish_reason")).lower():
            if reason in _BROKEN_OFF:
                raise model_failed(ModelFault.ERROR_IN_STREAM)
            self.finish_reason = _FINISH_REASONS.get(reason, "stop")
        # A completion that came whole has a message instead.
        delta = as_object(choice.get("delta")) or as_object(choice.get("message"))
        reasoning = (as_text(delta.get(name)) for name in self._reasoning_fields)
        if thought := next(filter(None, reasoning), ""):
            yield from self._end_thought()
            yield ModelThought(thought)
        for detail in as_list(delta.get("reasoning_details")):
            self._details.add(detail)
        if text := _content(delta.get("content")):
            yield from self._read_text(self._tags.feed(text) if self._tags else [ModelText(text)])
        for call in _call_deltas(delta):
            yield from self._end_thought()
            yield from self._note_native(self._calls.add(call))

    def _end_thought(self) -> Iterable[ModelEvent]:
        return self._read_text(self._tags.end_thought() if self._tags else [])

    def _read_text(self, pieces: Iterable[ModelText | ModelThought]) -> Iterable[ModelEvent]:
        for piece in pieces:
            if self._written is not None and isinstance(piece, ModelText):
                yield from self._note_written(self._written.feed(piece.delta))
            else:
                yield piece

    def _note_written(self, events: list[ModelText | ModelToolCall]) -> Iterable[ModelEvent]:
        """The text; calls in it count where the endpoint passed on none of its own."""
        calls = [event for event in events if isinstance(event, ModelToolCall)]
        if calls and self._has_native_calls:
            return [event for event in events if event not in calls]
        self.has_calls = self.has_calls or bool(calls)
        return events

    def _note_native(self, calls: list[ModelToolCall]) -> list[ModelToolCall]:
        self._has_native_calls = self._has_native_calls or bool(calls)
        self.has_calls = self.has_calls or bool(calls)
        return calls

    def _read_usage(self, usage: dict[str, JsonValue]) -> None:
        if not usage:
            return
        prompt_details = as_object(usage.get("prompt_tokens_details"))
        completion_details = as_object(usage.get("completion_tokens_details"))
        counted = TokenUsage(
            prompt_tokens=as_count(usage.get("prompt_tokens")),
            completion_tokens=as_count(usage.get("completion_tokens")),
            reasoning_tokens=as_count(completion_details.get("reasoning_tokens")),
            cached_prompt_tokens=as_count(prompt_details.get("cached_tokens")),
        )
        # Counts are totals: the latest counts, except for zeros in between.
        if counted.prompt_tokens or counted.completion_tokens:
            self.usage = counted


def _reported(chunk: dict[str, JsonValue]) -> ModelFailed:
    error = as_object(chunk.get("error")) or chunk
    code = error.get("code")
    status = code if isinstance(code, int) else int(code) if _is_number(code) else _STATUS
    return stream_error(status, json.dumps(error))


def _is_number(code: JsonValue) -> TypeGuard[str]:
    return isinstance(code, str) and code.isdecimal() and len(code) <= 3


def _call_deltas(delta: dict[str, JsonValue]) -> list[JsonValue]:
    """The deltas of calls, also under the name of before ``tool_calls``."""
    calls = delta.get("tool_calls")
    if calls:
        return calls if isinstance(calls, list) else [calls]
    function = as_object(delta.get("function_call"))
    return [{"function": function}] if function else []


def _content(content: JsonValue) -> str:
    if isinstance(content, list):
        return "".join(as_text(as_object(part).get("text")) for part in content)
    return as_text(content)


class ReasoningAccumulator:
    """Joins streamed ``reasoning_details`` into whole blocks, which the signatures cover."""

    def __init__(self) -> None:
        self._blocks: list[dict[str, JsonValue]] = []

    def add(self, detail: JsonValue) -> None:
        piece = as_object(detail)
        if not piece:
            return
        last = self._blocks[-1] if self._blocks else {}
        field = _TEXTS.get(as_text(piece.get("type")))
        if field is None or any(last.get(name) != piece.get(name) for name in ("type", "index")):
            self._blocks.append(dict(piece))
            return
        values = {name: value for name, value in piece.items() if value is not None}
        last |= {**values, field: as_text(last.get(field)) + as_text(piece.get(field))}

    def close(self) -> list[ModelReasoningBlock]:
        blocks, self._blocks = self._blocks, []
        return [ModelReasoningBlock(block) for block in blocks]


class OpenAIModel(HttpChatModel):
    """The client; after a refusal, ``stream_options`` are no longer sent."""

    def __init__(self, endpoint: ModelEndpoint, client: httpx.AsyncClient) -> None:
        super().__init__(endpoint, client)
        self._traits = endpoint.traits
        self._habit = ThoughtHabit(endpoint.traits.begins_in_thought)

    async def _turn(
        self, messages: Sequence[ModelMessage], tools: Sequence[ToolSpec] = ()
    ) -> AsyncGenerator[ModelEvent, None]:
        # A concurrent turn may change the traits.
        was_asked = self._traits.stream_usage
        try:
            async with aclosing(super()._turn(messages, tools)) as events:
                async for event in events:
                    yield event
        except StreamOptionsRefused:
            if not was_asked:
                raise
            self._traits = replace(self._traits, stream_usage=False)
            _log.info("model.usage_estimated", provider=self.provider, model=self.name)
        else:
            return
        async with aclosing(super()._turn(messages, tools)) as events:
            async for event in events:
                yield event

    def _call(self, messages: Sequence[ModelMessage], tools: Sequence[ToolSpec]) -> ModelRequest:
        endpoint = self.endpoint
        # An empty key would make the illegal header "Bearer ".
        headers = {"Authorization": f"Bearer {endpoint.key}"} if endpoint.key else {}
        body = request_body(endpoint.model, messages, tools, self._traits)
        url = self._address("/chat/completions")
        offers_tools, images = uses_tools(messages, tools), all_images(messages)
        return ModelRequest(url, headers, body, offers_tools=offers_tools, images=images)

    def _reader(self, tools: Sequence[ToolSpec]) -> PayloadReader:
        return OpenAIReader(self._traits, tools, self._habit)
