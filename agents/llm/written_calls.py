"""Calls that models with native tools write into their text nevertheless, in the syntax that they were trained on.

Recognized are one JSON object with the name and the arguments of an offered tool, bare or in a fence, where nothing
follows it, and ``<tool_call>`` or ``<function=NAME>`` outside of code. All else is text.
"""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal
from uuid import uuid4

from pydantic import JsonValue

from agents.llm.base import ModelText, ModelToolCall, ToolSpec
from agents.llm.delta_text import whole_escapes
from agents.llm.json_nesting import JsonNesting
from agents.llm.think_tags import partial_mark_length
from agents.llm.tool_arguments import canonical_arguments
from agents.llm.tool_call_accumulator import OfferedNames
from core.json_access import as_list, as_object, as_text, parse

_TAGS = ("<tool_call>", "<function=")
_START = re.compile(r"(?P<tag><tool_call>|<function=)|(?:\A|(?<=\n))[ \t]*(?P<fence>```[\w-]*[ \t]*\n\s*)?[\[{]")
_FENCE_MARK = "```"
_FENCE = re.compile(r"`{1,2}|```[\w-]*")
_ARGUMENTS = ("arguments", "parameters")
_FIELDS = frozenset({"name", "type", "id", "function", *_ARGUMENTS})
_FIRST_KEY = re.compile(r'\[?\s*\{\s*"([^"\\]*)"')
_BEFORE_KEY = re.compile(r'\[?\s*(?:\{\s*(?:"[^"\\]{0,40})?)?')
_TEXT_VALUE = re.compile(r'\s*:\s*"([^"\\]*)"')
_BEFORE_VALUE = re.compile(r'\s*(?::\s*(?:"[^"\\]{0,160})?)?')
_ANY_NAME = re.compile(r'"name"\s*:\s*"([^"\\]+)"')
_ANY_ARGUMENTS = re.compile(r'"(?:arguments|parameters)"\s*:\s*')
_FUNCTION = re.compile(r"<function=\s*[\"']?([^>\"'\s]+)[\"']?\s*>")
_PARAMETER = re.compile(
    r"<parameter=\s*[\"']?([^>\"'\s]+)[\"']?\s*>\n?(.*?)\n?(?:</parameter>|(?=<parameter=)|\Z)", re.DOTALL
)
_END = re.compile("</function>|</tool_call>")
_LONGEST_END = len("</tool_call>")
# What may stand around calls.
_BETWEEN = " \t\r\n`,;"
_HEAD_LENGTH = 400
_BLOCK_LENGTH = 512

Verdict = Literal["open", "call", "text"]


@dataclass(frozen=True, slots=True)
class _WrittenCall:
    name: str
    arguments: str

    @property
    def event(self) -> ModelToolCall:
        return ModelToolCall(f"call_{uuid4().hex}", self.name, self.arguments, opens=True)


@dataclass(slots=True)
class _JsonCandidate:
    """A JSON value that may be a call; ``opening`` is what stands in front of it, such as a fence.

    ``length`` is that of the call, or of what is certainly text.
    """

    tools: OfferedNames
    opening: str
    length: int = 0
    calls: list[_WrittenCall] = field(default_factory=list[_WrittenCall])
    _pieces: list[str] = field(default_factory=list[str])
    _head: str = ""
    _is_plausible: bool = False
    _nesting: JsonNesting = field(default_factory=JsonNesting)

    @property
    def raw(self) -> str:
        return self.opening + "".join(self._pieces)

    def feed(self, text: str) -> Verdict:
        self._pieces.append(text)
        self._nesting.feed(text)
        self.length = len(self.opening) + max(1, self._nesting.end)
        if not self._is_plausible:
            self._head = (self._head + text)[:_HEAD_LENGTH]
            verdict = self._judge_head()
            if verdict == "text":
                # Only its bracket: there may be calls behind it.
                self.length = len(self.opening) + 1
            if verdict != "call":
                return verdict
            self._is_plausible = True
        if self._nesting.end < 0:
            return "open"
        try:
            value = parse(whole_escapes("".join(self._pieces)[: self._nesting.end]))
        except ValueError:
            return "text"
        self.calls = _calls_of(value, self.tools)
        return "call" if self.calls else "text"

    def close(self) -> bool:
        """Whether what there is of it names an offered tool: a call that was cut or is broken."""
        name = _ANY_NAME.search(self._head)
        if not self._is_plausible or name is None or not self.tools.resolve(name[1]):
            return False
        self.calls = [_broken_call("".join(self._pieces), self.tools.resolve(name[1]))]
        return True

    def _judge_head(self) -> Verdict:
        key = _FIRST_KEY.match(self._head)
        if key is None:
            return "open" if _BEFORE_KEY.fullmatch(self._head) else "text"
        if key[1] not in ("name", "type"):
            return "call" if key[1] in ("function", *_ARGUMENTS) else "text"
        value = _TEXT_VALUE.match(self._head, key.end())
        if value is None:
            return "open" if _BEFORE_VALUE.fullmatch(self._head, key.end()) else "text"
        is_call = self.tools.resolve(value[1]) if key[1] == "name" else value[1] == "function"
        return "call" if is_call else "text"


