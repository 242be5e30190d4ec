"""Open session with an MCP server, held by its own task."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from functools import partial
from typing import TypeVar

import mcp_types
from mcp.client._transport import Transport
from mcp.client.client import Client
from mcp.client.session import ClientSession
from mcp.shared.exceptions import MCPError
from pydantic import JsonValue, ValidationError

from agents.mcp.config import McpLimits, McpTarget, McpType
from agents.mcp.errors import FaultNote, McpFault, McpRefusal, collect_faults, mcp_error
from agents.mcp.tools import McpTool, usable_tools
from agents.mcp.transports.http import http_streams
from agents.mcp.transports.tool_lists import original_schema, readable_tool_lists
from agents.mcp.transports.websocket import websocket_streams
from core.errors.base import AgentexError
from core.errors.requests import UrlNotAllowed
from core.outbound.guard import OutboundGuard

ResultT = TypeVar("ResultT")
_CLOSE_SECONDS = 3
_LONGEST_REFUSAL = 500
# The library gives these to what it could not read, send or wait for, with the server's words.
_BROKEN = frozenset({mcp_types.CONNECTION_CLOSED, mcp_types.PARSE_ERROR, mcp_types.REQUEST_TIMEOUT})
_OWN_WORDS = ("Server returned an error response", "Session terminated", "Not Found")


class McpSession:
    """A session from handshake to close.

    Only its own task enters and leaves the library's contexts, whose cancel scopes are bound to a task; requests may
    come from any task, concurrently.
    """

    def __init__(self, target: McpTarget, guard: OutboundGuard, limits: McpLimits) -> None:
        self.target = target
        self._limits = limits
        self._guard = guard
        # What a transport notes that can't tell to which request it belongs.
        self._note = FaultNote()
        self._session: ClientSession | None = None
        self._leave = asyncio.Event()
        self._opened: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._task = asyncio.create_task(self._hold())
        self._pending = 0
        self._is_retired = False

    @property
    def is_usable(self) -> bool:
        is_over = self._is_retired or self._task.done()
        return not is_over and self._note.fault is None

    async def wait_opened(self) -> None:
        try:
            async with asyncio.timeout(self._limits.connect_seconds + 1):
                await asyncio.shield(self._opened)
        except TimeoutError as error:
            self.retire()
            raise mcp_error(McpFault.NO_ANSWER) from error

    async def list_tools(self) -> list[McpTool]:
        tools: list[mcp_types.Tool] = []
        cursor: str | None = None
        try:
            async with asyncio.timeout(self._limits.list_seconds):
                for _ in range(self._limits.pages):
                    params = mcp_types.PaginatedRequestParams(cursor=cursor)
                    # The library's own: it learns which arguments go into headers.
                    page = await self._ask(partial(ClientSession.list_tools, params=params))
                    for tool in page.tools:
                        tool.input_schema = original_schema(tool.input_schema)
                        tools.append(tool)
                    cursor = page.next_cursor
                    if not cursor or len(tools) >= self._limits.tools:
                        break
        except TimeoutError as error:
            raise mcp_error(McpFault.NO_ANSWER) from error
        except McpRefusal as refusal:
            raise mcp_error(McpFault.REFUSED) from refusal
        return await asyncio.to_thread(usable_tools, tools, self._limits)

    async def call(self, name: str, arguments: dict[str, JsonValue]) -> mcp_types.CallToolResult:
        """Call a tool, without retries; except after ``McpRefusal``, a failed call may have taken effect."""
        params = mcp_types.CallToolRequestParams(name=name, arguments=arguments)
        request = mcp_types.CallToolRequest(params=params)

        async def send(session: ClientSession) -> mcp_types.CallToolResult:
            # Not ``call_tool``: it runs the server's own schema over the server's own answer.
            return await session.send_request(request, mcp_types.CallToolResult)

        try:
            async with asyncio.timeout(self._limits.call_seconds):
                return await self._ask(send)
        except TimeoutError as error:
            raise mcp_error(McpFault.NO_ANSWER) from error

    async def _ask(self, request: Callable[[ClientSession], Awaitable[ResultT]]) -> ResultT:
        session = self._require()
        note = collect_faults()
        self._pending += 1
        try:
            return await request(session)
        except AgentexError:
            raise
        # The library raises whatever the server's answer makes it stumble over.
        except Exception as error:
            raise self._translated(error, note) from error
        finally:
            self._pending -= 1
            if self._is_retired and self._pending == 0:
                self._leave.set()

    def _translated(self, error: Exception, note: FaultNote) -> Exception:
        noted = note.fault or self._note.fault
        if isinstance(error, MCPError):
            is_own = error.message in _OWN_WORDS or error.code in _BROKEN
            if not is_own and noted in (None, McpFault.REFUSED):
                return McpRefusal(error.message[:_LONGEST_REFUSAL])
        if not isinstance(error, ValidationError):
            # A session that the server does not know any more, or that has lost its stream.
            self.retire()
        return mcp_error(noted or McpFault.NOT_MCP)

    def _require(self) -> ClientSession:
        if self._session is None or not self.is_usable:
            raise mcp_error(self._note.fault or McpFault.CLOSED)
        return self._session

    def retire(self) -> None:
        self._is_retired = True
        if self._pending == 0:
            self._leave.set()

    async def close(self) -> None:
        self._is_retired = True
        self._leave.set()
        done, _ = await asyncio.wait({self._task}, timeout=_CLOSE_SECONDS)
        if not done:
            self._task.cancel()
            await asyncio.wait({self._task}, timeout=_CLOSE_SECONDS)

    async def _hold(self) -> None:
        note = collect_faults()
        try:
            await self._open_and_wait()
        except (AgentexError, TimeoutError) as error:
            self._end(error)
        # Whatever the library raises, also several errors at once: the session is over.
        except Exception:  # noqa: BLE001
            fault = note.fault or self._note.fault or McpFault.NOT_MCP
            self._end(mcp_error(fault))
        finally:
            self._end(mcp_error(McpFault.CLOSED))

    async def _open_and_wait(self) -> None:
        is_websocket = self.target.type is McpType.WEBSOCKET
        client = Client(
            readable_tool_lists(self._streams()),
            # Servers from before ``server/discover`` leave it unanswered where nothing says 404.
            mode="legacy" if is_websocket else "auto",
            cache=None,
            client_info=mcp_types.Implementation(name="agentex", version="1"),
        )
        async with asyncio.timeout(self._limits.connect_seconds) as connecting:
            async with client:
                connecting.reschedule(None)
                self._session = client.session
                if not self._opened.done():
                    self._opened.set_result(None)
                await self._leave.wait()

    def _streams(self) -> Transport:
        if self.target.type is McpType.WEBSOCKET:
            return websocket_streams(self.target, self._guard, self._limits, self._note)
        return http_streams(self.target, self._guard, self._limits)

    def _end(self, error: Exception) -> None:
        self._is_retired = True
        if self._opened.done():
            return
        if isinstance(error, UrlNotAllowed):
            error = mcp_error(McpFault.NOT_ALLOWED)
        elif isinstance(error, TimeoutError):
            error = mcp_error(McpFault.NO_ANSWER)
        self._opened.set_exception(error)
        # Nobody may be waiting any more.
        with suppress(Exception):
            self._opened.exception()
