"""Entries of tool lists and blocks of results, each read by itself.

The library refuses a whole answer for one part that it can't read. What Agentex does not use of a part is not looked
at, so that it can make none unreadable.
"""

import json
from collections.abc import Sequence

from mcp.shared.inbound import find_invalid_x_mcp_header
from mcp_types.methods import parse_server_result
from mcp_types.version import LATEST_HANDSHAKE_VERSION
from pydantic import JsonValue, ValidationError

from agents.tool_names import LeftOutTool
from core.json_access import as_object, as_text

_TOOL_FIELDS = ("name", "title", "description", "inputSchema", "annotations")
_BLOCK_FIELDS = {
    "text": ("type", "text"),
    "image": ("type", "data", "mimeType"),
    "audio": ("type", "data", "mimeType"),
    "resource": ("type", "resource"),
    "resource_link": ("type", "uri", "name", "title", "description", "mimeType"),
}
_LONGEST_TYPE = 40
_LONGEST_FIELD = 100


def read_entries(
    entries: Sequence[JsonValue], *, has_headers: bool = False
) -> tuple[list[JsonValue], list[LeftOutTool]]:
    """The entries of a tool list that are tools, reduced to what is used of them, and those that are none.

    Where arguments go into headers (``has_headers``), the library drops tools whose annotations for that are wrong.
    """
    tools: list[JsonValue] = []
    left_out: list[LeftOutTool] = []
    for number, entry in enumerate(entries, start=1):
        name = as_text(as_object(entry).get("name")) or f"#{number}"
        if not isinstance(entry, dict):
            left_out.append(LeftOutTool(name, "it is not an object", "它不是对象"))
            continue
        tool = {field: entry[field] for field in _TOOL_FIELDS if field in entry}
        if isinstance(schema := tool.get("inputSchema"), dict):
            tool["inputSchema"] = _without_nulls(schema)
        try:
            # The strictest of the protocol's versions: what it takes, all take.
            parse_server_result("tools/list", LATEST_HANDSHAKE_VERSION, {"tools": [tool]})
        except ValidationError as error:
            left_out.append(_unreadable(name, error))
            continue
        if has_headers and find_invalid_x_mcp_header(entry["inputSchema"]) is not None:
            left_out.append(LeftOutTool(name, "its x-mcp-header annotations are not valid", "x-mcp-header 注解无效"))
            continue
        tools.append(tool)
    return tools, left_out


def _without_nulls(schema: dict[str, JsonValue]) -> dict[str, JsonValue]:
    """A tool's schema without rules that are null; where nothing is left the tool takes no arguments."""
    rules: dict[str, JsonValue] = {keyword: rule for keyword, rule in schema.items() if rule is not None}
    return {"type": "object"} if schema and not rules else rules


def _unreadable(name: str, error: ValidationError) -> LeftOutTool:
    fault = error.errors(include_url=False, include_input=False, include_context=False)[0]
    # Without "tools" and the number.
    field = ".".join(map(str, fault["loc"][2:]))[:_LONGEST_FIELD]
    if fault["type"] == "missing":
        return LeftOutTool(name, f"its field {field} is missing", f"缺少字段 {field}")
    return LeftOutTool(name, f"its field {field} is not valid", f"字段 {field} 无效")


def read_result(result: dict[str, JsonValue]) -> dict[str, JsonValue]:
    """A call's result as the protocol has it, with what can't be read named in its place."""
    if result.get("resultType") not in (None, "complete"):
        return result
    content = result.get("content")
    blocks = content if isinstance(content, list) else [] if content is None else [content]
    readable = [_read_block(block) for block in blocks]
    fields = {name: value for name, value in result.items() if value is not None}
    structured = fields.get("structuredContent")
    # Only the newest version of the protocol, which has a type of result, knows other values than objects.
    if structured is not None and not isinstance(structured, dict) and "resultType" not in fields:
        readable.append(_text(json.dumps(structured, ensure_ascii=False)))
        del fields["structuredContent"]
    return {**fields, "content": readable}


def _read_block(block: JsonValue) -> JsonValue:
    if isinstance(block, str):
        return _text(block)
    fields = as_object(block)
    kind = as_text(fields.get("type"))
    used: JsonValue = {name: fields[name] for name in _BLOCK_FIELDS.get(kind, ()) if name in fields}
    for candidate in (block, used):
        if _is_block(candidate):
            return candidate
    return _text(f"(content of type {kind[:_LONGEST_TYPE] or 'unknown'}, which Agentex can't read)")


def _is_block(value: JsonValue) -> bool:
    try:
        parse_server_result("tools/call", LATEST_HANDSHAKE_VERSION, {"content": [value]})
    except ValidationError:
        return False
    return True


def _text(text: str) -> JsonValue:
    return {"type": "text", "text": text}
