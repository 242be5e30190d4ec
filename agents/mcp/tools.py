"""Records of MCP tools, and the names under which models call them."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

from pydantic import JsonValue

from agents.mcp.config import McpLimits
from agents.tool_names import LONGEST_NAME, marked_name, portable_name
from core.json_access import as_list, as_object, as_text

if TYPE_CHECKING:
    # The protocol is loaded with the first session: it takes half a second.
    import mcp_types

PREFIX = "mcp__"
_LONGEST_SERVER = 24
_LONGEST_TOOL = 256


@dataclass(frozen=True, slots=True)
class McpTool:
    """A tool as its server describes it; both flags are the server's own claims."""

    name: str
    description: str
    input_schema: dict[str, JsonValue]
    is_read_only: bool = False
    is_idempotent: bool = False


_FIELDS = tuple(field.name for field in fields(McpTool))


def usable_tools(tools: "Iterable[mcp_types.Tool]", limits: McpLimits) -> list[McpTool]:
    """A server's tools within the limits."""
    usable: dict[str, McpTool] = {}
    for tool in tools:
        is_known = tool.name in usable or not 0 < len(tool.name) <= _LONGEST_TOOL
        if is_known or len(json.dumps(tool.input_schema)) > limits.schema_characters:
            continue
        if len(usable) == limits.tools:
            break
        hints = tool.annotations
        reads = hints is not None and bool(hints.read_only_hint)
        usable[tool.name] = McpTool(
            tool.name,
            (tool.description or tool.title or "")[: limits.description_characters],
            tool.input_schema,
            is_read_only=reads,
            is_idempotent=reads or (hints is not None and bool(hints.idempotent_hint)),
        )
    return list(usable.values())


def to_json(tools: Sequence[McpTool]) -> list[JsonValue]:
    """The tools for a JSON column."""
    return [{name: getattr(tool, name) for name in _FIELDS} for tool in tools]


def from_text(stored: str) -> tuple[McpTool, ...]:
    """The tools of a JSON column's text, which was validated when stored."""
    return tuple(
        McpTool(
            name=as_text(tool.get("name")),
            description=as_text(tool.get("description")),
            input_schema=as_object(tool.get("input_schema")),
            is_read_only=tool.get("is_read_only") is True,
            is_idempotent=tool.get("is_idempotent") is True,
        )
        # A model of pydantic's takes ten times as long.
        for tool in map(as_object, as_list(json.loads(stored)))
    )


def callable_name(connection_name: str, tool_name: str) -> str:
    """The name under which a model calls a tool: ``mcp__<connection>__<tool>``.

    Deterministic and unique for both names, and at most 64 characters that all providers accept: changed or cut parts
    carry a digest.
    """
    server = portable_name(connection_name, _LONGEST_SERVER)
    if "__" in server or server.startswith("_") or server.endswith("_"):
        server = marked_name(server.strip("_").replace("__", "_"), connection_name, _LONGEST_SERVER)
    return PREFIX + server + "__" + portable_name(tool_name, LONGEST_NAME - len(PREFIX + server + "__"))
