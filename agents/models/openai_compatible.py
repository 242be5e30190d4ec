"""Any endpoint that speaks OpenAI's streaming chat completions."""

from collections.abc import Sequence

from agents.models.endpoint import Endpoint
from agents.models.openai_wire import ChunkReader, request_body
from agents.models.payloads import PayloadReader
from agents.models.port import Message, ToolSpec
from agents.models.streamed import StreamedModel, uses_tools
from agents.models.transport import Call

__all__ = ["Endpoint", "OpenAICompatible"]


class OpenAICompatible(StreamedModel):
    """The adapter."""

    def _call(self, messages: Sequence[Message], tools: Sequence[ToolSpec]) -> Call:
        endpoint = self._endpoint
        # An empty key would make the illegal header "Bearer ".
        headers = {"Authorization": f"Bearer {endpoint.key}"} if endpoint.key else {}
        body = request_body(endpoint.model, messages, tools, endpoint.traits)
        url = self._address("/chat/completions")
        return Call(url, headers, body, offers_tools=uses_tools(messages, tools))

    def _reader(self) -> PayloadReader:
        return ChunkReader(self._endpoint.traits)
