"""A ``ChatModel`` as LlamaIndex's ``FunctionCallingLLM``, for its query engines and evaluators.

Import it only where LlamaIndex is used: ``llama_index.core`` is slow to import.
"""

# llama_index.core types its keyword arguments and tool schemas as Any and bare dict.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false, reportMissingParameterType=false

import json
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from typing import Any

from llama_index.core.async_utils import asyncio_run
from llama_index.core.base.llms.generic_utils import (
    astream_chat_response_to_completion_response,
    chat_response_to_completion_response,
)
from llama_index.core.base.llms.types import (
    ChatMessage,
    ChatResponse,
    ChatResponseAsyncGen,
    ChatResponseGen,
    CompletionResponse,
    CompletionResponseAsyncGen,
    CompletionResponseGen,
    LLMMetadata,
    MessageRole,
    TextBlock,
    ToolCallBlock,
)
from llama_index.core.bridge.pydantic import PrivateAttr
from llama_index.core.llms.function_calling import FunctionCallingLLM
from llama_index.core.llms.llm import ToolSelection
from llama_index.core.tools.types import BaseTool

from agents.llm.base import ChatModel, Message, ModelText, ModelToolCall, ToolCall, ToolSpec
from core.json_access import as_object, as_text


class LlamaIndexModel(FunctionCallingLLM):
    """The wrapper; it adds nothing to the model but LlamaIndex's interface.

    Args:
        model: The wrapped model.
        context_window: Its size in tokens; LlamaIndex cuts prompts to it.
    """

    _model: ChatModel = PrivateAttr()
    _context_window: int = PrivateAttr()

    def __init__(self, model: ChatModel, *, context_window: int = 128_000) -> None:
        super().__init__()
        self._model = model
        self._context_window = context_window

    @property
    def metadata(self) -> LLMMetadata:
        """Capabilities, said explicitly: the defaults deny chat and tools."""
        return LLMMetadata(
            context_window=self._context_window,
            is_chat_model=True,
            is_function_calling_model=True,
            model_name=self._model.name,
        )

    async def astream_chat(
        self, messages: Sequence[ChatMessage], **kwargs: object
    ) -> ChatResponseAsyncGen:
        """Stream a turn; each response holds the text so far."""
        offered = kwargs.get("agentex_tools")
        specs = offered if isinstance(offered, list) else []
        return self._stream(messages, [spec for spec in specs if isinstance(spec, ToolSpec)])

    async def _stream(
        self, messages: Sequence[ChatMessage], tools: Sequence[ToolSpec]
    ) -> AsyncGenerator[ChatResponse, None]:
        text = ""
        calls: dict[str, ToolCall] = {}
        own = [_message(message) for message in messages]
        async with aclosing(self._model.events(own, tools)) as events:
            async for event in events:
                match event:
                    case ModelText(delta):
                        text += delta
                        yield _response(text, (), delta)
                    case ModelToolCall(call_id, name, delta):
                        known = calls.get(call_id)
                        before = known.arguments if known else ""
                        calls[call_id] = ToolCall(call_id, name, before + delta)
                    case _:
                        pass
        yield _response(text, tuple(calls.values()), "")

    async def achat(self, messages: Sequence[ChatMessage], **kwargs: object) -> ChatResponse:
        """A whole turn."""
        last = _response("", (), "")
        async for response in await self.astream_chat(messages, **kwargs):
            last = response
        return last

    async def acomplete(
        self, prompt: str, formatted: bool = False, **kwargs: object
    ) -> CompletionResponse:
        """A prompt as one user message."""
        return chat_response_to_completion_response(await self.achat(_prompt(prompt), **kwargs))

    async def astream_complete(
        self, prompt: str, formatted: bool = False, **kwargs: object
    ) -> CompletionResponseAsyncGen:
        """As ``acomplete``, streamed."""
        stream = await self.astream_chat(_prompt(prompt), **kwargs)
        return astream_chat_response_to_completion_response(stream)

    def chat(self, messages: Sequence[ChatMessage], **kwargs: object) -> ChatResponse:
        """As ``achat``, for callers without a running event loop."""
        return asyncio_run(self.achat(messages, **kwargs))

    def complete(
        self, prompt: str, formatted: bool = False, **kwargs: object
    ) -> CompletionResponse:
        """As ``acomplete``, for callers without a running event loop."""
        return asyncio_run(self.acomplete(prompt))

    def stream_chat(self, messages: Sequence[ChatMessage], **kwargs: object) -> ChatResponseGen:
        """One response with the whole turn: a sync generator can't wait for the network."""
        yield self.chat(messages, **kwargs)

    def stream_complete(
        self, prompt: str, formatted: bool = False, **kwargs: object
    ) -> CompletionResponseGen:
        """One response with the whole turn."""
        yield self.complete(prompt)

    # The parameters are LlamaIndex's.
    def _prepare_chat_with_tools(
        self,
        tools: Sequence[BaseTool],
        user_msg: str | ChatMessage | None = None,
        chat_history: list[ChatMessage] | None = None,
        verbose: bool = False,
        allow_parallel_tool_calls: bool = False,
        tool_required: bool = False,
        **kwargs: object,
    ) -> dict[str, Any]:
        messages = list(chat_history or ())
        if user_msg is not None:
            is_text = isinstance(user_msg, str)
            messages.append(ChatMessage(role="user", content=user_msg) if is_text else user_msg)
        specs = [_spec(tool) for tool in tools]
        return {"messages": messages, "agentex_tools": specs, **kwargs}

    def get_tool_calls_from_response(
        self, response: ChatResponse, error_on_no_tool_call: bool = True, **kwargs: object
    ) -> list[ToolSelection]:
        """The calls of a response.

        Raises:
            ValueError: There is none, or its arguments are no JSON object.
        """
        blocks = [b for b in response.message.blocks if isinstance(b, ToolCallBlock)]
        if not blocks and error_on_no_tool_call:
            raise ValueError("the model made no tool call")
        return [
            ToolSelection(
                tool_id=block.tool_call_id or "",
                tool_name=block.tool_name,
                tool_kwargs=_arguments(block),
            )
            for block in blocks
        ]


