"""The caller's MCP connections and their tools (docs/reference/agentex-api.md, section 7)."""

import time
from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, Literal

from fastapi import Depends
from pydantic import Field, JsonValue
from sqlmodel.ext.asyncio.session import AsyncSession

from agents.llm.tool_schemas import SchemaFault, normal_schema
from agents.mcp import connections
from agents.mcp.agent_tools import add_tool_policies, default_policy
from agents.mcp.config import McpType
from agents.mcp.connections import MOST_CONNECTIONS, SORT_FIELDS, ConnectionWithTools
from agents.mcp.errors import McpRefusal
from agents.mcp.forms import LONGEST_TOKEN, ConnectionForm, create, update
from agents.mcp.models import LONGEST_CLIENT_ID, LONGEST_NAME, OAUTH, McpAuthorization, McpConnection, McpStatus
from agents.mcp.oauth.authorizations import list_valid
from agents.mcp.service import McpCall
from agents.mcp.tools import McpTool, callable_name, left_out_to_json
from agents.tools.json_schema import schema_fault
from api.container import AgentServices
from api.dependencies import Agents, CurrentDatabase, CurrentPrincipal, Reading, paging, requires
from api.http.errors import error_responses
from api.http.responses import Empty, Envelope, Items, RequestModel, ResponseModel, Secret, Text, page_of
from api.http.routing import Router
from core.auth.permissions import Permission
from core.auth.principal import Principal
from core.db.database import Database
from core.db.pagination import PageRequest
from core.db.unit_of_work import unit_of_work
from core.errors.auth import McpConnectionNotFound, McpToolNotFound, PermissionDenied, ToolPolicyFixed
from core.errors.base import AgentexError
from core.errors.conflicts import McpConnectionsFull, McpNameTaken, McpSwitchedOff
from core.errors.requests import InvalidPagination, InvalidRequest, UrlNotAllowed
from core.errors.server import McpRefused, McpResultTooLarge, McpUnavailable
from core.outbound.guard import LONGEST_URL
from core.settings.tool_policies import ToolPolicy

router = Router(prefix="/api/v1/mcp/connections", tags=["mcp"])
View = Depends(requires(Permission.MCP_VIEW))
Create = Depends(requires(Permission.MCP_CREATE))
Call = Depends(requires(Permission.AGENT_RUN))
_ABSENT = McpConnectionNotFound
_MILLISECONDS = 1000
_CLIENT = (
    "Of a client that you have registered at the server's authorization server; without one Agentex registers itself."
)
AuthType = Literal["none", "bearer", "oauth"]


class McpConfig(RequestModel):
    """How a connection is kept up; milliseconds."""

    heartbeat_interval: int | None = Field(
        default=None, ge=1000, le=600_000, description="Between pings of a WebSocket; 30000."
    )
    reconnect_delay: int | None = Field(
        default=None,
        ge=100,
        le=600_000,
        description="Pause before a server that failed is tried again, doubled each time; 5000.",
    )
    max_retries: int | None = Field(default=None, ge=0, le=10, description="Failures in a row before pauses begin; 3.")


class McpConnectionBody(RequestModel):
    """A new connection; without `auth_type`, `bearer` if there is a token, `oauth` if there is a client id."""

    name: Text = Field(min_length=1, max_length=LONGEST_NAME, examples=["File System"])
    type: McpType = Field(description="`standard` is streamable HTTP")
    url: Text = Field(max_length=LONGEST_URL, examples=["https://mcp.example.com/mcp"])
    auth_type: AuthType | None = None
    auth_token: Secret | None = Field(default=None, max_length=LONGEST_TOKEN)
    client_id: Text | None = Field(default=None, max_length=LONGEST_CLIENT_ID, description=_CLIENT)
    client_secret: Secret | None = Field(default=None, max_length=LONGEST_TOKEN)
    config: McpConfig = McpConfig()
    enabled: bool = True


