"""Records of MCP tools, and the names under which models call them."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from typing import TYPE_CHECKING

from pydantic import JsonValue

from agents.mcp.config import McpLimits
from agents.tool_names import LONGEST_NAME, LeftOutTool, marked_name, portable_name
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
MOST_LEFT_OUT = 50
"""How many left-out tools of one server are named."""


@dataclass(frozen=True, slots=True)
class ToolListing:
    """A server's tools, those that are left out, each with its reason, and what the server has besides tools."""

    tools: tuple[McpTool, ...] = ()
    left_out: tuple[LeftOutTool, ...] = ()
    features: tuple[str, ...] = ()

    def cut(self, count: int, reason: str, reason_zh: str) -> "ToolListing":
        """The listing with its first ``count`` tools, the others left out for this reason."""
        beyond = (LeftOutTool(tool.name, reason, reason_zh) for tool in self.tools[count:])
        return replace(self, tools=self.tools[:count], left_out=(*self.left_out, *beyond))


def usable_tools(
    tools: "Iterable[mcp_types.Tool]", limits: McpLimits, unreadable: Iterable[LeftOutTool] = ()
) -> ToolListing:
    """A server's tools within the limits; those beyond them follow the ``unreadable`` ones."""
    usable: dict[str, McpTool] = {}
    left_out = list(unreadable)
    for tool in tools:
        if reason := _left_out_reason(tool, usable, limits):
            left_out.append(LeftOutTool(tool.name, *reason))
            continue
        hints = tool.annotations
        reads = hints is not None and bool(hints.read_only_hint)
        usable[tool.name] = McpTool(
            tool.name,
            (tool.description or tool.title or "")[: limits.description_characters],
            tool.input_schema,
            is_read_only=reads,
            is_idempotent=reads or (hints is not None and bool(hints.idempotent_hint)),
        )
    return ToolListing(tuple(usable.values()), tuple(left_out))


def _left_out_reason(
    tool: "mcp_types.Tool", usable: Mapping[str, McpTool], limits: McpLimits
) -> tuple[str, str] | None:
    if not 0 < len(tool.name) <= _LONGEST_TOOL:
        return f"its name is empty or longer than {_LONGEST_TOOL} characters", f"名称为空或超过 {_LONGEST_TOOL} 个字符"
    if tool.name in usable:
        return "another tool has its name", "与另一个工具同名"
    most = limits.schema_characters
    if len(json.dumps(tool.input_schema)) > most:
        return f"its input schema is longer than {most} characters", f"输入模式超过 {most} 个字符"
    if len(usable) == limits.tools:
        return f"only the first {limits.tools} tools of a server are used", f"每个服务器只使用前 {limits.tools} 个工具"
    return None


def left_out_to_json(left_out: Sequence[LeftOutTool]) -> list[JsonValue]:
    """The first of these for a JSON column, with names of a bounded length."""
    return [{**asdict(tool), "name": tool.name[:_LONGEST_TOOL]} for tool in left_out[:MOST_LEFT_OUT]]


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
