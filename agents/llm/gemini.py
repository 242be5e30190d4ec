"""Google's Gemini API: ``models.streamGenerateContent`` as server-sent events."""

import json
from collections.abc import Iterable, Sequence
from itertools import groupby
from urllib.parse import quote
from uuid import uuid4

from pydantic import JsonValue

from agents.llm.adapter import HttpChatModel, all_images, uses_tools
from agents.llm.base import (
    FinishReason,
    ModelEvent,
    ModelMessage,
    ModelText,
    ModelThought,
    ModelToolCall,
    TokenUsage,
    ToolCall,
    ToolSpec,
)
from agents.llm.config import Traits
from agents.llm.errors import ModelFault, model_failed
from agents.llm.tool_arguments import replayable_arguments
from agents.llm.transport import ModelRequest, PayloadReader, stream_error
from agents.tool_names import portable_name
from core.json_access import as_count, as_list, as_object, as_text, parse

_FINISH_REASONS: dict[str, FinishReason] = {
    "STOP": "stop",
    "MAX_TOKENS": "length",
    "CONTINUATION": "length",
    "SAFETY": "content_filter",
    "RECITATION": "content_filter",
    "LANGUAGE": "content_filter",
    "BLOCKLIST": "content_filter",
    "PROHIBITED_CONTENT": "content_filter",
    "SPII": "content_filter",
    "IMAGE_SAFETY": "content_filter",
    "MODEL_ARMOR": "content_filter",
    "ESCALATION": "content_filter",
}
# Documented value for calls without a signature of their own.
_NO_SIGNATURE = "skip_thought_signature_validator"


class GeminiModel(HttpChatModel):
    """Client of the Gemini API."""

    def _call(self, messages: Sequence[ModelMessage], tools: Sequence[ToolSpec]) -> ModelRequest:
        endpoint = self.endpoint
        headers = {"x-goog-api-key": endpoint.key} if endpoint.key else {}
        body: dict[str, JsonValue] = {"contents": _contents([m for m in messages if m.role != "system"])}
        system = "\n\n".join(m.content for m in messages if m.role == "system" and m.content)
        if system:
            body["systemInstruction"] = {"parts": [{"text": system}]}
        if tools:
            body["tools"] = [{"functionDeclarations": [_tool(tool) for tool in tools]}]
        if generation := _generation(endpoint.traits):
            body["generationConfig"] = generation
        body |= endpoint.traits.extra_body
        name = quote(endpoint.model.removeprefix("models/"), safe="")
        url = self._address(f"/models/{name}:streamGenerateContent?alt=sse")
        offers_tools, images = uses_tools(messages, tools), all_images(messages)
        return ModelRequest(url, headers, body, offers_tools=offers_tools, images=images)

    def _reader(self, tools: Sequence[ToolSpec]) -> PayloadReader:
        return GeminiReader()


def _tool(tool: ToolSpec) -> JsonValue:
    declared: dict[str, JsonValue] = {"name": tool.name, "description": tool.description}
    # The older field supports only part of JSON Schema.
    return {**declared, "parametersJsonSchema": tool.parameters} if tool.parameters else declared


def _generation(traits: Traits) -> dict[str, JsonValue]:
    settings: dict[str, JsonValue] = {"maxOutputTokens": traits.max_tokens, "temperature": traits.temperature}
    return {name: value for name, value in settings.items() if value is not None}


def _contents(messages: Sequence[ModelMessage]) -> list[JsonValue]:
    names = {call.id: portable_name(call.name) for message in messages for call in message.tool_calls}
    contents: list[JsonValue] = []
    for kind, group in groupby(messages, key=lambda message: message.role):
        parts = [part for message in group for part in _parts(message, names)]
        if parts:
            role = "model" if kind == "assistant" else "user"
            contents.append({"role": role, "parts": parts})
    return contents


def _parts(message: ModelMessage, names: dict[str, str]) -> Iterable[JsonValue]:
    if message.role == "tool":
        name = names.get(message.tool_call_id, "")
        yield {"functionResponse": {"name": name, "response": {"output": message.content}}}
        return
    for image in message.images:
        yield {"inlineData": {"mimeType": image.mime_type, "data": image.base64}}
    if message.content:
        yield {"text": message.content}
    for place, call in enumerate(message.tool_calls):
        yield _call_part(call, is_first=place == 0)


def _call_part(call: ToolCall, *, is_first: bool) -> JsonValue:
    arguments = parse(replayable_arguments(call.arguments))
    part: dict[str, JsonValue] = {"functionCall": {"name": portable_name(call.name), "args": arguments}}
    # Of parallel calls, only the first has a signature.
    signature = call.signature or (_NO_SIGNATURE if is_first else "")
    return {**part, "thoughtSignature": signature} if signature else part


class GeminiReader(PayloadReader):
    """Reader of one turn's responses; only the finish reason marks the end."""

    def _read_object(self, chunk: dict[str, JsonValue]) -> Iterable[ModelEvent]:
        if chunk.get("error"):
            error = as_object(chunk.get("error"))
            raise stream_error(as_count(error.get("code")) or 500, json.dumps(error))
        self._count(as_object(chunk.get("usageMetadata")))
        if as_object(chunk.get("promptFeedback")).get("blockReason"):
            self.finish_reason = "content_filter"
        events: list[ModelEvent] = []
        for candidate in map(as_object, as_list(chunk.get("candidates"))[:1]):
            for part in as_list(as_object(candidate.get("content")).get("parts")):
                events += self._read_part(as_object(part))
            self._finish(as_text(candidate.get("finishReason")))
        return events

    def _read_part(self, part: dict[str, JsonValue]) -> Iterable[ModelEvent]:
        if text := as_text(part.get("text")):
            yield ModelThought(text) if part.get("thought") is True else ModelText(text)
        if "functionCall" in part:
            self.has_calls = True
            call = as_object(part.get("functionCall"))
            call_id = as_text(call.get("id")) or f"call_{uuid4().hex}"
            arguments = json.dumps(as_object(call.get("args")), ensure_ascii=False)
            signature = as_text(part.get("thoughtSignature"))
            yield ModelToolCall(call_id, as_text(call.get("name")), arguments, True, signature)

    def _finish(self, reason: str) -> None:
        if not reason or reason == "FINISH_REASON_UNSPECIFIED":
            return
        if reason not in _FINISH_REASONS:
            # An unknown reason: the answer may be incomplete.
            raise model_failed(ModelFault.ERROR_IN_STREAM)
        self.finish_reason = _FINISH_REASONS[reason]

    def _count(self, usage: dict[str, JsonValue]) -> None:
        if not usage:
            return
        thoughts = as_count(usage.get("thoughtsTokenCount"))
        prompt_tokens = as_count(usage.get("promptTokenCount"))
        self.usage = TokenUsage(
            prompt_tokens=prompt_tokens + as_count(usage.get("toolUsePromptTokenCount")),
            completion_tokens=as_count(usage.get("candidatesTokenCount")) + thoughts,
            reasoning_tokens=thoughts,
            cached_prompt_tokens=as_count(usage.get("cachedContentTokenCount")),
        )