@dataclass(slots=True)
class _TagCandidate:
    """A call between tags: JSON, or ``<function=NAME>`` with its parameters.

    ``length`` is that of the call, or of what is certainly text.
    """

    tools: OfferedNames
    schemas: dict[str, dict[str, JsonValue]]
    length: int = 0
    calls: list[_WrittenCall] = field(default_factory=list[_WrittenCall])
    _pieces: list[str] = field(default_factory=list[str])
    _size: int = 0
    # Where the JSON or the function begins; -1 until that is known.
    _start: int = -1
    _nesting: JsonNesting | None = None
    _is_plausible: bool = False
    _tail: str = ""

    @property
    def raw(self) -> str:
        return "".join(self._pieces)

    @property
    def body(self) -> str:
        return self.raw[self._start :]

    def feed(self, text: str) -> Verdict:
        self._pieces.append(text)
        self._size += len(text)
        if self._start >= 0:
            return self._read(text)
        body = self.raw.removeprefix(_TAGS[0]).lstrip()
        if not body.startswith(("{", _TAGS[1])):
            self.length = len(_TAGS[0])
            return "open" if _TAGS[1].startswith(body) and self._size <= _HEAD_LENGTH else "text"
        self._start = self._size - len(body)
        self._nesting = JsonNesting() if body.startswith("{") else None
        return self._read(body)

    def close(self) -> bool:
        if self._start < 0:
            return False
        name = _ANY_NAME.search(self.body) if self._nesting else None
        if name:
            self.calls = [_broken_call(self.body, self.tools.clean(name[1]))]
        elif not self._nesting and (function := _FUNCTION.match(self.body)):
            self.calls = [self._function_call(function, self.body)]
        return bool(self.calls)

    def _read(self, text: str) -> Verdict:
        if self._nesting is not None:
            self._nesting.feed(text)
            return self._read_json(self._nesting.end) if self._nesting.end >= 0 else "open"
        recent = self._tail + text
        self._tail = recent[-_LONGEST_END:]
        if not self._is_plausible:
            verdict = self._judge_function()
            if verdict != "call":
                return verdict
            self._is_plausible = True
        return self._read_function() if _END.search(recent) else "open"

    def _judge_function(self) -> Verdict:
        """Whether the head is whole, and names a tool where no other tag says that this is a call."""
        head = self.body
        function = _FUNCTION.match(head)
        self.length = self._start + (function.end() if function else len(_TAGS[1]))
        if function is None:
            return "open" if ">" not in head and len(head) <= _HEAD_LENGTH else "text"
        return "call" if self._start or self.tools.resolve(function[1]) else "text"

    def _read_json(self, end: int) -> Verdict:
        body = self.body[:end]
        self.length = self._start + end
        try:
            fields = as_object(parse(whole_escapes(body)))
        except ValueError:
            name = _ANY_NAME.search(body)
            self.calls = [_broken_call(body, self.tools.clean(name[1]))] if name else []
        else:
            function = as_object(fields.get("function")) or fields
            name = as_text(function.get("name"))
            self.calls = [_WrittenCall(self.tools.clean(name), _arguments_of(function))] if name else []
        return "call" if self.calls else "text"

    def _read_function(self) -> Verdict:
        end = _END.search(self.body)
        content = self.body[: end.start()] if end else self.body
        self.length = self._start + (end.end() if end else len(content))
        function = _FUNCTION.match(content)
        if function is None:
            return "text"
        self.calls = [self._function_call(function, content)]
        return "call"

    def _function_call(self, function: re.Match[str], content: str) -> _WrittenCall:
        name, inside = self.tools.clean(function[1]), content[function.end() :]
        if inside.lstrip().startswith("{"):
            return _WrittenCall(name, inside.strip())
        properties = as_object(self.schemas.get(name, {}).get("properties"))
        values = {key: _value(text, as_object(properties.get(key))) for key, text in _PARAMETER.findall(inside)}
        return _WrittenCall(name, json.dumps(values, ensure_ascii=False))


