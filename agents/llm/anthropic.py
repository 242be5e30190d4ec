"""Anthropic's Messages API, streamed (https://docs.anthropic.com/en/api/messages-streaming)."""

from collections.abc import Iterable, Sequence
from itertools import groupby

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
    ToolSpec,
)
from agents.llm.errors import ModelFault, model_failed
from agents.llm.tool_arguments import replayable_arguments
from agents.llm.transport import ModelRequest, PayloadReader, stream_error
from agents.tool_names import portable_name
from core.json_access import as_count, as_object, as_text, parse

_VERSION = "2023-06-01"
# The protocol requires a limit.
_MAX_TOKENS = 8192
_ANY_OBJECT: dict[str, JsonValue] = {"type": "object", "properties": {}}
_FINISH_REASONS: dict[str, FinishReason] = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "pause_turn": "stop",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "tool_use": "tool_calls",
    "refusal": "content_filter",
}
_STATUS = {
    "invalid_request_error": 400,
    "authentication_error": 401,
    "billing_error": 402,
    "permission_error": 403,
    "not_found_error": 404,
    "rate_limit_error": 429,
    "timeout_error": 408,
    "overloaded_error": 529,
}


class AnthropicModel(HttpChatModel):
    """Client of the Messages API."""

    def _call(self, messages: Sequence[ModelMessage], tools: Sequence[ToolSpec]) -> ModelRequest:
        endpoint = self.endpoint
        headers = {"anthropic-version": _VERSION}
        if endpoint.key:
            headers["x-api-key"] = endpoint.key
        system = "\n\n".join(m.content for m in messages if m.role == "system" and m.content)
        body: dict[str, JsonValue] = {
            "model": endpoint.model,
            "max_tokens": endpoint.traits.max_tokens or _MAX_TOKENS,
            "messages": _turns([m for m in messages if m.role != "system"]),
            "stream": True,
        }
        if system:
            body["system"] = system
        body |= _tools(messages, tools, parallel=endpoint.traits.parallel_tools)
        body |= endpoint.traits.extra_body
        is_thinking = as_object(body.get("thinking")).get("type") == "enabled"
        if is_thinking and any(m.tool_calls and not m.reasoning_blocks for m in messages):
            # Calls made without thinking are refused when it is enabled.
            del body["thinking"]
        if endpoint.traits.temperature is not None and not is_thinking:
            # Its scale ends at 1; with thinking, none is accepted.
            body.setdefault("temperature", min(1.0, endpoint.traits.temperature))
        url = self._address("/messages")
        offers_tools, images = uses_tools(messages, tools), all_images(messages)
        return ModelRequest(url, headers, body, offers_tools=offers_tools, images=images)

    def _reader(self, tools: Sequence[ToolSpec]) -> PayloadReader:
        return AnthropicReader()


def _tools(
    messages: Sequence[ModelMessage], tools: Sequence[ToolSpec], *, parallel: bool | None
) -> dict[str, JsonValue]:
    if tools:
        choice: dict[str, JsonValue] = {"type": "auto"}
        if parallel is not None:
            choice["disable_parallel_tool_use"] = not parallel
        return {"tools": [_tool(tool) for tool in tools], "tool_choice": choice}
    called = dict.fromkeys(portable_name(call.name) for message in messages for call in message.tool_calls)
    if not called:
        return {}
    # Calls in the history are refused if their tools are not defined.
    definitions: list[JsonValue] = [{"name": name, "input_schema": _ANY_OBJECT} for name in called]
    return {"tools": definitions, "tool_choice": {"type": "none"}}


def _tool(tool: ToolSpec) -> JsonValue:
    schema = tool.parameters or _ANY_OBJECT
    return {"name": tool.name, "description": tool.description, "input_schema": schema}


def _turns(messages: Sequence[ModelMessage]) -> list[JsonValue]:
    turns: list[JsonValue] = []
    for role, group in groupby(messages, key=_role):
        blocks = [block for message in group for block in _blocks(message)]
        # Results must directly follow their calls.
        blocks.sort(key=lambda block: block["type"] != "tool_result" and role == "user")
        if blocks:
            turns.append({"role": role, "content": list[JsonValue](blocks)})
    return turns


def _role(message: ModelMessage) -> str:
    return "assistant" if message.role == "assistant" else "user"


