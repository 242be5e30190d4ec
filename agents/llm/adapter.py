"""Base class of the adapters: tool modes and one turn over the transport."""

from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from dataclasses import replace
from typing import Self

import httpx

from agents.llm.base import ModelEvent, ModelImage, ModelMessage, ToolSchemaRefused, ToolSpec, ToolsRefused
from agents.llm.config import ModelEndpoint
from agents.llm.errors import ModelFault, fault_details, name_registry_fields
from agents.llm.text_tools import with_text_tools
from agents.llm.tool_support import ToolSupport, plain_specs
from agents.llm.transport import ModelRequest, PayloadReader, stream_turn
from core.errors.server import ModelFailed
from core.logging import get_logger

_log = get_logger(__name__)


class HttpChatModel(ABC):
    """A ``ChatModel`` behind an HTTP endpoint; subclasses add the wire protocol.

    The client is shared and must follow no redirects: the key must not go elsewhere.
    """

    is_extractive = False

    def __init__(self, endpoint: ModelEndpoint, client: httpx.AsyncClient) -> None:
        self.name = endpoint.model
        self.provider = endpoint.provider
        self.sees_images = endpoint.traits.vision
        self.context_window = endpoint.traits.context_window
        self.endpoint = endpoint
        self._client = client
        self.tool_support = ToolSupport()

    def with_deadline(self, seconds: float) -> Self:
        endpoint = replace(
            self.endpoint,
            attempts=1,
            connect_timeout_seconds=min(seconds, self.endpoint.connect_timeout_seconds),
            read_timeout_seconds=min(seconds, self.endpoint.read_timeout_seconds),
            call_seconds=min(seconds, self.endpoint.call_seconds),
        )
        return type(self)(endpoint, self._client)

    async def events(
        self, messages: Sequence[ModelMessage], tools: Sequence[ToolSpec] = ()
    ) -> AsyncGenerator[ModelEvent, None]:
        """Stream one turn; deltas of one network read are joined.

        If the traits allow it, an endpoint that refuses tools gets them described in the prompt for a while.
        """
        try:
            async with aclosing(self._with_tools(messages, tools)) as events:
                async for event in events:
                    yield event
        except ModelFailed as failure:
            if self.endpoint.is_registered:
                name_registry_fields(failure)
            # Only our own name of the fault is logged, never the endpoint's text.
            fault, status = failure.details.get("fault"), failure.details.get("status")
            names = {"provider": self.provider, "model": self.name}
            _log.warning("model.failed", fault=fault, status=status, **names)
            raise

    async def _with_tools(
        self, messages: Sequence[ModelMessage], tools: Sequence[ToolSpec]
    ) -> AsyncGenerator[ModelEvent, None]:
        mode = self.endpoint.traits.tools
        if mode == "none" and tools:
            raise ToolsRefused(**fault_details(ModelFault.TOOLS_REFUSED))
        if mode != "text" and not self.tool_support.is_refused:
            try:
                async with aclosing(self._with_native_tools(messages, tools)) as events:
                    async for event in events:
                        yield event
            except (ToolsRefused, ToolSchemaRefused) as refusal:
                if mode != "auto":
                    raise
                if isinstance(refusal, ToolsRefused):
                    self.tool_support.note_refusal()
                    _log.info("model.text_tools", provider=self.provider, model=self.name)
            else:
                return
        async with aclosing(with_text_tools(self._turn, messages, tools)) as events:
            async for event in events:
                yield event

    async def _with_native_tools(
        self, messages: Sequence[ModelMessage], tools: Sequence[ToolSpec]
    ) -> AsyncGenerator[ModelEvent, None]:
        """One turn with native tools; after a refusal once more without the schemas of others.

        What is refused then is no fault of a frontend's or an MCP server's schema, whatever words the endpoint has for it.
        """
        plain = plain_specs(tools)
        try:
            async with aclosing(self._turn(messages, tools)) as events:
                async for event in events:
                    yield event
        except (ToolsRefused, ToolSchemaRefused):
            if plain == list(tools):
                raise
            _log.info("model.plain_schemas", provider=self.provider, model=self.name)
        else:
            return
        async with aclosing(self._turn(messages, plain)) as events:
            async for event in events:
                yield event

    def _turn(
        self, messages: Sequence[ModelMessage], tools: Sequence[ToolSpec] = ()
    ) -> AsyncGenerator[ModelEvent, None]:
        call = self._call(messages, tools)
        return stream_turn(self._client, self.endpoint, call, self._reader(tools or _called_tools(messages)))

    def _address(self, path: str) -> str:
        # Users often configure the full path.
        return self.endpoint.base_url.strip().rstrip("/").removesuffix(path) + path

    @abstractmethod
    def _call(self, messages: Sequence[ModelMessage], tools: Sequence[ToolSpec]) -> ModelRequest:
        """The request for one turn."""

    @abstractmethod
    def _reader(self, tools: Sequence[ToolSpec]) -> PayloadReader:
        """A reader for one turn, in which the model may call these tools."""


def _called_tools(messages: Sequence[ModelMessage]) -> Sequence[ToolSpec]:
    """The tools of earlier calls, which a model may call by habit when it is offered none."""
    names = dict.fromkeys(call.name for message in messages for call in message.tool_calls)
    return [ToolSpec(name, "") for name in names]


def all_images(messages: Sequence[ModelMessage]) -> tuple[ModelImage, ...]:
    """All images of a conversation."""
    return tuple(image for message in messages for image in message.images)


def uses_tools(messages: Sequence[ModelMessage], tools: Sequence[ToolSpec]) -> bool:
    """Whether a request mentions tools, even if only in earlier calls: these may be refused too."""
    return bool(tools) or any(m.role == "tool" or m.tool_calls for m in messages)
