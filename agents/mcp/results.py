"""What a tool call on an MCP server gave, for programs and as text for a model."""

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pydantic import JsonValue

if TYPE_CHECKING:
    import mcp_types

_ERROR = "The tool reported an error: "


@dataclass(frozen=True, slots=True)
class McpResult:
    """The result of a call.

    Attributes:
        value: the result as the protocol has it: ``content``, ``structuredContent``, ``isError``.
        text: the same for a model; pictures and sounds are named, not shown.
    """

    value: dict[str, JsonValue]
    text: str


def read_result(result: "mcp_types.CallToolResult") -> McpResult:
    """Make a result of the protocol ours."""
    value: dict[str, JsonValue] = result.model_dump(
        mode="json", by_alias=True, exclude_none=True, include=_FIELDS
    )
    parts = [part for part in map(_text_of, result.content) if part]
    if not parts and result.structured_content is not None:
        parts = [json.dumps(result.structured_content, ensure_ascii=False)]
    text = "\n".join(parts)
    return McpResult(
        value, f"{_ERROR}{text or 'it did not say which'}" if result.is_error else text
    )


_FIELDS = {"content", "structured_content", "is_error"}


def _text_of(block: "mcp_types.ContentBlock") -> str:
    if block.type == "text":
        return block.text
    if block.type == "resource":
        inner = block.resource
        text: str | None = getattr(inner, "text", None)
        return text or f"(a file of type {inner.mime_type or 'unknown'}, not shown)"
    if block.type == "resource_link":
        return f"({block.name}: {block.uri})"
    return f"({block.type} of type {block.mime_type}, not shown)"
