"""The chat-completions wire format: messages out, stream chunks in."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from pydantic import JsonValue

from agents.json_shapes import as_count, as_list, as_object, as_text, parse
from agents.models.port import (
    FinishReason,
    Message,
    ModelEvent,
    ModelText,
    ModelThought,
    ModelToolCall,
    ModelUsage,
    ToolSpec,
)
from agents.models.tool_call_assembly import ToolCallAssembly
from core.errors import ModelFailed

_FINISH_REASONS: dict[str, FinishReason] = {
    "stop": "stop",
    "tool_calls": "tool_calls",
    "function_call": "tool_calls",
    "length": "length",
    "content_filter": "content_filter",
}


def request_body(
    model: str, messages: Sequence[Message], tools: Sequence[ToolSpec], *, echo_reasoning: bool
) -> dict[str, JsonValue]:
    """The body of a streaming chat-completions request with usage switched on."""
    body: dict[str, JsonValue] = {
        "model": model,
        "messages": [_message(message, echo_reasoning=echo_reasoning) for message in messages],
        "stream": True,
        "stream_options": {"include_usage": True},
    }
    if tools:
        body["tools"] = [
            {
                "type": "function",
                "function": {
                    "name": tool.name,
                    "description": tool.description,
                    "parameters": tool.parameters,
                },
            }
            for tool in tools
        ]
    return body


def _message(message: Message, *, echo_reasoning: bool) -> dict[str, JsonValue]:
    fields: dict[str, JsonValue] = {"role": message.role, "content": message.content}
    if message.role == "tool":
        fields["tool_call_id"] = message.tool_call_id
    if message.tool_calls:
        fields["tool_calls"] = [
            {
                "id": call.id,
                "type": "function",
                "function": {"name": call.name, "arguments": call.arguments},
            }
            for call in message.tool_calls
        ]
        if echo_reasoning and message.reasoning:
            fields["reasoning_content"] = message.reasoning
    return fields


class ChunkReader:
    """Reads the chunks of one streamed completion.

    Attributes:
        finish_reason: Set once the endpoint said how the turn ended.
        is_done: Whether ``[DONE]`` came.
        usage: The last usage object, if any.
        failure: Why reading stopped before the end.
    """

    def __init__(self) -> None:
        self.finish_reason: FinishReason | None = None
        self.is_done = False
        self.usage: ModelUsage | None = None
        self.has_calls = False
        self.failure: ModelFailed | None = None
        self._calls = ToolCallAssembly()

    def read_all(self, payloads: Iterable[str]) -> list[ModelEvent]:
        """The events of some ``data`` payloads, up to ``[DONE]`` or a bad one (``failure``)."""
        events: list[ModelEvent] = []
        for payload in payloads:
            try:
                events += self._read(payload)
            except ModelFailed as failure:
                self.failure = failure
            if self.is_done or self.failure is not None:
                break
        return events

    def _read(self, payload: str) -> list[ModelEvent]:
        if payload.strip() == "[DONE]":
            self.is_done = True
            return []
        try:
            chunk = as_object(parse(payload))
        except ValueError as error:
            raise ModelFailed(reason="the endpoint sent a chunk that is not JSON") from error
        if chunk.get("error"):
            raise ModelFailed(reason="the endpoint reported an error in the stream")
        self._read_usage(as_object(chunk.get("usage")))
        events: list[ModelEvent] = []
        for choice in as_list(chunk.get("choices"))[:1]:
            events += self._read_choice(as_object(choice))
        return events

    def _read_choice(self, choice: dict[str, JsonValue]) -> Iterable[ModelEvent]:
        if reason := as_text(choice.get("finish_reason")):
            self.finish_reason = _FINISH_REASONS.get(reason, "stop")
        delta = as_object(choice.get("delta"))
        reasoning = as_text(delta.get("reasoning_content")) or as_text(delta.get("reasoning"))
        if reasoning:
            yield ModelThought(reasoning)
        if text := _content(delta.get("content")):
            yield ModelText(text)
        for call in as_list(delta.get("tool_calls")):
            self.has_calls = True
            yield self._calls.add(call)

    def _read_usage(self, usage: dict[str, JsonValue]) -> None:
        if not usage:
            return
        prompt_details = as_object(usage.get("prompt_tokens_details"))
        completion_details = as_object(usage.get("completion_tokens_details"))
        self.usage = ModelUsage(
            prompt_tokens=as_count(usage.get("prompt_tokens")),
            completion_tokens=as_count(usage.get("completion_tokens")),
            reasoning_tokens=as_count(completion_details.get("reasoning_tokens")),
            cached_prompt_tokens=as_count(prompt_details.get("cached_tokens")),
        )


def _content(content: JsonValue) -> str:
    if isinstance(content, list):
        return "".join(as_text(as_object(part).get("text")) for part in content)
    return as_text(content)


def coalesce(events: Iterable[ModelEvent]) -> list[ModelEvent]:
    """Join neighbours of one kind, so that one network read gives few events."""
    joined: list[ModelEvent] = []
    for event in events:
        merged = _join(joined[-1], event) if joined else None
        if merged is None:
            joined.append(event)
        else:
            joined[-1] = merged
    return joined


def _join(first: ModelEvent, second: ModelEvent) -> ModelEvent | None:
    match first, second:
        case (ModelText(), ModelText()) | (ModelThought(), ModelThought()):
            return replace(first, delta=first.delta + second.delta)
        case ModelToolCall(), ModelToolCall(opens=False) if first.call_id == second.call_id:
            joined = first.arguments_delta + second.arguments_delta
            return replace(first, arguments_delta=joined)
        case _:
            return None
