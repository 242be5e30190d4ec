"""Tools in the caller's frontend: offered to the model, never run here."""

from collections.abc import Mapping

from agents.tool_names import portable_name
from agents.tools.base import Tool, ToolScope
from core.auth.permissions import Permission
from core.settings.tool_policies import ToolPolicy

# The frontend decides whether to run a call.
POLICIES: Mapping[str, ToolPolicy] = {}
PERMISSIONS: Mapping[str, Permission] = {}


def tools(scope: ToolScope) -> list[Tool]:
    """The tools of the request."""
    return [
        Tool(
            name=portable_name(tool.name),
            own_name=tool.name if portable_name(tool.name) != tool.name else "",
            is_foreign=True,
            description=tool.description,
            parameters=tool.parameters or {"type": "object", "properties": {}},
            invoke=_never,
            side="client",
        )
        for tool in scope.run.tools
    ]


async def _never(arguments: str) -> str:
    raise NotImplementedError("made by the frontend")
