"""Assembly of the tool calls of a chat-completions stream, whose ids, indexes, names and arguments may disagree."""

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from uuid import uuid4

from pydantic import JsonValue

from agents.llm.base import ModelToolCall, ToolSpec
from agents.llm.delta_text import whole_escapes
from agents.llm.json_nesting import JsonNesting
from agents.llm.tool_arguments import NO_ARGUMENTS
from core.json_access import as_object, as_text, parse

_UNNAMED = "unnamed"
_NUMBER = re.compile(r":\d+$")
_SEPARATOR = re.compile(r"[.:/]+")


class OfferedNames:
    """The names of the tools that a turn offers, recognized under what endpoints put around them.

    A tool is also recognized by the name that its owner gave it, which its description or a conversation may mention.
    """

    def __init__(self, tools: Iterable[ToolSpec] = ()) -> None:
        self._names = {name: tool.name for tool in tools for name in (tool.own_name, tool.name) if name}

    def resolve(self, raw: str) -> str:
        """The offered tool that a name stands for; empty if there is none."""
        return self._names.get(self._find(raw), "")

    def clean(self, raw: str) -> str:
        """The offered tool, else the name without control tokens."""
        return self.resolve(raw) or next(_without_additions(raw))

    def is_final(self, raw: str) -> bool:
        """Whether a name is an offered tool's and not the beginning of another's."""
        offered = self._find(raw)
        return bool(offered) and not any(name != offered and name.startswith(offered) for name in self._names)

    def join(self, raw: str, piece: str, *, may_grow: bool) -> str | None:
        """The name with one more piece; None if the piece is the name of another call."""
        tool, other = self.resolve(raw), self.resolve(piece)
        if piece == raw or (tool and tool == other):
            return raw
        if tool and other:
            return piece if may_grow and piece.startswith(raw) else None
        if "<" in raw or piece.startswith("<"):
            return raw + piece
        if not may_grow:
            return None
        if piece.startswith(raw) and self._may_become_offered(piece) and not self._begins_offered(raw + piece):
            return piece
        if self._may_become_offered(raw + piece):
            return raw + piece
        if tool:
            return None
        if piece.startswith(raw):
            return piece
        return None if other else raw + piece

    def _find(self, raw: str) -> str:
        """The name in a raw one that is a tool's; empty if there is none."""
        return next((name for name in _without_additions(raw) if name in self._names), "")

    def _may_become_offered(self, raw: str) -> bool:
        return any(map(self._begins_offered, _without_additions(raw)))

    def _begins_offered(self, begun: str) -> bool:
        return any(name.startswith(begun) for name in self._names)


def _without_additions(raw: str) -> Iterator[str]:
    """A name without control tokens, then without its number, then without each namespace."""
    plain = raw.partition("<")[0].strip(" \"'`") or raw
    yield plain
    name = _NUMBER.sub("", plain)
    yield name
    while match := _SEPARATOR.search(name):
        name = name[match.end() :]
        yield name


@dataclass(frozen=True, slots=True)
class _Delta:
    index: int | None
    upstream_id: str
    name: str
    arguments: str

    @property
    def is_empty(self) -> bool:
        return not (self.upstream_id or self.name or self.arguments)

    @property
    def is_tail(self) -> bool:
        """Whether its arguments can't begin an object."""
        return bool(self.arguments.strip()) and not self.begins_object

    @property
    def begins_object(self) -> bool:
        return self.arguments.lstrip().startswith("{")


def _read_delta(delta: JsonValue) -> _Delta:
    fields = as_object(delta)
    # Some gateways leave the level of ``function`` out.
    function = as_object(fields.get("function")) or fields
    index = fields.get("index")
    return _Delta(
        index if isinstance(index, int) else None,
        as_text(fields.get("id")),
        as_text(function.get("name")),
        _arguments_text(function.get("arguments")),
    )


