"""Resources and prompts of the caller's MCP connections."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Annotated, TypeVar

from fastapi import Depends
from pydantic import Field

from agents.mcp import connections
from agents.mcp.agent_tools import add_tool_policies
from agents.mcp.errors import McpRefusal
from agents.mcp.models import McpConnection
from agents.mcp.texts import GET_PROMPT, LONGEST_URI, READ_RESOURCE, ServerText, cut_texts
from api.container import AgentServices
from api.dependencies import Agents, CurrentDatabase, CurrentPrincipal, paging, requires
from api.http.errors import error_responses
from api.http.responses import Envelope, Items, RequestModel, ResponseModel, Text, page_of
from api.http.routing import Router
from core.auth.permissions import Permission
from core.auth.principal import Principal
from core.db.database import Database
from core.db.pagination import PageRequest
from core.errors.auth import McpConnectionNotFound, PermissionDenied, ToolPolicyFixed
from core.errors.conflicts import McpSwitchedOff
from core.errors.requests import InvalidPagination
from core.errors.server import McpRefused, McpResultTooLarge, McpUnavailable

router = Router(prefix="/api/v1/mcp/connections", tags=["mcp"])
View = Depends(requires(Permission.MCP_VIEW))
Read = Depends(requires(Permission.AGENT_RUN))
LONGEST_TEXT = 100_000
_MOST_ARGUMENTS = 50
EntryT = TypeVar("EntryT")
_ERRORS = (McpConnectionNotFound, PermissionDenied, McpSwitchedOff, McpUnavailable, McpResultTooLarge)


class McpResourceAnswer(ResponseModel):
    """A resource; of a template, `uri` has parts in braces to fill in."""

    uri: str
    name: str
    description: str
    mime_type: str
    is_template: bool


class McpPromptArgumentAnswer(ResponseModel):
    """An argument of a prompt."""

    name: str
    description: str
    is_required: bool


class McpPromptAnswer(ResponseModel):
    """A prompt."""

    name: str
    description: str
    arguments: list[McpPromptArgumentAnswer]


class McpTextPart(ResponseModel):
    """A part of a text; `source` is the URI of a resource and the role of a prompt's message.

    ``text`` is null of what is no text, which has ``size`` bytes.
    """

    source: str
    mime_type: str
    text: str | None
    size: int


class McpTextAnswer(ResponseModel):
    """What a server gave, foreign data; `is_cut` where it has more."""

    parts: list[McpTextPart]
    is_cut: bool


class McpResourceBody(RequestModel):
    """Which resource is read."""

    uri: Text = Field(min_length=1, max_length=LONGEST_URI, examples=["file:///notes.txt"])


class McpPromptBody(RequestModel):
    """Arguments of a prompt."""

    arguments: dict[Text, Text] = Field(default_factory=dict, max_length=_MOST_ARGUMENTS)


@router.get("/{connection_id}/resources", dependencies=[View], responses=error_responses(*_ERRORS, InvalidPagination))
async def list_mcp_resources(
    connection_id: Text,
    principal: CurrentPrincipal,
    database: CurrentDatabase,
    agents: Agents,
    page: Annotated[PageRequest, Depends(paging("position", descending=False))],
) -> Envelope[Items[McpResourceAnswer]]:
    """The resources of a server, and behind them its templates."""
    row = await _usable_row(database, principal, connection_id)
    listed = (await agents.mcp.list_texts(row)).resources
    items = [McpResourceAnswer.model_validate(asdict(entry)) for entry in _on_page(listed, page)]
    return page_of(items, page, total=len(listed))


@router.get("/{connection_id}/prompts", dependencies=[View], responses=error_responses(*_ERRORS, InvalidPagination))
async def list_mcp_prompts(
    connection_id: Text,
    principal: CurrentPrincipal,
    database: CurrentDatabase,
    agents: Agents,
    page: Annotated[PageRequest, Depends(paging("position", descending=False))],
) -> Envelope[Items[McpPromptAnswer]]:
    """The prompts of a server."""
    row = await _usable_row(database, principal, connection_id)
    listed = (await agents.mcp.list_texts(row)).prompts
    items = [McpPromptAnswer.model_validate(asdict(entry)) for entry in _on_page(listed, page)]
    return page_of(items, page, total=len(listed))


@router.post(
    "/{connection_id}/resources/read",
    dependencies=[Read],
    responses=error_responses(*_ERRORS, ToolPolicyFixed, McpRefused),
)
async def read_mcp_resource(
    connection_id: Text, body: McpResourceBody, principal: CurrentPrincipal, database: CurrentDatabase, agents: Agents
) -> Envelope[McpTextAnswer]:
    """The text of a resource."""
    row = await _readable_row(database, agents, principal, connection_id, READ_RESOURCE)
    try:
        parts = await agents.mcp.read_resource(row, body.uri)
    except McpRefusal as refusal:
        raise McpRefused(reason=refusal.text) from refusal
    return Envelope(data=_answer(parts))


@router.post(
    "/{connection_id}/prompts/{prompt_name:path}/get",
    dependencies=[Read],
    responses=error_responses(*_ERRORS, ToolPolicyFixed, McpRefused),
)
async def get_mcp_prompt(
    connection_id: Text,
    prompt_name: Text,
    body: McpPromptBody,
    principal: CurrentPrincipal,
    database: CurrentDatabase,
    agents: Agents,
) -> Envelope[McpTextAnswer]:
    """A prompt, filled in with arguments."""
    row = await _readable_row(database, agents, principal, connection_id, GET_PROMPT)
    try:
        parts = await agents.mcp.get_prompt(row, prompt_name, body.arguments)
    except McpRefusal as refusal:
        raise McpRefused(reason=refusal.text) from refusal
    return Envelope(data=_answer(parts))


def _on_page(listed: Sequence[EntryT], page: PageRequest) -> Sequence[EntryT]:
    ordered = listed[::-1] if page.descending else listed
    start = (page.number - 1) * page.size
    return ordered[start : start + page.size]


def _answer(parts: Sequence[ServerText]) -> McpTextAnswer:
    fitting, is_cut = cut_texts(parts, LONGEST_TEXT)
    return McpTextAnswer(parts=[McpTextPart.model_validate(part.to_json()) for part in fitting], is_cut=is_cut)


async def _usable_row(database: Database, principal: Principal, connection_id: str) -> McpConnection:
    async with database.reading() as session:
        row = await connections.get(session, principal.user_id, connection_id)
    connections.require_use(principal, connection_id)
    return row


async def _readable_row(
    database: Database, agents: AgentServices, principal: Principal, connection_id: str, tool: str
) -> McpConnection:
    """The connection, where the operator does not rule out what agents read with ``tool``."""
    row = await _usable_row(database, principal, connection_id)
    if tool in add_tool_policies(agents.tool_policies, ()).forbidden:
        raise ToolPolicyFixed(tool=tool, policy="never")
    return row
