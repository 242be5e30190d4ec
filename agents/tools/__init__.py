"""The registry of tools: every tool module, and the toolbox of a run."""

from agents.tools import (
    calendar_read,
    calendar_write,
    client_tools,
    current_time,
    people,
    read_document,
    recall_memory,
    save_memory,
    search_knowledge_base,
)
from agents.tools.base import Toolbox, ToolScope

TOOL_MODULES = (
    search_knowledge_base,
    read_document,
    current_time,
    calendar_read,
    calendar_write,
    recall_memory,
    save_memory,
    people,
    client_tools,
)


def toolbox(scope: ToolScope) -> Toolbox:
    """All tools that this run's scope has room for."""
    return Toolbox([tool for module in TOOL_MODULES for tool in module.tools(scope)])