def _arguments_text(arguments: JsonValue) -> str:
    if arguments is None or isinstance(arguments, str):
        return arguments or ""
    return json.dumps(arguments, ensure_ascii=False)


@dataclass(slots=True)
class _OpenCall:
    """One call so far; ``is_announced``: its opening, which needs a whole name, was passed on.

    ``buffered`` are arguments not passed on yet: those before the name, and an empty object, which some gateways send
    first. ``is_tentative``: its header only repeated that of a finished call, so that without arguments it is none.
    """

    call_id: str
    upstream_id: str
    name: str
    offered: OfferedNames
    is_tentative: bool = False
    pieces: list[str] = field(default_factory=list[str])
    buffered: str = ""
    is_announced: bool = False
    tool: str = ""
    nesting: JsonNesting = field(default_factory=JsonNesting)

    @property
    def arguments(self) -> str:
        return "".join(self.pieces) + self.buffered

    @property
    def is_begun(self) -> bool:
        """Whether real arguments came; an empty object may precede them."""
        return bool(self.pieces) or self.buffered not in ("", NO_ARGUMENTS)

    def is_finished(self) -> bool:
        if self.nesting.is_open:
            return False
        try:
            parse(whole_escapes(self.arguments))
        except ValueError:
            return False
        return True

    def is_over(self) -> bool:
        """Whether the arguments are complete; an empty object may precede real ones."""
        return self.is_begun and self.is_finished()

    def repeats(self, arguments: str) -> bool:
        """Whether these are the whole arguments again, as some endpoints end a call."""
        may_be = arguments.startswith("{") and not self.nesting.is_open
        return may_be and arguments == self.arguments and self.is_finished()

    def is_continued_by(self, delta: _Delta) -> bool:
        """Whether the delta can be nothing but more of these arguments."""
        is_blank = bool(delta.arguments) and not delta.arguments.strip()
        is_part = delta.is_tail or (is_blank and not delta.name)
        return is_part and self.nesting.is_open and delta.name in ("", self.name)

    def joined_name(self, piece: str) -> str | None:
        if not piece or not self.name:
            return self.name or piece
        return self.offered.join(self.name, piece, may_grow=not self.is_announced and not self.is_begun)

    def add(self, arguments: str) -> list[ModelToolCall]:
        if arguments and not self.repeats(arguments):
            if self.buffered == NO_ARGUMENTS:
                self.buffered, self.nesting = "", JsonNesting()
            self.buffered += arguments
            self.nesting.feed(arguments)
        if not self.is_announced and not self._has_whole_name():
            return []
        return self._pass_on()

    def settle(self) -> list[ModelToolCall]:
        """The opening of a call whose name gets no more pieces, because another call begins."""
        return self._pass_on() if self.name and not self.is_tentative else []

    def close(self) -> list[ModelToolCall]:
        has_arguments = bool(self.pieces or self.buffered)
        if not has_arguments and (self.is_tentative or not self.name):
            return []
        self.name = self.name or _UNNAMED
        return self._pass_on(is_last=True)

    def _has_whole_name(self) -> bool:
        if self.is_begun:
            return bool(self.name)
        return not self.is_tentative and self.offered.is_final(self.name)

    def _pass_on(self, *, is_last: bool = False) -> list[ModelToolCall]:
        waits = self.buffered == NO_ARGUMENTS and not self.pieces and not is_last
        arguments = "" if waits else self.buffered
        opens, self.is_announced = not self.is_announced, True
        if opens:
            self.tool = self.offered.clean(self.name)
        if arguments:
            self.pieces.append(arguments)
            self.buffered = ""
        return [ModelToolCall(self.call_id, self.tool, arguments, opens)] if opens or arguments else []


