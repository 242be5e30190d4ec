"""The caller's approval policies for tools (decision 31)."""

from dataclasses import asdict

from pydantic import Field
from sqlmodel.ext.asyncio.session import AsyncSession

from agents.mcp.agent_tools import load_tool_policies
from agents.tool_policies import service as tool_policies
from api.container import AgentServices
from api.dependencies import Agents, CurrentPrincipal, Reading, Writing
from api.http.errors import error_responses
from api.http.responses import Empty, Envelope, RequestModel, ResponseModel, Text
from api.http.routing import Router
from core.auth.principal import Principal
from core.errors.auth import PermissionDenied, ToolPolicyFixed
from core.settings.tool_policies import ToolPolicy

router = Router(prefix="/api/v1/users/me/tool-policies", tags=["users"])
_MOST = 200


class ToolPolicyAnswer(ResponseModel):
    """What applies to a tool: ``policy``, from ``own`` within ``bound``, else from ``default``."""

    tool: str
    policy: ToolPolicy
    default: ToolPolicy
    own: ToolPolicy | None
    bound: ToolPolicy | None = Field(description="The administrator's: no freer choice counts")


class ToolPolicyList(ResponseModel):
    """All tools of the server, and those of one's own MCP connections."""

    items: list[ToolPolicyAnswer]
    total: int


class ToolPoliciesBody(RequestModel):
    """Policies by tool name; null forgets one's own, and tools that are left out stay."""

    policies: dict[Text, ToolPolicy | None] = Field(max_length=_MOST, examples=[{"calendar_write": "ask"}])


async def _list(session: AsyncSession, principal: Principal, agents: AgentServices) -> Envelope[ToolPolicyList]:
    policies = agents.tool_policies
    server = await load_tool_policies(session, agents.mcp, principal.user_id, policies)
    rows = await tool_policies.list_policies(session, principal.user_id, server)
    items = [ToolPolicyAnswer(**asdict(row)) for row in rows]
    return Envelope(data=ToolPolicyList(items=items, total=len(items)))


@router.get("")
async def list_my_tool_policies(
    principal: CurrentPrincipal, agents: Agents, session: Reading
) -> Envelope[ToolPolicyList]:
    """Every tool with what applies to one's own runs."""
    return await _list(session, principal, agents)


@router.put("", responses=error_responses(PermissionDenied, ToolPolicyFixed))
async def choose_my_tool_policies(
    body: ToolPoliciesBody, principal: CurrentPrincipal, agents: Agents, work: Writing
) -> Envelope[ToolPolicyList]:
    """Choose for some tools; runs that begin from now on keep to it."""
    principal.require_whole()
    policies = agents.tool_policies
    server = await load_tool_policies(work.session, agents.mcp, principal.user_id, policies)
    await tool_policies.set_policies(work, principal.user_id, server, body.policies)
    return await _list(work.session, principal, agents)


@router.delete("")
async def forget_my_tool_policies(principal: CurrentPrincipal, work: Writing) -> Empty:
    """Forget all of one's own choices."""
    principal.require_whole()
    await tool_policies.reset_policies(work, principal.user_id)
    return Empty()