class McpConnectionChangeBody(RequestModel):
    """What may be changed; what is left out stays, the token too, unless the host is another."""

    name: Text | None = Field(default=None, min_length=1, max_length=LONGEST_NAME)
    type: McpType | None = None
    url: Text | None = Field(default=None, max_length=LONGEST_URL)
    auth_type: AuthType | None = None
    auth_token: Secret | None = Field(default=None, max_length=LONGEST_TOKEN)
    client_id: Text | None = Field(default=None, max_length=LONGEST_CLIENT_ID, description=_CLIENT)
    client_secret: Secret | None = Field(default=None, max_length=LONGEST_TOKEN)
    config: McpConfig | None = None
    enabled: bool | None = None


class McpToolLeftOut(ResponseModel):
    """A tool that the server lists and agents don't get; `#3` is the third of its list, which has no name."""

    name: str
    reason: str
    reason_zh: str


class McpAuthorizationAnswer(ResponseModel):
    """What the owner has authorised: at which server, for which scopes, and when; the tokens are never shown."""

    issuer: str
    scope: str | None
    authorized_at: datetime
    expires_at: datetime | None


class McpConnectionAnswer(ResponseModel):
    """A connection; its token, client secret and OAuth tokens are never shown.

    ``fault`` is why the last contact failed, ``left_out`` what the last list holds besides its tools, ``features``
    what the server has besides tools: ``resources``, ``prompts``.
    """

    id: str
    name: str
    type: McpType
    url: str
    auth_type: AuthType
    has_secret: bool
    client_id: str | None
    has_client_secret: bool
    authorization: McpAuthorizationAnswer | None
    config: dict[str, JsonValue]
    status: McpStatus
    fault: str | None
    tool_count: int
    left_out: list[McpToolLeftOut]
    features: list[str]
    enabled: bool
    checked_at: datetime | None
    created_at: datetime
    updated_at: datetime


class McpTested(ResponseModel):
    """How a test went; ``latency`` in milliseconds, ``message`` says why it failed, ``fault`` is its stable name."""

    success: bool
    latency: int
    message: str
    message_zh: str
    fault: str | None
    tool_count: int
    left_out: list[McpToolLeftOut]


class McpToolAnswer(ResponseModel):
    """A tool; ``call_name`` is what models call it by, ``default_policy`` what holds in runs.

    ``schema_fault`` is why no run offers it to a model, null if runs do.
    """

    name: str
    description: str
    input_schema: dict[str, JsonValue]
    call_name: str
    read_only: bool
    idempotent: bool
    default_policy: ToolPolicy
    schema_fault: str | None
    schema_fault_zh: str | None


class McpToolListAnswer(ResponseModel):
    """The tools of a server; ``is_stale`` where it gave no list now and this is its last one."""

    items: list[McpToolAnswer]
    total: int
    left_out: list[McpToolLeftOut]
    is_stale: bool
    listed_at: datetime | None


class McpCallBody(RequestModel):
    """Arguments for a tool."""

    params: dict[str, JsonValue] = Field(default_factory=dict, examples=[{"path": "/"}])


class McpCalled(ResponseModel):
    """What a call gave, as the protocol has it; ``duration`` in milliseconds."""

    result: dict[str, JsonValue]
    duration: int


async def _answers(session: AsyncSession, rows: Sequence[McpConnection]) -> list[McpConnectionAnswer]:
    authorizations = await list_valid(session, [row.id for row in rows if row.auth_type == OAUTH])
    return [_answer(row, authorizations.get(row.id)) for row in rows]


async def answer_of(session: AsyncSession, row: McpConnection) -> McpConnectionAnswer:
    """A connection with its authorization, as the API shows it."""
    (answer,) = await _answers(session, [row])
    return answer


def _answer(row: McpConnection, authorization: McpAuthorization | None) -> McpConnectionAnswer:
    fields = row.model_dump(exclude={"sealed_token", "sealed_client_secret", "challenge"})
    fields["has_secret"] = row.sealed_token is not None
    fields["has_client_secret"] = row.sealed_client_secret is not None
    fields["authorization"] = None if authorization is None else authorization.model_dump()
    return McpConnectionAnswer.model_validate(fields)


def _left_out(tools: Sequence[JsonValue]) -> list[McpToolLeftOut]:
    return [McpToolLeftOut.model_validate(tool) for tool in tools]


