"""Skills and tools over the Model Context Protocol: streamable HTTP without sessions."""

import re
from typing import Any, Literal

from fastapi import Depends, Request, Response
from pydantic import Field, JsonValue

from api.dependencies import Agents, CurrentContext, requires
from api.http.errors import error_responses
from api.http.responses import ErrorBody, ResponseModel
from api.http.routing import Router
from core.auth.permissions import Permission
from core.errors.auth import NotFound, OriginNotAllowed
from core.errors.requests import InvalidRequest
from core.settings import Settings

router = Router(prefix="/api/v1/mcp", tags=["mcp"])
_JSON = "application/json"
# By address or by the one name that no server answers for.
_THIS_MACHINE = re.compile(r"https?://(?:localhost|127\.0\.0\.1|\[::1\])(?::[0-9]{1,5})?")
_MESSAGE: dict[str, Any] = {
    "type": "object",
    "title": "JsonRpcMessage",
    "required": ["jsonrpc"],
    "properties": {"jsonrpc": {"const": "2.0"}},
}
_ASKED: JsonValue = {"jsonrpc": "2.0", "id": 1, "method": "skills/list", "params": {}}


class RpcError(ResponseModel):
    """What went wrong: the protocol's number for it, and in `data` the code of this document."""

    code: int = Field(examples=[-32602])
    message: str
    data: JsonValue = Field(default=None, examples=[{"code": 40410, "details": {}}])


class RpcFailure(ResponseModel):
    """An answer of the protocol that says what went wrong."""

    jsonrpc: Literal["2.0"]
    id: int | str | None = None
    error: RpcError


def _response_descriptions() -> dict[int | str, dict[str, Any]]:
    described: dict[int | str, dict[str, Any]] = {
        **error_responses(InvalidRequest, NotFound, OriginNotAllowed),
        200: {
            "description": "The answer, JSON-RPC",
            "content": {_JSON: {"schema": _MESSAGE}, "text/event-stream": {"schema": {"type": "string"}}},
        },
        202: {"description": "A notification was taken in"},
        406: {"description": f"The caller does not accept {_JSON}"},
    }
    for status in (400, 404):
        described[status]["model"] = ErrorBody | RpcFailure
    return described


async def _check_request(request: Request, context: CurrentContext) -> None:
    """Check that the endpoint is enabled and the body JSON.

    ``OriginNotAllowed`` for pages not of the caller's machine, nor of an origin that the operator listed.
    """
    settings: Settings = context.settings
    if not (settings.skills_over_mcp_enabled or settings.tools_over_mcp_enabled):
        raise NotFound
    # Browsers tell it; a page whose name was made to lead here has an origin of its own.
    for origin in request.headers.getlist("origin"):
        if origin not in settings.allowed_origins and not _THIS_MACHINE.fullmatch(origin):
            raise OriginNotAllowed
    content_type = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if content_type != _JSON:
        raise InvalidRequest("Content-Type", f"Use {_JSON}", f"请使用 {_JSON}")


@router.post(
    "",
    # Each method asks for its own.
    dependencies=[
        Depends(requires(Permission.SKILL_VIEW, Permission.KB_VIEW, Permission.AGENT_RUN)),
        Depends(_check_request),
    ],
    response_class=Response,
    responses=_response_descriptions(),
    openapi_extra={"requestBody": {"required": True, "content": {_JSON: {"schema": _MESSAGE, "example": _ASKED}}}},
)
async def speak_mcp(agents: Agents) -> Response:
    """One message of the Model Context Protocol: skills and tools as a client of MCP uses them.

    The methods of the Skills extension `io.modelcontextprotocol/skills` (`skills/list`,
    `skills/get`, `resources/directory/read`), `resources/list`, `resources/templates/list` and
    `resources/read` need `skill:view`. The tools of `tools/list` and `tools/call` need `kb:view` (`list_knowledge_bases`,
    `search`, `read_passage`) or `agent:run` (`ask`). They are served in the protocol's versions with and without
    `initialize`. The body is one JSON-RPC message, and so is the answer; that of `ask` is a stream of messages where the
    client accepts it. What is refused before it is read is answered as everywhere else.
    """
    return await agents.mcp_server.answer()
