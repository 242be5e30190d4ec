"""The MCP server of skills and tools; the protocol library is loaded with the first request."""

import asyncio
from typing import TYPE_CHECKING

from fastapi import Response

from api.mcp_server.services import McpOptions, ToolServices
from core.threads import import_in_thread

if TYPE_CHECKING:
    from api.mcp_server.endpoint import McpEndpoint


class McpServer:
    """Answers requests of MCP clients without keeping anything for them, so any process can answer any request."""

    def __init__(self, services: ToolServices, options: McpOptions) -> None:
        self._services = services
        self._options = options
        self._opening = asyncio.Lock()
        self._closing = asyncio.Event()
        self._endpoint: McpEndpoint | None = None
        self._open: asyncio.Task[None] | None = None

    async def answer(self) -> Response:
        async with self._opening:
            endpoint = self._endpoint = self._endpoint or await self._opened()
        return endpoint.answer()

    async def _opened(self) -> "McpEndpoint":
        # A tenth of an API process's start, and few ask for it; not on the event loop.
        module = await import_in_thread("api.mcp_server.endpoint")
        endpoint: McpEndpoint = module.McpEndpoint(self._services, self._options)
        ready = asyncio.Event()
        # The library is to be opened and closed by one task, which no request is.
        self._open = asyncio.create_task(endpoint.serve(ready, self._closing))
        await ready.wait()
        return endpoint

    async def close(self) -> None:
        self._closing.set()
        if self._open is not None:
            await asyncio.wait({self._open})
