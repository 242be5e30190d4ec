"""Tools of the MCP servers that the run's owner is connected to."""

from collections.abc import Awaitable, Callable, Mapping

from agents.mcp.agent_tools import RemoteTool
from agents.tools.base import Tool, ToolScope, argument_error
from agents.tools.json_schema import schema_fault
from core.auth.permissions import Permission
from core.errors.requests import InvalidRequest
from core.json_access import as_object, parse
from core.settings.tool_policies import ToolPolicy

# Policies come with the connections of each person.
POLICIES: Mapping[str, ToolPolicy] = {}
PERMISSIONS: Mapping[str, Permission] = {}


def tools(scope: ToolScope) -> list[Tool]:
    """The tools of the run's connections."""
    return [
        Tool(
            name=remote.name,
            description=remote.description,
            parameters=remote.parameters,
            is_foreign=True,
            invoke=_checked(remote),
            timeout_seconds=remote.timeout_seconds,
            approval=remote.policy,
            idempotent=remote.is_idempotent,
        )
        for remote in scope.run.remote_tools
    ]


def _checked(remote: RemoteTool) -> Callable[[str], Awaitable[str]]:
    """A call that checks its JSON text against the server's schema before sending."""

    async def invoke(text: str) -> str:
        try:
            value = parse(text or "{}")
        except ValueError:
            fault = "not JSON"
        else:
            fault = schema_fault(remote.parameters, value)
            if not fault:
                return await remote.invoke(as_object(value))
        raise argument_error(remote.name, InvalidRequest("arguments", fault))

    return invoke