def _blocks(message: ModelMessage) -> Iterable[dict[str, JsonValue]]:
    if message.role == "tool":
        result = {"type": "tool_result", "tool_use_id": message.tool_call_id}
        yield {**result, "content": message.content}
        return
    for image in message.images:
        source: dict[str, JsonValue] = {"type": "base64", "media_type": image.mime_type}
        source["data"] = image.base64
        yield {"type": "image", "source": source}
    # Signed reasoning goes back only together with the calls it precedes.
    yield from message.reasoning_blocks if message.tool_calls else ()
    # An empty text block is refused.
    if message.content.strip():
        yield {"type": "text", "text": message.content}
    for call in message.tool_calls:
        block = {"type": "tool_use", "id": call.id, "name": portable_name(call.name)}
        yield {**block, "input": parse(replayable_arguments(call.arguments))}


class AnthropicReader(PayloadReader):
    """Reader of one message's events."""

    def __init__(self) -> None:
        super().__init__()
        self._calls: dict[JsonValue, tuple[str, str]] = {}
        self._counts: dict[str, JsonValue] = {}
        self._reasoning: dict[JsonValue, dict[str, JsonValue]] = {}

    def _read_object(self, chunk: dict[str, JsonValue]) -> Iterable[ModelEvent]:
        match as_text(chunk.get("type")):
            case "message_start":
                self._count(as_object(as_object(chunk.get("message")).get("usage")))
            case "content_block_start":
                return self._open(chunk.get("index"), as_object(chunk.get("content_block")))
            case "content_block_delta":
                return self._continue(chunk.get("index"), as_object(chunk.get("delta")))
            case "content_block_stop" if block := self._reasoning.pop(chunk.get("index"), None):
                return [ModelReasoningBlock(block)]
            case "message_delta":
                self._count(as_object(chunk.get("usage")))
                if reason := as_text(as_object(chunk.get("delta")).get("stop_reason")):
                    self.finish_reason = _FINISH_REASONS.get(reason, "stop")
            case "message_stop":
                self.is_done = True
            case "error":
                raise _reported(as_object(chunk.get("error")))
            case "message":
                # A whole message: the endpoint does not stream.
                raise model_failed(ModelFault.ERROR_IN_STREAM)
            case _:
                pass
        return []

    def _open(self, index: JsonValue, block: dict[str, JsonValue]) -> list[ModelEvent]:
        match as_text(block.get("type")):
            case "tool_use":
                self.has_calls = True
                call = self._calls[index] = (as_text(block.get("id")), as_text(block.get("name")))
                return [ModelToolCall(*call, "", opens=True)]
            case "thinking" | "redacted_thinking":
                self._reasoning[index] = dict(block)
                return []
            case "text" if text := as_text(block.get("text")):
                return [ModelText(text)]
            case _:
                return []

    def _continue(self, index: JsonValue, delta: dict[str, JsonValue]) -> list[ModelEvent]:
        if (text := as_text(delta.get("text"))) and delta.get("type") == "text_delta":
            return [ModelText(text)]
        for name in ("thinking", "signature"):
            if (piece := as_text(delta.get(name))) and (block := self._reasoning.get(index)):
                block[name] = as_text(block.get(name)) + piece
        if thought := as_text(delta.get("thinking")):
            return [ModelThought(thought)]
        if (piece := as_text(delta.get("partial_json"))) and index in self._calls:
            return [ModelToolCall(*self._calls[index], piece, opens=False)]
        return []

    def _count(self, usage: dict[str, JsonValue]) -> None:
        self._counts |= {name: value for name, value in usage.items() if value is not None}
        count = self._counts.get
        cached = as_count(count("cache_read_input_tokens"))
        written = as_count(count("cache_creation_input_tokens"))
        if self._counts:
            details = as_object(count("output_tokens_details"))
            self.usage = TokenUsage(
                prompt_tokens=as_count(count("input_tokens")) + cached + written,
                completion_tokens=as_count(count("output_tokens")),
                reasoning_tokens=as_count(details.get("thinking_tokens")),
                cached_prompt_tokens=cached,
            )


def _reported(error: dict[str, JsonValue]) -> Exception:
    kind = as_text(error.get("type"))
    return stream_error(_STATUS.get(kind, 500), f"{kind} {as_text(error.get('message'))}")
