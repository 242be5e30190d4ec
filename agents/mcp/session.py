"""Open session with an MCP server, held by its own task."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from functools import partial
from typing import TypeVar

import mcp_types
from mcp.client._probe import negotiate_auto
from mcp.client._transport import Transport
from mcp.client.session import ClientSession
from mcp.shared.exceptions import MCPError
from pydantic import JsonValue, ValidationError

from agents.mcp.config import McpLimits, McpTarget, McpType
from agents.mcp.dispatcher import TolerantDispatcher
from agents.mcp.errors import FaultNote, McpFault, McpRefusal, McpSessionLost, collect_faults, current_note, mcp_error
from agents.mcp.tools import ToolListing, usable_tools
from agents.mcp.transports.http import http_streams
from agents.mcp.transports.websocket import websocket_streams
from agents.tool_names import LeftOutTool
from core.errors.base import AgentexError
from core.errors.requests import UrlNotAllowed
from core.outbound.guard import OutboundGuard

ResultT = TypeVar("ResultT")
_CLOSE_SECONDS = 3
_LONGEST_REFUSAL = 500
# What the library says itself; servers use the same numbers for errors of theirs.
_OWN_WORDS = (
    "Connection closed",
    "Not Found",
    "Redirect to ",
    "SSE stream ",
    "Server returned an error response",
    "Session terminated",
    "Unexpected content type",
    "server answered a request with 202",
)
_NOT_FOUND, _CLIENT_ERROR, _SERVER_ERROR = 404, 400, 500
# With these a server refuses one request, whatever it thinks of the session.
_OF_THE_REQUEST = frozenset({mcp_types.METHOD_NOT_FOUND, mcp_types.INVALID_PARAMS, mcp_types.INTERNAL_ERROR})


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

    async def list_tools(self) -> ToolListing:
        """The server's tools; may raise ``McpSessionLost``."""
        tools: list[mcp_types.Tool] = []
        left_out: list[LeftOutTool] = []
        cursor: str | None = None
        try:
            async with asyncio.timeout(self._limits.list_seconds):
                for _ in range(self._limits.pages):
                    page, unreadable = await self._ask(partial(_list_page, cursor=cursor))
                    tools += page.tools
                    left_out += unreadable
                    cursor = page.next_cursor
                    if not cursor or len(tools) >= self._limits.tools:
                        break
        except TimeoutError as error:
            raise mcp_error(McpFault.NO_ANSWER) from error
        except McpRefusal as refusal:
            raise mcp_error(McpFault.REFUSED) from refusal
        return await asyncio.to_thread(usable_tools, tools, self._limits, left_out)

    async def call(self, name: str, arguments: dict[str, JsonValue]) -> mcp_types.CallToolResult:
        """Call a tool, without retries; a failed call may have taken effect.

        Except after ``McpRefusal`` and ``McpSessionLost``, which say that it has not.
        """
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
            raise await self._translated(error, note) from error
        finally:
            self._pending -= 1
            if self._is_retired and self._pending == 0:
                self._leave.set()

    async def _translated(self, error: Exception, note: FaultNote) -> Exception:
        noted = note.fault or self._note.fault
        if not isinstance(error, MCPError):
            if not isinstance(error, ValidationError):
                # It has lost its stream.
                self.retire()
            return mcp_error(noted or McpFault.NOT_MCP)
        is_own = error.code == mcp_types.PARSE_ERROR or error.message.startswith(_OWN_WORDS)
        if noted in (None, McpFault.REFUSED):
            refusal = None if is_own else McpRefusal(error.message[:_LONGEST_REFUSAL])
            if await self._is_lost(error, note, is_own=is_own):
                self.retire()
                if refusal is None or (note.status or 0) >= _CLIENT_ERROR:
                    return McpSessionLost(mcp_error(McpFault.SESSION_LOST))
                return McpSessionLost(refusal)
            if refusal is not None:
                return refusal
        self.retire()
        return mcp_error(noted or McpFault.NOT_MCP)

    async def _is_lost(self, error: MCPError, note: FaultNote, *, is_own: bool) -> bool:
        """Whether the server refused a request because it does not know its session any more.

        Servers say so with any status and words, so the session itself is tried: one that is alive answers a ping.
        """
        status, session = note.status, self._session
        if not note.has_session or status is None or session is None or status >= _SERVER_ERROR:
            return False
        is_general = is_own or error.code not in _OF_THE_REQUEST
        if status == _NOT_FOUND and is_general:
            return True
        if status < _CLIENT_ERROR and (is_own or not is_general):
            return False
        ping = collect_faults()
        try:
            async with asyncio.timeout(self._limits.connect_seconds):
                await session.send_request(mcp_types.PingRequest(), mcp_types.EmptyResult)
        except MCPError as refusal:
            return (ping.status, refusal.code) == (status, error.code)
        # Whatever else happens to the ping tells nothing of the session.
        except Exception:  # noqa: BLE001
            return False
        return False

    def _require(self) -> ClientSession:
        if self._session is None or not self.is_usable:
            if self._note.fault is not None:
                raise mcp_error(self._note.fault)
            # Retired between a caller's getting it and using it.
            raise McpSessionLost(mcp_error(McpFault.CLOSED))
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
        async with (
            asyncio.timeout(self._limits.connect_seconds) as connecting,
            self._streams() as streams,
            ClientSession(
                dispatcher=TolerantDispatcher(*streams, self._limits),
                client_info=mcp_types.Implementation(name="agentex", version="1"),
            ) as session,
        ):
            if is_websocket:
                # Servers from before ``server/discover`` leave it unanswered where nothing says 404.
                await session.initialize()
            else:
                await negotiate_auto(session)
            connecting.reschedule(None)
            self._session = session
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


async def _list_page(
    session: ClientSession, *, cursor: str | None
) -> tuple[mcp_types.ListToolsResult, list[LeftOutTool]]:
    # The library's own: it learns which arguments go into headers.
    page = await session.list_tools(params=mcp_types.PaginatedRequestParams(cursor=cursor))
    return page, current_note().left_out
