"""Accumulator of tool call deltas, tolerant of what OpenAI-compatible endpoints really send."""

import json
import re
from dataclasses import dataclass, field
from uuid import uuid4

from pydantic import JsonValue

from agents.llm.base import ModelToolCall
from core.json_access import as_object, as_text, parse

_NO_ARGUMENTS = "{}"
_UNNAMED = "unnamed"
_MARKS = re.compile(r'["\\{}\[\]]')


class _Nesting:
    """Incremental JSON nesting: parsing the whole text at every piece takes quadratic time."""

    def __init__(self) -> None:
        self._depth = 0
        self._in_string = False
        self._length = 0
        # Position of the character that a backslash escapes.
        self._escaped = -1

    @property
    def is_open(self) -> bool:
        return self._in_string or self._depth > 0

    def feed(self, text: str) -> None:
        for match in _MARKS.finditer(text):
            mark, place = match.group(), self._length + match.start()
            if place == self._escaped:
                continue
            if self._in_string:
                self._in_string = mark != '"'
                self._escaped = place + 1 if mark == "\\" else -1
            elif mark == '"':
                self._in_string = True
            else:
                self._depth += (mark in "{[") - (mark in "}]")
        self._length += len(text)


@dataclass(slots=True)
class _OpenCall:
    """One call so far; ``is_announced``: its opening, which needs a name, was passed on.

    ``buffered`` are arguments not passed on yet: those before the name, and an empty object, which some gateways send
    first.
    """

    call_id: str
    upstream_id: str
    name: str
    pieces: list[str] = field(default_factory=list[str])
    buffered: str = ""
    is_announced: bool = False
    nesting: _Nesting = field(default_factory=_Nesting)

    @property
    def arguments(self) -> str:
        return "".join(self.pieces) + self.buffered

    def is_finished(self) -> bool:
        if self.nesting.is_open:
            return False
        try:
            parse(self.arguments)
        except ValueError:
            return False
        return True

    def is_over(self) -> bool:
        """Whether the arguments are complete; an empty object may precede real ones."""
        return self.arguments != _NO_ARGUMENTS and self.is_finished()

    def repeats(self, arguments: str) -> bool:
        """Whether these are the whole arguments again, as some endpoints end a call."""
        return arguments.startswith("{") and arguments == self.arguments and self.is_finished()

    def add(self, arguments: str) -> ModelToolCall | None:
        if arguments and not self.repeats(arguments):
            if self.buffered == _NO_ARGUMENTS:
                self.buffered, self.nesting = "", _Nesting()
            self.buffered += arguments
            self.nesting.feed(arguments)
        if not self.name:
            return None
        is_buffered = self.buffered == _NO_ARGUMENTS and not self.pieces
        return self._pass_on("" if is_buffered else self.buffered)

    def close(self) -> ModelToolCall | None:
        self.name = self.name or _UNNAMED
        return self._pass_on(self.buffered)

    def _pass_on(self, arguments: str) -> ModelToolCall | None:
        opens, self.is_announced = not self.is_announced, True
        if arguments:
            self.pieces.append(arguments)
            self.buffered = ""
        if not opens and not arguments:
            return None
        return ModelToolCall(self.call_id, self.name, arguments, opens)


class ToolCallAccumulator:
    """Assigns each delta to its call, by index and id.

    A new id with a name, or any new call after a finished one, opens a call even at an index in use (Ollama and several
    gateways put every call at index 0); a delta without an index continues the last call; a missing or repeated id is
    replaced by a made-up one.
    """

    def __init__(self) -> None:
        self._by_index: dict[int, _OpenCall] = {}
        self._last: _OpenCall | None = None
        self._calls: dict[str, _OpenCall] = {}

    def add(self, delta: JsonValue) -> ModelToolCall | None:
        fields = as_object(delta)
        function = as_object(fields.get("function"))
        name, upstream_id = as_text(function.get("name")), as_text(fields.get("id"))
        arguments = _arguments_text(function.get("arguments"))
        index = fields.get("index")
        call = self._by_index.get(index) if isinstance(index, int) else self._last
        if call is None or _is_new(call, upstream_id=upstream_id, name=name, arguments=arguments):
            call = self._open(upstream_id, name)
        if isinstance(index, int):
            self._by_index[index] = call
        self._last = call
        call.name = call.name or name
        call.upstream_id = call.upstream_id or upstream_id
        return call.add(arguments)

    def close(self) -> list[ModelToolCall]:
        closed = (call.close() for call in self._calls.values())
        return [event for event in closed if event is not None]

    def _open(self, upstream_id: str, name: str) -> _OpenCall:
        usable = upstream_id and upstream_id not in self._calls
        call_id = upstream_id if usable else f"call_{uuid4().hex}"
        self._calls[call_id] = _OpenCall(call_id, upstream_id, name)
        return self._calls[call_id]


def _is_new(call: _OpenCall, *, upstream_id: str, name: str, arguments: str) -> bool:
    if upstream_id and call.upstream_id and upstream_id != call.upstream_id:
        return bool(name) or call.is_finished()
    if not name or not call.name:
        return False
    if name != call.name:
        return True
    if upstream_id and upstream_id == call.upstream_id:
        return arguments.startswith("{") and call.is_over() and not call.repeats(arguments)
    return call.is_finished()


def _arguments_text(arguments: JsonValue) -> str:
    if arguments is None or isinstance(arguments, str):
        return arguments or ""
    return json.dumps(arguments, ensure_ascii=False)
