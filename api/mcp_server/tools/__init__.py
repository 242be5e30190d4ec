"""The tools for MCP clients, one module each."""

from collections.abc import Mapping
from typing import Any

from api.mcp_server.tool import ServedTool
from api.mcp_server.tools import ask, list_knowledge_bases, read_passage, search

TOOLS: Mapping[str, ServedTool[Any, Any]] = {
    tool.name: tool for tool in (list_knowledge_bases.TOOL, search.TOOL, read_passage.TOOL, ask.TOOL)
}
