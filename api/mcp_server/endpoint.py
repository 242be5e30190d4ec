"""Stateless transport of the MCP endpoint: one POST, one answer, streamed where it takes long."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from uuid import uuid4

import anyio
from fastapi import Request, Response
from fastapi.responses import JSONResponse
from mcp.server.streamable_http import check_accept_headers
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp_types import INVALID_REQUEST, PARSE_ERROR, JSONRPCNotification, JSONRPCRequest, jsonrpc_message_adapter
from pydantic import JsonValue, ValidationError
from pydantic_core import from_json
from starlette.datastructures import MutableHeaders
from starlette.types import Message, Receive, Scope, Send

from api.http.errors import error_body
from api.mcp_server.methods import SkillMethods, build_server
from api.mcp_server.run_follower import cancel, run_id_of
from api.mcp_server.services import McpOptions, ToolServices
from api.mcp_server.tool_methods import SESSION_HEADER, ToolMethods
from api.mcp_server.tools import TOOLS
from core.errors.base import AgentexError
from core.errors.requests import InvalidRequest, MalformedJson
from skills.transfer.folders import SkillFolders

_Refusal = tuple[int, type[AgentexError]]


class McpEndpoint:
    """Adapter to the library's MCP server of skills and tools."""

    def __init__(self, services: ToolServices, options: McpOptions) -> None:
        server = build_server(
            SkillMethods(SkillFolders(services.database)) if options.with_skills else None,
            ToolMethods(services) if options.with_tools else None,
        )
        self._services = services
        self._whole, self._streamed = (
            StreamableHTTPSessionManager(
                server, json_response=is_whole, stateless=True, max_request_body_size=options.max_bytes
            )
            for is_whole in (True, False)
        )

    async def serve(self, ready: asyncio.Event, closing: asyncio.Event) -> None:
        """Answer requests until cancelled, once only; ``ready`` is set when requests may come."""
        async with AsyncExitStack() as stack:
            for transport in (self._whole, self._streamed):
                await stack.enter_async_context(transport.run())
            ready.set()
            await closing.wait()

    def answer(self) -> Response:
        return _ProtocolResponse(self._exchange)

    async def _exchange(self, message: object, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope)
        if isinstance(message, JSONRPCNotification) and message.method == "notifications/cancelled":
            await self._cancel(message, request)
        if isinstance(message, JSONRPCRequest) and message.method == "initialize":
            send = _with_session(send)
        if not _is_long(message):
            await self._whole.handle_request(scope, receive, send)
        elif all(check_accept_headers(request)):
            await self._streamed.handle_request(scope, receive, send)
        else:
            await _while_connected(self._whole.handle_request, scope, receive, send)

    async def _cancel(self, notification: JSONRPCNotification, request: Request) -> None:
        """Stop the run of a request that its client gives up; only the client's session id tells which it is."""
        session = request.headers.get(SESSION_HEADER)
        request_id = (notification.params or {}).get("requestId")
        if session and isinstance(request_id, int | str):
            principal = request.state.principal
            await cancel(self._services.runs, principal, run_id_of(principal, session, request_id))


def _is_long(message: object) -> bool:
    if not isinstance(message, JSONRPCRequest) or message.method != "tools/call":
        return False
    tool = TOOLS.get(str((message.params or {}).get("name")))
    return tool is not None and tool.is_long


def _with_session(send: Send) -> Send:
    """Give a client that begins with a handshake a name for its connection."""

    async def send_with_header(part: Message) -> None:
        if part["type"] == "http.response.start":
            MutableHeaders(scope=part)[SESSION_HEADER] = uuid4().hex
        await send(part)

    return send_with_header


async def _while_connected(
    handle: Callable[[Scope, Receive, Send], Awaitable[None]], scope: Scope, receive: Receive, send: Send
) -> None:
    """Handle a request until its client hangs up, which nobody looks for while an answer comes as a whole."""
    body = await receive()

    async def replayed() -> Message:
        return body

    async def watch(group: anyio.abc.TaskGroup) -> None:
        while (await receive())["type"] != "http.disconnect":
            pass
        group.cancel_scope.cancel()

    async with anyio.create_task_group() as group:
        group.start_soon(watch, group)
        await handle(scope, replayed, send)
        group.cancel_scope.cancel()


class _ProtocolResponse(Response):
    """Hands a request to the library, which reads its body and sends what it says."""

    def __init__(self, exchange: Callable[[object, Scope, Receive, Send], Awaitable[None]]) -> None:
        super().__init__()
        self._exchange = exchange

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive)
        body = await request.body()
        try:
            message = _read_message(body)
        except _BadMessage as bad:
            # The library would answer some of these with the words of its own exceptions.
            language = request.headers.get("accept-language", "")
            await _refusal(bad.refusal, language)(scope, receive, send)
            return
        parts: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

        async def replayed() -> Message:
            return parts.pop() if parts else await receive()

        await self._exchange(message, scope, replayed, send)


class _BadMessage(Exception):
    """What was sent is no message of the protocol."""

    def __init__(self, refusal: _Refusal) -> None:
        super().__init__()
        self.refusal = refusal


def _read_message(body: bytes) -> object:
    try:
        return jsonrpc_message_adapter.validate_python(from_json(body), by_name=False)
    except ValidationError:
        raise _BadMessage((INVALID_REQUEST, InvalidRequest)) from None
    except ValueError:
        raise _BadMessage((PARSE_ERROR, MalformedJson)) from None


def _refusal(refusal: _Refusal, language: str) -> Response:
    number, error_class = refusal
    message = error_body(error_class, language=language).message
    nothing: dict[str, JsonValue] = {}
    error = {"code": number, "message": message, "data": {"code": error_class.code, "details": nothing}}
    return JSONResponse({"jsonrpc": "2.0", "id": None, "error": error}, status_code=400)