def _tool(connection_name: str, tool: McpTool) -> McpToolAnswer:
    schema = normal_schema(tool.input_schema)
    fault = schema if isinstance(schema, SchemaFault) else None
    return McpToolAnswer(
        name=tool.name,
        description=tool.description,
        input_schema=tool.input_schema,
        call_name=callable_name(connection_name, tool.name),
        read_only=tool.is_read_only,
        idempotent=tool.is_idempotent,
        default_policy=default_policy(tool),
        schema_fault=fault.en if fault else None,
        schema_fault_zh=fault.zh if fault else None,
    )


def _tools(connection: ConnectionWithTools, tools: tuple[McpTool, ...], *, is_stale: bool) -> McpToolListAnswer:
    items = [_tool(connection.row.name, tool) for tool in tools]
    left_out = _left_out(connection.row.left_out)
    return McpToolListAnswer(
        items=items, total=len(items), left_out=left_out, is_stale=is_stale, listed_at=connection.listed_at
    )


@router.get("", dependencies=[View], responses=error_responses(InvalidPagination))
async def list_mcp_connections(
    principal: CurrentPrincipal, session: Reading, page: Annotated[PageRequest, Depends(paging(*SORT_FIELDS))]
) -> Envelope[Items[McpConnectionAnswer]]:
    """One's own connections."""
    listing = await connections.list_page(session, principal.user_id, page)
    return page_of(await _answers(session, listing.items), page, total=listing.total)


@router.post(
    "",
    dependencies=[Create],
    responses=error_responses(UrlNotAllowed, McpNameTaken, McpConnectionsFull),
    description=f"Keep a connection; up to {MOST_CONNECTIONS}. Its server is looked at beside.",
)
async def create_mcp_connection(
    body: McpConnectionBody, principal: CurrentPrincipal, database: CurrentDatabase, agents: Agents
) -> Envelope[McpConnectionAnswer]:
    """Keep a connection."""
    form = ConnectionForm(**body.model_dump(exclude={"config"}), config=body.config.model_dump(exclude_none=True))
    row = await create(database, agents.mcp, principal.user_id, form)
    async with database.reading() as session:
        return Envelope(data=await answer_of(session, row))


@router.get("/{connection_id}", dependencies=[View], responses=error_responses(_ABSENT))
async def read_mcp_connection(
    connection_id: Text, principal: CurrentPrincipal, session: Reading
) -> Envelope[McpConnectionAnswer]:
    """One connection."""
    row = await connections.get(session, principal.user_id, connection_id)
    return Envelope(data=await answer_of(session, row))


@router.put("/{connection_id}", dependencies=[Create], responses=error_responses(_ABSENT, UrlNotAllowed, McpNameTaken))
async def change_mcp_connection(
    connection_id: Text,
    body: McpConnectionChangeBody,
    principal: CurrentPrincipal,
    database: CurrentDatabase,
    agents: Agents,
) -> Envelope[McpConnectionAnswer]:
    """Change a connection."""
    config = None if body.config is None else body.config.model_dump(exclude_none=True)
    form = ConnectionForm(**body.model_dump(exclude={"config"}), config=config)
    row = await update(database, agents.mcp, (principal.user_id, connection_id), form)
    async with database.reading() as session:
        return Envelope(data=await answer_of(session, row))


@router.delete("/{connection_id}", dependencies=[Create], responses=error_responses(_ABSENT))
async def delete_mcp_connection(
    connection_id: Text, principal: CurrentPrincipal, database: CurrentDatabase, agents: Agents
) -> Empty:
    """Delete a connection with its token."""
    async with unit_of_work(database) as work:
        await connections.delete(work, principal.user_id, connection_id)
    await agents.mcp.discard(connection_id)
    return Empty()


@router.post("/{connection_id}/test", dependencies=[View], responses=error_responses(_ABSENT))
async def test_mcp_connection(
    connection_id: Text, principal: CurrentPrincipal, database: CurrentDatabase, agents: Agents
) -> Envelope[McpTested]:
    """Connect anew and list the tools, whether the connection is enabled or not."""
    row = (await _usable_connection(database, agents, principal, connection_id)).row
    start = time.monotonic()
    contact = await agents.mcp.probe(row)
    latency = round((time.monotonic() - start) * _MILLISECONDS)
    failure = contact.failure
    left_out = _left_out(left_out_to_json(contact.listing.left_out))
    message, message_zh = _success(len(left_out)) if failure is None else _reason(failure)
    return Envelope(
        data=McpTested(
            success=failure is None,
            latency=latency,
            message=message,
            message_zh=message_zh,
            fault=None if failure is None else str(failure.details.get("fault", "too_large")),
            tool_count=len(contact.tools),
            left_out=left_out,
        )
    )


