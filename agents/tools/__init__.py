"""The registry of tools: every tool module, and the toolbox of a run."""

from collections.abc import Collection, Mapping
from dataclasses import replace

from agents.llm.providers import CUSTOM, PROVIDERS
from agents.tools import (
    calendar_read,
    calendar_write,
    client_tools,
    complete_step,
    current_time,
    find_skills,
    human,
    load_skill,
    mcp,
    mcp_texts,
    read_document,
    read_skill_file,
    recall_memory,
    save_memory,
    search_knowledge_base,
)
from agents.tools.base import Toolbox, ToolScope
from core.auth.permissions import Permission
from core.settings.tool_policies import ToolPolicy

TOOL_MODULES = (
    search_knowledge_base,
    read_document,
    current_time,
    calendar_read,
    calendar_write,
    recall_memory,
    save_memory,
    human,
    load_skill,
    read_skill_file,
    find_skills,
    complete_step,
    mcp,
    mcp_texts,
    client_tools,
)

DEFAULT_POLICIES: Mapping[str, ToolPolicy] = {
    name: policy for module in TOOL_MODULES for name, policy in module.POLICIES.items()
}
"""What applies to each tool of the server where nobody says otherwise."""
PERMISSIONS: Mapping[str, Permission] = {
    name: permission for module in TOOL_MODULES for name, permission in module.PERMISSIONS.items()
}
"""What the account of a run needs for each tool of the server; one that is not here needs none."""


def withheld_tools(lacking: Collection[str]) -> frozenset[str]:
    """Server tools that need a permission in ``lacking``."""
    return frozenset(name for name, permission in PERMISSIONS.items() if permission in lacking)


def build_toolbox(scope: ToolScope) -> Toolbox:
    """All tools that this run's scope has room for."""
    rules = replace(scope.run.rules, policies={**DEFAULT_POLICIES, **scope.run.rules.policies})
    tools = [tool for module in TOOL_MODULES for tool in module.tools(scope)]
    protocol = PROVIDERS.get(scope.run.model.provider, CUSTOM).protocol
    return Toolbox(tools, rules, scope.run.skills, protocol)
