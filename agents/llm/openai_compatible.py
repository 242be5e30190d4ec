"""Any endpoint that speaks OpenAI's streaming chat completions."""

from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from dataclasses import replace

import httpx

from agents.llm.adapter import StreamedModel, images_of, uses_tools
from agents.llm.base import Message, ModelEvent, ToolSpec
from agents.llm.config import Endpoint
from agents.llm.errors import StreamOptionsRefused
from agents.llm.openai import ChunkReader, request_body
from agents.llm.payloads import PayloadReader
from agents.llm.transport import Call
from core.logging import get_logger

__all__ = ["Endpoint", "OpenAICompatible"]

_log = get_logger(__name__)


class OpenAICompatible(StreamedModel):
    """The adapter; an endpoint that does not know ``stream_options`` is not sent them again."""

    def __init__(self, endpoint: Endpoint, client: httpx.AsyncClient) -> None:
        super().__init__(endpoint, client)
        self._traits = endpoint.traits

    async def _turn(
        self, messages: Sequence[Message], tools: Sequence[ToolSpec] = ()
    ) -> AsyncGenerator[ModelEvent, None]:
        # Another turn may find it out while this one is on its way.
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

    def _call(self, messages: Sequence[Message], tools: Sequence[ToolSpec]) -> Call:
        endpoint = self.endpoint
        # An empty key would make the illegal header "Bearer ".
        headers = {"Authorization": f"Bearer {endpoint.key}"} if endpoint.key else {}
        body = request_body(endpoint.model, messages, tools, self._traits)
        url = self._address("/chat/completions")
        offers_tools, images = uses_tools(messages, tools), images_of(messages)
        return Call(url, headers, body, offers_tools=offers_tools, images=images)

    def _reader(self) -> PayloadReader:
        return ChunkReader(self._traits)