@router.get(
    "/{connection_id}/tools", dependencies=[View], responses=error_responses(_ABSENT, McpUnavailable, McpResultTooLarge)
)
async def list_mcp_tools(
    connection_id: Text, principal: CurrentPrincipal, database: CurrentDatabase, agents: Agents
) -> Envelope[McpToolListAnswer]:
    """The tools of a server: asked for now, or its last list where it gives none."""
    connection = await _usable_connection(database, agents, principal, connection_id)
    if not connection.row.enabled:
        return Envelope(data=_tools(connection, connection.tools, is_stale=True))
    contact = await agents.mcp.refresh(connection.row)
    if contact.failure is None:
        now = await _usable_connection(database, agents, principal, connection_id)
        return Envelope(data=_tools(now, contact.tools, is_stale=False))
    if connection.listed_at is None:
        raise contact.failure
    return Envelope(data=_tools(connection, connection.tools, is_stale=True))


@router.post(
    "/{connection_id}/tools/{tool_name:path}/call",
    dependencies=[Call],
    responses=error_responses(
        _ABSENT,
        PermissionDenied,
        ToolPolicyFixed,
        McpToolNotFound,
        McpSwitchedOff,
        McpUnavailable,
        McpResultTooLarge,
        McpRefused,
    ),
)
async def call_mcp_tool(
    connection_id: Text,
    tool_name: Text,
    body: McpCallBody,
    principal: CurrentPrincipal,
    database: CurrentDatabase,
    agents: Agents,
) -> Envelope[McpCalled]:
    """Call a tool once; a tool's own error is a result with `isError`."""
    connection = await _usable_connection(database, agents, principal, connection_id)
    tools = connection.tools
    if connection.listed_at is None and connection.row.enabled:
        contact = await agents.mcp.refresh(connection.row)
        if contact.failure is not None:
            raise contact.failure
        tools = contact.tools
    tool = next((tool for tool in tools if tool.name == tool_name), None)
    if tool is None:
        raise McpToolNotFound
    name = callable_name(connection.row.name, tool.name)
    if name in add_tool_policies(agents.tool_policies, [connection]).forbidden:
        raise ToolPolicyFixed(tool=name, policy="never")
    if fault := schema_fault(tool.input_schema, body.params):
        raise InvalidRequest("params", fault)
    start = time.monotonic()
    try:
        result = await agents.mcp.call(connection.row, McpCall(tool.name, body.params))
    except McpRefusal as refusal:
        raise McpRefused(reason=refusal.text) from refusal
    duration = round((time.monotonic() - start) * _MILLISECONDS)
    return Envelope(data=McpCalled(result=result.value, duration=duration))


async def _usable_connection(
    database: Database, agents: AgentServices, principal: Principal, connection_id: str
) -> ConnectionWithTools:
    async with database.reading() as session:
        (connection,) = await connections.list_with_tools(
            session, agents.mcp.tool_lists, principal.user_id, [connection_id]
        )
    connections.require_use(principal, connection_id)
    return connection


def _success(left_out: int) -> tuple[str, str]:
    if left_out == 0:
        return "Connection successful", "连接成功"
    verb = "tool is" if left_out == 1 else "tools are"
    return (
        f"Connection successful; {left_out} {verb} left out, see left_out",
        f"连接成功；有 {left_out} 个工具未采用，见 left_out",
    )


def _reason(failure: AgentexError) -> tuple[str, str]:
    reason, reason_zh = (failure.details.get(name) for name in ("reason", "reason_zh"))
    if reason_zh is None:
        return failure.message, failure.message_zh
    return f"The server can't be used: {reason}", f"无法使用该服务器：{reason_zh}"