class _CodeState:
    """Whether a text that is read piece by piece stands in code."""

    def __init__(self) -> None:
        # The first visible characters of the line, which are enough to tell a fence.
        self._begin = ""
        self._in_backticks = False
        self._in_fence = False

    @property
    def is_code(self) -> bool:
        return self._in_fence or self._in_backticks

    @property
    def is_line_start(self) -> bool:
        return not self._begin

    def feed(self, text: str) -> None:
        *lines, last = text.split("\n")
        for line in lines:
            self._read(line)
            self._in_fence ^= self._begin == _FENCE_MARK
            self._begin, self._in_backticks = "", False
        self._read(last)

    def _read(self, piece: str) -> None:
        if len(self._begin) < len(_FENCE_MARK):
            begin = self._begin + piece if self._begin else piece.lstrip()
            self._begin = begin[: len(_FENCE_MARK)]
        self._in_backticks ^= piece.count("`") % 2 == 1


class WrittenCallParser:
    """Incremental parser of text with calls in it; holds back only what may still be a call.

    Text behind a call in tags is dropped: the model wrote it without a result.
    """

    def __init__(self, tools: Sequence[ToolSpec]) -> None:
        self._tools = OfferedNames(tools)
        self._schemas = {tool.name: tool.parameters for tool in tools}
        self._buffer = ""
        self._candidate: _JsonCandidate | _TagCandidate | None = None
        # White space in front of the candidate, and whole calls in JSON as long as nothing follows them.
        self._gap = ""
        self._calls: list[_WrittenCall] = []
        self._calls_raw = ""
        self._has_tag_calls = False
        self._code = _CodeState()

    def feed(self, text: str) -> list[ModelText | ModelToolCall]:
        # In blocks: each candidate is judged with what stands behind it.
        starts = range(0, len(text), _BLOCK_LENGTH)
        return [event for start in starts for event in self._feed_block(text[start : start + _BLOCK_LENGTH])]

    def _feed_block(self, block: str) -> list[ModelText | ModelToolCall]:
        self._buffer += block
        events: list[ModelText | ModelToolCall] = []
        while self._buffer:
            if self._candidate is not None:
                events += self._read_candidate(self._candidate)
                continue
            more, is_waiting = self._read_text()
            events += more
            if is_waiting:
                break
        return events

    def close(self) -> list[ModelText | ModelToolCall]:
        candidate, rest = self._candidate, self._buffer
        self._candidate, self._buffer = None, ""
        if candidate is not None:
            if not candidate.close():
                # Something follows the calls, if there are any.
                return self._pass_on(candidate.raw)
            self._calls += candidate.calls
        if not self._calls:
            return self._pass_on(rest)
        return [call.event for call in self._calls]

    def _read_candidate(self, candidate: _JsonCandidate | _TagCandidate) -> list[ModelText | ModelToolCall]:
        text, self._buffer = self._buffer, ""
        verdict = candidate.feed(text)
        if verdict == "open":
            return []
        raw, self._candidate = candidate.raw, None
        raw, self._buffer = raw[: candidate.length], raw[candidate.length :]
        if verdict == "text":
            return self._pass_on(raw)
        self._calls += candidate.calls
        if isinstance(candidate, _JsonCandidate):
            self._calls_raw += self._gap + raw
            self._gap = ""
            return []
        calls = [call.event for call in self._calls]
        self._calls, self._calls_raw, self._gap, self._has_tag_calls = [], "", "", True
        return list(calls)

    def _read_text(self) -> tuple[list[ModelText | ModelToolCall], bool]:
        """The text up to the next candidate, and whether all that is left waits for more."""
        match = self._next_start()
        certain = match.start() if match else len(self._buffer) - self._possible_start_length()
        before, self._buffer = self._buffer[:certain], self._buffer[certain:]
        events: list[ModelText | ModelToolCall] = []
        if self._calls and not before.strip(_BETWEEN):
            self._calls_raw += before
        elif before:
            text = before.rstrip() if match else before
            events = self._pass_on(text)
            self._gap = before[len(text) :]
            self._code.feed(self._gap)
        if match is None:
            return events, True
        if self._code.is_code:
            size = match.end() - match.start()
            piece, self._buffer = self._buffer[:size], self._buffer[size:]
            return events + self._pass_on(piece), False
        if match["tag"]:
            self._candidate = _TagCandidate(self._tools, self._schemas)
        else:
            opening, self._buffer = match.group()[:-1], self._buffer[match.end() - match.start() - 1 :]
            self._candidate = _JsonCandidate(self._tools, opening)
        return events, False

    def _next_start(self) -> re.Match[str] | None:
        match = _START.search(self._buffer)
        is_within_line = not self._code.is_line_start and not self._calls
        if match and not match["tag"] and match.start() == 0 and is_within_line:
            return _START.search(self._buffer, match.end())
        return match

    def _pass_on(self, text: str) -> list[ModelText | ModelToolCall]:
        """Text for the reader, with what was held back in front of it."""
        self._code.feed(self._calls_raw + text)
        text = self._calls_raw + self._gap + text
        self._calls_raw, self._gap, self._calls = "", "", []
        return [ModelText(text)] if text and not self._has_tag_calls else []

    def _possible_start_length(self) -> int:
        """Length of the end of the buffer that may be the beginning of a call."""
        tag = max(partial_mark_length(self._buffer, mark) for mark in _TAGS)
        content = self._buffer[: len(self._buffer) - tag].rstrip()
        if tag:
            return len(self._buffer) - len(content)
        line_start = content.rfind("\n") + 1
        is_line = line_start > 0 or self._code.is_line_start
        if is_line and _FENCE.fullmatch(content[line_start:].strip()):
            content = content[:line_start].rstrip()
        blank = self._buffer[len(content) :]
        if len(blank) > _HEAD_LENGTH:
            return 0
        if "\n" in blank or (not content and self._code.is_line_start):
            return len(blank)
        return 0


