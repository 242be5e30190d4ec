"""The linter of a request, with the caller's tools and other skills."""

from typing import Annotated

from fastapi import Depends
from sqlmodel.ext.asyncio.session import AsyncSession

from agents.mcp.agent_tools import load_tool_policies
from api.dependencies import CurrentContext, CurrentPrincipal
from core.auth.permissions import Permission
from skills.store.linting import SkillLinter


async def _linter(context: CurrentContext, principal: CurrentPrincipal) -> SkillLinter:
    async def known_tools(session: AsyncSession) -> frozenset[str]:
        policies = context.agents.tool_policies
        if Permission.MCP_VIEW in principal.permissions:
            policies = await load_tool_policies(session, context.agents.mcp, principal.user_id, policies)
        return frozenset(policies.defaults)

    return SkillLinter(principal, known_tools)


CurrentLinter = Annotated[SkillLinter, Depends(_linter)]
