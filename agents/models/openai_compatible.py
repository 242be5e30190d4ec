"""Any endpoint that speaks OpenAI's streaming chat completions."""

from collections.abc import AsyncGenerator, Sequence

import httpx

from agents.models.endpoint import Endpoint
from agents.models.openai_wire import ChunkReader, request_body
from agents.models.port import Message, ModelEvent, ToolSpec
from agents.models.transport import Call, stream_turn

__all__ = ["Endpoint", "OpenAICompatible"]

_PATH = "/chat/completions"


class OpenAICompatible:
    """The adapter; the HTTP client is the caller's, so that connections are shared."""

    is_extractive = False

    def __init__(self, endpoint: Endpoint, client: httpx.AsyncClient) -> None:
        self.name = endpoint.model
        self.provider = endpoint.provider
        self._endpoint = endpoint
        self._client = client

    def events(
        self, messages: Sequence[Message], tools: Sequence[ToolSpec] = ()
    ) -> AsyncGenerator[ModelEvent, None]:
        """Stream one turn; deltas of one network read are joined.

        Raises:
            ToolsRefused: The endpoint refused because of ``tools``.
            ModelFailed: It refused, timed out, sent an error, broke off or filtered the answer.
        """
        return self._turn(messages, tools)

    def _turn(
        self, messages: Sequence[Message], tools: Sequence[ToolSpec], *, stop: Sequence[str] = ()
    ) -> AsyncGenerator[ModelEvent, None]:
        endpoint = self._endpoint
        # The whole address of the path is a common slip.
        base = endpoint.base_url.strip().rstrip("/").removesuffix(_PATH)
        # An empty key would make the illegal header "Bearer ".
        headers = {"Authorization": f"Bearer {endpoint.key}"} if endpoint.key else {}
        body = request_body(endpoint.model, messages, tools, endpoint.traits, stop=stop)
        call = Call(f"{base}{_PATH}", headers, body, offers_tools=bool(tools))
        return stream_turn(self._client, endpoint, call, ChunkReader(endpoint.traits))
