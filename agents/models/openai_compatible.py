"""Any endpoint that speaks OpenAI's streaming chat completions."""

from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing

import httpx

from agents.models.endpoint import Endpoint
from agents.models.failures import ModelFault, details_of
from agents.models.openai_wire import ChunkReader, request_body
from agents.models.port import Message, ModelEvent, ToolSpec, ToolsRefused
from agents.models.text_tools import with_text_tools
from agents.models.transport import Call, stream_turn
from core.logging import get_logger

__all__ = ["Endpoint", "OpenAICompatible"]

_log = get_logger(__name__)
_PATH = "/chat/completions"


class OpenAICompatible:
    """The adapter; the HTTP client is the caller's, so that connections are shared."""

    is_extractive = False

    def __init__(self, endpoint: Endpoint, client: httpx.AsyncClient) -> None:
        self.name = endpoint.model
        self.provider = endpoint.provider
        self._endpoint = endpoint
        self._client = client
        self._refuses_tools = False

    async def events(
        self, messages: Sequence[Message], tools: Sequence[ToolSpec] = ()
    ) -> AsyncGenerator[ModelEvent, None]:
        """Stream one turn; deltas of one network read are joined.

        An endpoint that refuses tools is told of them in the prompt from then on, if its traits
        leave the choice open.

        Raises:
            ToolsRefused: The endpoint takes no tools.
            ModelFailed: It refused, timed out, sent an error, broke off or filtered the answer.
        """
        mode = self._endpoint.traits.tools
        if mode == "none" and tools:
            raise ToolsRefused(**details_of(ModelFault.TOOLS_REFUSED))
        if mode != "text" and not self._refuses_tools:
            try:
                async with aclosing(self._turn(messages, tools)) as events:
                    async for event in events:
                        yield event
            except ToolsRefused:
                if mode != "auto":
                    raise
                self._refuses_tools = True
                _log.info("model.text_tools", provider=self.provider, model=self.name)
            else:
                return
        async with aclosing(with_text_tools(self._turn, messages, tools)) as events:
            async for event in events:
                yield event

    def _turn(
        self, messages: Sequence[Message], tools: Sequence[ToolSpec] = ()
    ) -> AsyncGenerator[ModelEvent, None]:
        endpoint = self._endpoint
        # The whole address of the path is a common slip.
        base = endpoint.base_url.strip().rstrip("/").removesuffix(_PATH)
        # An empty key would make the illegal header "Bearer ".
        headers = {"Authorization": f"Bearer {endpoint.key}"} if endpoint.key else {}
        body = request_body(endpoint.model, messages, tools, endpoint.traits)
        # Calls in the history are tools too, and may be what is refused.
        offers = bool(tools) or any(m.role == "tool" or m.tool_calls for m in messages)
        call = Call(f"{base}{_PATH}", headers, body, offers_tools=offers)
        return stream_turn(self._client, endpoint, call, ChunkReader(endpoint.traits))