def _arguments(block: ToolCallBlock) -> dict[str, Any]:
    raw = block.tool_kwargs
    arguments = json.loads(raw) if isinstance(raw, str) else raw
    if not isinstance(arguments, dict):
        raise ValueError("the tool call's arguments are no JSON object")
    return arguments


def _prompt(prompt: str) -> list[ChatMessage]:
    return [ChatMessage(role="user", content=prompt)]


def _response(text: str, calls: Sequence[ToolCall], delta: str) -> ChatResponse:
    blocks: list[TextBlock | ToolCallBlock] = [TextBlock(text=text)]
    blocks += [
        ToolCallBlock(tool_call_id=call.id, tool_name=call.name, tool_kwargs=call.arguments)
        for call in calls
    ]
    message = ChatMessage(role=MessageRole.ASSISTANT, blocks=blocks)
    return ChatResponse(message=message, delta=delta)


def _message(message: ChatMessage) -> Message:
    content = message.content or ""
    match message.role:
        case MessageRole.SYSTEM | MessageRole.DEVELOPER:
            return Message("system", content)
        case MessageRole.TOOL | MessageRole.FUNCTION:
            call_id = as_text(message.additional_kwargs.get("tool_call_id"))
            return Message("tool", content, tool_call_id=call_id)
        case MessageRole.ASSISTANT:
            blocks = [block for block in message.blocks if isinstance(block, ToolCallBlock)]
            return Message("assistant", content, tuple(_call(block) for block in blocks))
        case _:
            return Message("user", content)


def _call(block: ToolCallBlock) -> ToolCall:
    raw = block.tool_kwargs
    arguments = raw if isinstance(raw, str) else json.dumps(raw, ensure_ascii=False)
    return ToolCall(block.tool_call_id or "", block.tool_name, arguments)


def _spec(tool: BaseTool) -> ToolSpec:
    described = as_object(tool.metadata.to_openai_tool().get("function"))
    return ToolSpec(
        as_text(described.get("name")),
        as_text(described.get("description")),
        as_object(described.get("parameters")),
    )
