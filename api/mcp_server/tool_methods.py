"""Methods of the MCP endpoint for tools: their list, and their calls."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from mcp.server import ServerRequestContext
from mcp_types import (
    CallToolRequestParams,
    CallToolResult,
    ClientCapabilities,
    ElicitationCapability,
    InputRequiredResult,
    ListToolsResult,
    PaginatedRequestParams,
    TextContent,
)
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import JsonValue, ValidationError
from starlette.datastructures import Headers

from api.mcp_server.failures import protocol_error, tool_error
from api.mcp_server.run_follower import run_id_of
from api.mcp_server.services import ToolServices
from api.mcp_server.tool import CallContext, CallFailure, Dialog, ServedTool
from api.mcp_server.tools import TOOLS
from core.auth.principal import Principal
from core.errors.auth import NotFound
from core.errors.base import AgentexError
from core.errors.requests import InvalidPagination, InvalidRequest
from core.logging import get_logger
from core.types.validation_errors import error_details

SESSION_HEADER = "mcp-session-id"
"""Names a client's connection, so that it can cancel its own requests; nothing is kept for it."""

log = get_logger(__name__)
_FORMS = ClientCapabilities(elicitation=ElicitationCapability())


@dataclass(frozen=True)
class ToolMethods:
    """The methods for any caller."""

    services: ToolServices

    async def list_tools(self, principal: Principal, params: PaginatedRequestParams) -> ListToolsResult:
        """The tools that the caller has the permissions for, in one page."""
        if params.cursor is not None:
            raise InvalidPagination(field="cursor", error="There is one page only")
        listed = [tool.listed() for tool in TOOLS.values() if tool.permission in principal.permissions]
        return ListToolsResult(tools=listed)

    async def call_tool(
        self, context: ServerRequestContext[Any], principal: Principal, headers: Headers, params: CallToolRequestParams
    ) -> CallToolResult | InputRequiredResult:
        """Call a tool; what is wrong with the call is its result, so that models can correct it."""
        language = headers.get("accept-language", "")
        tool = TOOLS.get(params.name)
        if tool is None:
            raise protocol_error(NotFound, {"field": "name"}, language)
        call = _call_context(context, principal, headers, params, self.services)
        try:
            principal.require(tool.permission)
            return await _result(tool, call, params.arguments or {})
        except AgentexError as error:
            return tool_error(type(error), error.details, language)
        except CallFailure as failure:
            return tool_error(failure.error_class, failure.details, language)
        except Exception as error:
            # The edge: the library would tell the caller the exception's text.
            log.exception("mcp_server.tool_crashed", tool=tool.name, error=type(error).__name__)
            return tool_error(AgentexError, {}, language)


async def _result(
    tool: ServedTool[Any, Any], call: CallContext, arguments: Mapping[str, Any]
) -> CallToolResult | InputRequiredResult:
    try:
        values = tool.arguments.model_validate(arguments)
    except ValidationError as error:
        problems = [{**problem, "loc": ("body", *problem["loc"])} for problem in error.errors(include_url=False)]
        raise CallFailure(InvalidRequest, error_details(problems, arguments)) from None
    answer = await tool.call(call, values)
    if isinstance(answer, InputRequiredResult):
        return answer
    structured: dict[str, JsonValue] = answer.model_dump(mode="json")
    return CallToolResult(content=[TextContent(text=tool.text(answer))], structured_content=structured)


def _call_context(
    context: ServerRequestContext[Any],
    principal: Principal,
    headers: Headers,
    params: CallToolRequestParams,
    services: ToolServices,
) -> CallContext:
    steps = 0

    async def report(message: str) -> None:
        nonlocal steps
        steps += 1
        await context.session.report_progress(steps, message=message)

    # Without a session the protocol has no other way to reach the person.
    may_repeat = context.protocol_version in MODERN_PROTOCOL_VERSIONS
    return CallContext(
        principal=principal,
        services=services,
        is_chinese=headers.get("accept-language", "").lower().startswith("zh"),
        run_id=run_id_of(principal, headers.get(SESSION_HEADER), context.request_id or ""),
        report=report,
        dialog=Dialog(
            is_possible=may_repeat and context.session.check_client_capability(_FORMS),
            responses=params.input_responses,
            state=params.request_state,
        ),
    )
