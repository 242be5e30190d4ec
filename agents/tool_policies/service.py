"""Tool policies of people: read, set and reset."""

from collections.abc import Mapping
from dataclasses import dataclass

from pydantic import JsonValue, TypeAdapter
from sqlalchemy import delete
from sqlmodel import col, select
from sqlmodel.ext.asyncio.session import AsyncSession

from agents.mcp.agent_tools import is_policy_name
from agents.tool_policies.models import ChosenPolicy
from agents.tools import DEFAULT_POLICIES
from core.audit.log import AuditAction, AuditTarget, audit
from core.auth.locks import lock_owner
from core.db.types import utc_now
from core.db.unit_of_work import UnitOfWork
from core.errors.auth import ToolPolicyFixed
from core.errors.requests import InvalidRequest
from core.errors.server import UnusableSetting
from core.settings.tool_policies import ServerPolicies, ToolPolicy, is_freer

_POLICIES: TypeAdapter[ToolPolicy] = TypeAdapter(ToolPolicy)


@dataclass(frozen=True)
class PolicyView:
    """A tool's policies for its user; ``default`` is in force without a choice, and ``bound`` limits choices."""

    tool: str
    policy: ToolPolicy
    default: ToolPolicy
    own: ToolPolicy | None
    bound: ToolPolicy | None


def server_policies(bounds: Mapping[str, ToolPolicy]) -> ServerPolicies:
    """The policies of this server with the operator's bounds; ``UnusableSetting`` for an unknown tool."""
    unknown = sorted(name for name in bounds if name not in DEFAULT_POLICIES and not is_policy_name(name))
    if unknown:
        raise UnusableSetting(
            setting="AGENTEX_TOOL_POLICIES", error=f"there is no tool {unknown[0][:100]!r}; there are {_tool_names()}"
        )
    return ServerPolicies(DEFAULT_POLICIES, bounds)


async def list_policies(session: AsyncSession, owner_id: str, server: ServerPolicies) -> list[PolicyView]:
    """The policies of all tools for a person, by name."""
    own = await _own(session, owner_id)
    return [
        PolicyView(
            tool, server.in_force(tool, own.get(tool)), server.defaults[tool], own.get(tool), server.bounds.get(tool)
        )
        for tool in sorted(server.defaults)
    ]


async def effective_policies(session: AsyncSession, owner_id: str, server: ServerPolicies) -> dict[str, ToolPolicy]:
    """The policy of every tool for a person's new runs."""
    return {view.tool: view.policy for view in await list_policies(session, owner_id, server)}


async def set_policies(
    work: UnitOfWork, owner_id: str, server: ServerPolicies, choices: Mapping[str, ToolPolicy | None]
) -> None:
    """Set some of one's own policies; None removes a choice. ``ToolPolicyFixed`` if the operator is stricter."""
    for tool, policy in choices.items():
        if tool not in server.defaults:
            raise InvalidRequest(f"policies.{tool[:100]}", f"No such tool; there are {_tool_names()}")
        bound = server.bounds.get(tool)
        if policy is not None and bound is not None and is_freer(policy, bound):
            raise ToolPolicyFixed(tool=tool, policy=bound)
    if not choices:
        # An entry without tools says that all was forgotten.
        return
    await lock_owner(work.session, owner_id)
    _note(work, owner_id, dict(choices))
    for tool, policy in choices.items():
        row = await work.session.get(ChosenPolicy, (owner_id, tool))
        if policy is None:
            if row is not None:
                await work.session.delete(row)
            continue
        row = row or ChosenPolicy(owner_id=owner_id, tool=tool, policy=policy)
        row.policy, row.updated_at = policy, utc_now()
        work.session.add(row)
    await work.session.flush()


async def reset_policies(work: UnitOfWork, owner_id: str) -> None:
    """Remove all of one's own policies."""
    await work.session.exec(delete(ChosenPolicy).where(col(ChosenPolicy.owner_id) == owner_id))
    _note(work, owner_id, {})


def _note(work: UnitOfWork, owner_id: str, chosen: dict[str, JsonValue]) -> None:
    changed: list[JsonValue] = [{"tool": tool, "policy": policy} for tool, policy in chosen.items()]
    target = AuditTarget("user", owner_id)
    audit(work.session, AuditAction.TOOL_POLICIES_CHANGED, target, details={"policies": changed})


async def _own(session: AsyncSession, owner_id: str) -> dict[str, ToolPolicy]:
    query = select(ChosenPolicy.tool, ChosenPolicy.policy).where(ChosenPolicy.owner_id == owner_id)
    rows = (await session.exec(query)).all()
    return {tool: _POLICIES.validate_python(policy) for tool, policy in rows}


def _tool_names() -> str:
    return ", ".join(sorted(DEFAULT_POLICIES))