class ToolCallAccumulator:
    """Assigns each delta to its call, by id, index, name and arguments.

    A new id with a name, or any new call after a finished one, opens a call even at an index in use (Ollama and several
    gateways put every call at index 0). What can't begin a call continues the one that is not finished: a delta without
    id and name, or arguments that begin no object. A missing or repeated id is replaced by a made-up one.
    """

    def __init__(self, tools: Iterable[ToolSpec] = ()) -> None:
        self._offered = OfferedNames(tools)
        self._by_index: dict[int, _OpenCall] = {}
        self._by_id: dict[str, _OpenCall] = {}
        self._last: _OpenCall | None = None
        self._calls: dict[str, _OpenCall] = {}

    def add(self, raw: JsonValue) -> list[ModelToolCall]:
        delta = _read_delta(raw)
        if delta.is_empty:
            return []
        events: list[ModelToolCall] = []
        previous = self._candidate(delta)
        if previous is None or self._is_new(previous, delta):
            events += self._last.settle() if self._last else []
            call = self._open(delta, previous)
        else:
            call = previous
            call.name = call.joined_name(delta.name) or call.name
        self._remember(call, delta)
        return events + call.add(delta.arguments)

    def close(self) -> list[ModelToolCall]:
        return [event for call in self._calls.values() for event in call.close()]

    def _remember(self, call: _OpenCall, delta: _Delta) -> None:
        call.upstream_id = call.upstream_id or delta.upstream_id
        if delta.upstream_id:
            self._by_id[delta.upstream_id] = call
        if delta.index is not None:
            self._by_index[delta.index] = call
        self._last = call

    def _candidate(self, delta: _Delta) -> _OpenCall | None:
        """The call that the delta would continue; None if it can only begin one."""
        bound = self._last if delta.index is None else self._by_index.get(delta.index)
        same = self._by_id.get(delta.upstream_id)
        is_header = bool(delta.name) and not delta.is_tail
        if same is not None and (bound is not None or not is_header):
            return same
        if bound is not None:
            return bound
        return self._last if self._last and self._is_torn(self._last, delta) else None

    def _is_torn(self, last: _OpenCall, delta: _Delta) -> bool:
        """Whether a delta at a new index belongs to the last call nevertheless."""
        if last.is_continued_by(delta) or last.repeats(delta.arguments):
            return True
        if delta.upstream_id not in ("", last.upstream_id):
            return bool(delta.arguments) and not delta.name and not last.is_begun
        if delta.name:
            joined = last.joined_name(delta.name)
            are_tools = self._offered.resolve(last.name) and self._offered.resolve(delta.name)
            return not (last.is_begun or are_tools) and bool(last.name) and joined not in (None, last.name)
        return not last.is_over()

    def _is_new(self, call: _OpenCall, delta: _Delta) -> bool:
        if call.is_continued_by(delta):
            return False
        other_id = bool(delta.upstream_id and call.upstream_id) and self._by_id.get(delta.upstream_id) is not call
        if other_id:
            return bool(delta.name) or (call.is_finished() and not call.repeats(delta.arguments))
        if not delta.name or not call.name:
            return False
        if call.joined_name(delta.name) != call.name:
            return call.joined_name(delta.name) is None
        if _repeats_header(call, delta):
            return True
        if delta.upstream_id and call.upstream_id:
            return delta.begins_object and call.is_over() and not call.repeats(delta.arguments)
        return call.is_finished() and not call.repeats(delta.arguments)

    def _open(self, delta: _Delta, previous: _OpenCall | None) -> _OpenCall:
        usable = delta.upstream_id and delta.upstream_id not in self._calls
        call_id = delta.upstream_id if usable else f"call_{uuid4().hex}"
        is_tentative = previous is not None and _repeats_header(previous, delta)
        call = _OpenCall(call_id, delta.upstream_id, delta.name, self._offered, is_tentative)
        self._calls[call_id] = call
        return call


def _repeats_header(call: _OpenCall, delta: _Delta) -> bool:
    """Whether a finished call's header comes again: in front of another call, or as the end of this one."""
    has_other_id = bool(delta.upstream_id and call.upstream_id) and delta.upstream_id != call.upstream_id
    return not has_other_id and not delta.arguments and delta.name == call.name and call.is_over()
