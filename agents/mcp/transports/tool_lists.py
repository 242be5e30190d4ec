"""Tool lists on their way to the MCP library, which refuses a whole list for one schema that it does not take."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import cast

from anyio.abc import ObjectReceiveStream
from mcp.client._transport import ReadStream, Transport, TransportStreams
from mcp.shared.message import SessionMessage
from mcp_types import JSONRPCResponse
from pydantic import JsonValue

from core.json_access import as_list, as_object

_ORIGINAL = "x-agentex-original"
_Item = SessionMessage | Exception


def original_schema(schema: dict[str, JsonValue]) -> dict[str, JsonValue]:
    """A tool's schema as its server gave it."""
    return as_object(schema[_ORIGINAL]) if _ORIGINAL in schema else schema


@asynccontextmanager
async def readable_tool_lists(transport: Transport) -> AsyncGenerator[TransportStreams]:
    """The transport's streams, with tool lists that the library reads whatever their schemas are."""
    async with transport as (read, write):
        yield _ReadableToolLists(read), write


class _ReadableToolLists(ObjectReceiveStream[_Item]):
    def __init__(self, inner: ReadStream[_Item]) -> None:
        self._inner = inner

    @property
    def last_context(self) -> object:
        return getattr(self._inner, "last_context", None)

    async def receive(self) -> _Item:
        item = await self._inner.receive()
        if isinstance(item, SessionMessage) and isinstance(item.message, JSONRPCResponse):
            result = cast(dict[str, JsonValue], item.message.result)
            if isinstance(result.get("tools"), list):
                result["tools"] = [_readable(tool) for tool in as_list(result["tools"]) if _has_name(tool)]
        return item

    async def aclose(self) -> None:
        await self._inner.aclose()


def _has_name(tool: JsonValue) -> bool:
    return isinstance(as_object(tool).get("name"), str)


def _readable(tool: JsonValue) -> JsonValue:
    fields = dict(as_object(tool))
    # Results are read as they come, so nothing is lost with it.
    fields.pop("outputSchema", None)
    schema = fields.get("inputSchema")
    if not _is_readable(schema):
        fields["inputSchema"] = {"type": "object", _ORIGINAL: schema}
    return fields


def _is_readable(schema: JsonValue) -> bool:
    """Whether the library takes a schema: an object on top, with properties and names of those required."""
    fields = as_object(schema)
    if fields.get("type") != "object" or not isinstance(fields.get("$schema", ""), str):
        return False
    properties, required = fields.get("properties") or {}, fields.get("required") or []
    has_properties = isinstance(properties, dict) and all(isinstance(rule, dict | bool) for rule in properties.values())
    return has_properties and isinstance(required, list) and all(isinstance(name, str) for name in required)