def _calls_of(value: JsonValue, tools: OfferedNames) -> list[_WrittenCall]:
    """The calls that a JSON value consists of; none if anything else is in it."""
    calls: list[_WrittenCall] = []
    for item in value if isinstance(value, list) else [value]:
        fields = as_object(item)
        function = as_object(fields.get("function")) or fields
        name, arguments = tools.resolve(as_text(function.get("name"))), _arguments_of(function)
        has_arguments = any(key in function for key in _ARGUMENTS) and arguments.lstrip().startswith("{")
        if not name or not has_arguments or not set(fields) | set(function) <= _FIELDS:
            return []
        calls.append(_WrittenCall(name, arguments))
    return calls


def _arguments_of(fields: dict[str, JsonValue]) -> str:
    """The arguments as JSON, which some models write as a string; what is no object is for the tool to refuse."""
    value = next((fields[key] for key in _ARGUMENTS if key in fields), None)
    text = whole_escapes(value) if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return canonical_arguments(text)


def _broken_call(body: str, name: str) -> _WrittenCall:
    """A call whose JSON can't be read: its tool says so to the model."""
    match = _ANY_ARGUMENTS.search(body)
    return _WrittenCall(name, body[match.end() :] if match else body)


def _value(text: str, schema: dict[str, JsonValue]) -> JsonValue:
    """A parameter by the type in its schema: all of them are written as text."""
    if not schema or _takes_text(schema) or text in as_list(schema.get("enum")):
        return text
    try:
        return parse(whole_escapes(text.strip()))
    except ValueError:
        return text


def _takes_text(schema: dict[str, JsonValue]) -> bool:
    kinds = schema.get("type")
    alternatives = [*as_list(schema.get("anyOf")), *as_list(schema.get("oneOf"))]
    return "string" in (as_list(kinds) or [kinds]) or any(_takes_text(as_object(each)) for each in alternatives)
