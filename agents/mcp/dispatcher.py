"""Dispatcher of requests that reads lists and results part by part, before the library judges them as a whole."""

from collections.abc import Mapping
from typing import Any

from mcp.client._transport import ReadStream, WriteStream
from mcp.shared.dispatcher import CallOptions
from mcp.shared.jsonrpc_dispatcher import JSONRPCDispatcher
from mcp.shared.message import SessionMessage
from mcp.shared.transport_context import TransportContext
from mcp_types import PROTOCOL_VERSION_META_KEY, RequestId

from agents.mcp.config import McpLimits
from agents.mcp.entries import read_entries, read_result
from agents.mcp.errors import current_note
from agents.mcp.server_events import EventFilter, EventHandler
from core.json_access import as_list

# Of a longer list most is beyond the limit anyway, and each entry takes time on the event loop.
_ENTRIES_PER_TOOL = 5


class TolerantDispatcher(JSONRPCDispatcher[TransportContext]):
    """Leaves out what can't be read of an answer, and notes tools left out for the request; ``on_event`` takes events."""

    def __init__(
        self,
        read_stream: ReadStream[SessionMessage | Exception],
        write_stream: WriteStream[SessionMessage],
        limits: McpLimits,
        on_event: EventHandler | None = None,
    ) -> None:
        super().__init__(EventFilter(read_stream, on_event), write_stream)
        self._most_entries = limits.tools * _ENTRIES_PER_TOOL

    async def send_raw_request(
        self,
        method: str,
        params: Mapping[str, Any] | None,
        opts: CallOptions | None = None,
        *,
        _related_request_id: RequestId | None = None,
    ) -> dict[str, Any]:
        result = await super().send_raw_request(method, params, opts, _related_request_id=_related_request_id)
        if method == "tools/call":
            return read_result(result)
        if method == "tools/list" and isinstance(result.get("tools"), list):
            entries = as_list(result["tools"])
            # Of the versions that have arguments in headers, every request names its version.
            has_headers = PROTOCOL_VERSION_META_KEY in ((params or {}).get("_meta") or {})
            result["tools"], left_out = read_entries(entries[: self._most_entries], has_headers=has_headers)
            current_note().left_out += left_out
        return result
