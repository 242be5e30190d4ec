"""Results of tool calls, as in the protocol and as text for models."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pydantic import JsonValue

from core.json_access import parse

if TYPE_CHECKING:
    import mcp_types

_ERROR = "The tool reported an error: "
_FIELDS = {"content", "structured_content", "is_error"}


@dataclass(frozen=True, slots=True)
class McpResult:
    """Result of a call as in the protocol, and as text for a model, which only names images and sounds."""

    value: dict[str, JsonValue]
    text: str


def read_call_result(result: "mcp_types.CallToolResult") -> McpResult:
    """Convert a result of the protocol; the text has the structured value too, unless a block repeats it."""
    value: dict[str, JsonValue] = result.model_dump(mode="json", by_alias=True, exclude_none=True, include=_FIELDS)
    parts = [part for part in map(_text_of, result.content) if part]
    structured = result.structured_content
    if structured is not None and not _is_repeated(structured, parts):
        parts.append(json.dumps(structured, ensure_ascii=False))
    text = "\n".join(parts)
    return McpResult(value, f"{_ERROR}{text or 'it did not say which'}" if result.is_error else text)


def _is_repeated(structured: JsonValue, parts: Sequence[str]) -> bool:
    """Whether the blocks say what the structured value says, as the protocol advises.

    Many servers put what is no object under ``result``, and give each item of an array a block.
    """
    spoken: list[JsonValue] = [*parts, list(parts)]
    values = [_parsed(part) for part in parts]
    spoken += [*values, values]
    if isinstance(structured, dict) and set(structured) == {"result"} and structured["result"] in spoken:
        return True
    return structured in spoken


def _parsed(text: str) -> JsonValue:
    try:
        return parse(text)
    except ValueError:
        return text


def _text_of(block: "mcp_types.ContentBlock") -> str:
    if block.type == "text":
        return block.text
    if block.type == "resource":
        inner = block.resource
        text: str | None = getattr(inner, "text", None)
        return text or f"(a file of type {inner.mime_type or 'unknown'}, not shown)"
    if block.type == "resource_link":
        return _link_text(block)
    return f"({block.type} of type {block.mime_type}, not shown)"


def _link_text(link: "mcp_types.ResourceLink") -> str:
    title = f"{link.title} ({link.name})" if link.title and link.title != link.name else link.name
    kind = f", of type {link.mime_type}" if link.mime_type else ""
    description = f"; {link.description}" if link.description else ""
    return f"(link to {title}: {link.uri}{kind}{description})"
