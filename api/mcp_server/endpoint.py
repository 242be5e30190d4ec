"""Stateless transport of the MCP endpoint: one POST, one answer."""

import asyncio

from fastapi import Request, Response
from fastapi.responses import JSONResponse
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp_types import INVALID_REQUEST, PARSE_ERROR, jsonrpc_message_adapter
from pydantic import JsonValue, ValidationError
from pydantic_core import from_json
from starlette.types import Message, Receive, Scope, Send

from api.http.errors import error_body
from api.mcp_server.methods import build_server
from core.db.database import Database
from core.errors.base import AgentexError
from core.errors.requests import InvalidRequest, MalformedJson
from skills.transfer.folders import SkillFolders


class McpEndpoint:
    """Adapter to the library's MCP server of skills."""

    def __init__(self, database: Database, max_bytes: int) -> None:
        self._transport = StreamableHTTPSessionManager(
            build_server(SkillFolders(database)), json_response=True, stateless=True, max_request_body_size=max_bytes
        )

    async def serve(self, ready: asyncio.Event, closing: asyncio.Event) -> None:
        """Answer requests until cancelled, once only; ``ready`` is set when requests may come."""
        async with self._transport.run():
            ready.set()
            await closing.wait()

    def answer(self) -> Response:
        return _ProtocolResponse(self._transport)


class _ProtocolResponse(Response):
    """Hands a request to the library, which reads its body and sends what it says."""

    def __init__(self, transport: StreamableHTTPSessionManager) -> None:
        super().__init__()
        self._transport = transport

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive)
        body = await request.body()
        if fault := _fault_of(body):
            # The library would answer some of these with the words of its own exceptions.
            language = request.headers.get("accept-language", "")
            await _refusal(fault, language)(scope, receive, send)
            return
        parts: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

        async def replayed() -> Message:
            return parts.pop() if parts else await receive()

        await self._transport.handle_request(scope, replayed, send)


def _fault_of(body: bytes) -> tuple[int, type[AgentexError]] | None:
    try:
        jsonrpc_message_adapter.validate_python(from_json(body), by_name=False)
    except ValidationError:
        return INVALID_REQUEST, InvalidRequest
    except ValueError:
        return PARSE_ERROR, MalformedJson
    return None


def _refusal(fault: tuple[int, type[AgentexError]], language: str) -> Response:
    number, error_class = fault
    message = error_body(error_class, language=language).message
    nothing: dict[str, JsonValue] = {}
    error = {"code": number, "message": message, "data": {"code": error_class.code, "details": nothing}}
    return JSONResponse({"jsonrpc": "2.0", "id": None, "error": error}, status_code=400)
