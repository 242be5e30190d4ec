"""Putting streamed tool calls together from what OpenAI-compatible endpoints really send."""

import json
from dataclasses import dataclass
from uuid import uuid4

from pydantic import JsonValue

from agents.json_shapes import as_object, as_text, parse
from agents.models.port import ModelToolCall


@dataclass(slots=True)
class _OpenCall:
    call_id: str
    upstream_id: str
    name: str
    pieces: list[str]

    def is_finished(self) -> bool:
        """Whether the arguments so far are a whole JSON value."""
        try:
            parse("".join(self.pieces))
        except ValueError:
            return False
        return True


class ToolCallAssembly:
    """Assigns each delta to its call, by index and id.

    A new id with a name, or any new call after a finished one, opens a call even at an index that
    is in use (Ollama and several gateways put every call at index 0); a delta without an index
    continues the last call; a missing or repeated id is replaced by a made-up one.
    """

    def __init__(self) -> None:
        self._by_index: dict[int, _OpenCall] = {}
        self._last: _OpenCall | None = None
        self._ids: set[str] = set()

    def add(self, delta: JsonValue) -> ModelToolCall:
        """Read one element of ``delta.tool_calls``."""
        fields = as_object(delta)
        function = as_object(fields.get("function"))
        name, upstream_id = as_text(function.get("name")), as_text(fields.get("id"))
        arguments = _arguments_text(function.get("arguments"))
        index = fields.get("index")
        call = self._by_index.get(index) if isinstance(index, int) else self._last
        opens = call is None or _is_new(call, upstream_id=upstream_id, name=name)
        if call is None or opens:
            call = self._open(upstream_id, name)
        if isinstance(index, int):
            self._by_index[index] = call
        self._last = call
        call.name = call.name or name
        if arguments:
            call.pieces.append(arguments)
        return ModelToolCall(call.call_id, call.name, arguments, opens)

    def _open(self, upstream_id: str, name: str) -> _OpenCall:
        usable = upstream_id and upstream_id not in self._ids
        call_id = upstream_id if usable else f"call_{uuid4().hex}"
        self._ids.add(call_id)
        return _OpenCall(call_id, upstream_id, name, [])


def _is_new(call: _OpenCall, *, upstream_id: str, name: str) -> bool:
    if upstream_id and upstream_id != call.upstream_id:
        return bool(name) or call.is_finished()
    if upstream_id or not name:
        return False
    return name != call.name or call.is_finished()


def _arguments_text(arguments: JsonValue) -> str:
    if arguments is None or isinstance(arguments, str):
        return arguments or ""
    return json.dumps(arguments, ensure_ascii=False)
