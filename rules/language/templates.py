"""Templates: ``{{path | filter:argument}}`` in the texts of an action's parameters.

A template is read once into a tree and rendered for each event. What an event gives is never read as a template again, and
both take time linear in the length of what goes in.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, cast

from pydantic import AfterValidator, JsonValue

from rules.language.conditions.paths import EventPath, Missing, scan_path
from rules.language.errors import InvalidPath, InvalidTemplate, MissingValue, TemplateFailure
from rules.language.events import EventContext
from rules.language.filters import FILTERS, LONGEST_OUTPUT, Argument, Filter, too_long, write_text

MOST_TEMPLATES = 200
LONGEST_SOURCE = 10_000
MOST_FILTERS = 10
MOST_ARGUMENTS = 4
MOST_DEPTH = 20
MOST_VALUES = 2_000

_BLANKS = re.compile(r"\s*")
_FILTER_NAME = re.compile(r"[A-Za-z_]{1,40}")
_NUMBER = re.compile(r"-?[0-9]{1,15}(?:\.[0-9]{1,15})?(?![\w.])")
_QUOTED = re.compile(r"\"((?:[^\"\\]|\\.)*)\"|'((?:[^'\\]|\\.)*)'", re.DOTALL)
_WORD = re.compile(r"[^\s|:{}\"']+")
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)
_CONSTANTS: dict[str, Argument] = {"true": True, "false": False, "null": None}


@dataclass(frozen=True, slots=True)
class _FilterCall:
    name: str
    filter: Filter
    argument: Any


@dataclass(frozen=True, slots=True)
class _Expression:
    path: EventPath
    calls: tuple[_FilterCall, ...]

    def value(self, context: EventContext) -> JsonValue:
        value = self.path.read(context)
        for call in self.calls:
            if isinstance(value, Missing):
                if call.name != "default":
                    continue
                value = None
            value = call.filter.apply(value, call.argument)
        if isinstance(value, Missing):
            raise MissingValue(self.path.text, value.absent)
        return value


_Node = Callable[[EventContext, "_OutputBudget"], JsonValue]


class _OutputBudget:
    """Bytes that a rendering may still give."""

    def __init__(self) -> None:
        self._left = LONGEST_OUTPUT

    def spend_text(self, text: str) -> None:
        try:
            self._left -= len(text.encode()) if len(text) <= self._left else self._left + 1
        except UnicodeEncodeError as error:
            words = "the event holds half a character, which can't be sent"
            raise TemplateFailure(words, "事件包含不完整的字符，无法发送") from error
        if self._left < 0:
            raise too_long()

    def spend(self, value: JsonValue) -> None:
        """Count a value that goes out as it is: its keys, its texts, and some bytes for all else."""
        waiting: list[JsonValue] = [value]
        while waiting:
            node = waiting.pop()
            if isinstance(node, str):
                self.spend_text(node)
                continue
            self._left -= 1 + (node.bit_length() // 3 if isinstance(node, int) else 4)
            if self._left < 0:
                raise too_long()
            if isinstance(node, dict):
                for key in node:
                    self.spend_text(key)
                waiting += node.values()
            elif isinstance(node, list):
                waiting += node


@dataclass(frozen=True, slots=True)
class Template:
    """Parameters or a text with templates, read.

    Attributes:
        paths: all paths that it reads.
    """

    paths: tuple[EventPath, ...]
    _root: _Node

    def render(self, context: EventContext) -> JsonValue:
        """The parameters with the event's values; a text that is a template alone takes over the value's type.

        Raises:
            MissingValue: the event lacks a value, and no ``default`` is given.
            TemplateFailure: a filter can't take the value, or the output has more than 64 KB.
        """
        return self._root(context, _OutputBudget())

    def render_text(self, context: EventContext) -> str:
        """The same as a text, as for a cooldown key; raises as ``render`` does."""
        return write_text(self.render(context))


def compile_template(source: JsonValue) -> Template:
    """Read a text, or parameters at any depth; keys hold no templates.

    Raises:
        InvalidTemplate: something is no template, or a limit is passed; it names the place and the position.
    """
    reader = _Reader()
    root = reader.read(source, "", 0)
    return Template(tuple(reader.paths), root)


class _Reader:
    """The state of reading: what counts against the limits."""

    def __init__(self) -> None:
        self.paths: list[EventPath] = []
        self._characters = 0
        self._values = 0

    def read(self, source: JsonValue, place: str, depth: int) -> _Node:
        self._values += 1
        if depth > MOST_DEPTH or self._values > MOST_VALUES:
            words = f"Parameters have at most {MOST_VALUES} values and {MOST_DEPTH} levels"
            raise InvalidTemplate(words, f"参数最多 {MOST_VALUES} 个值、{MOST_DEPTH} 层")
        if isinstance(source, str):
            return self._read_text(source, place)
        if isinstance(source, Mapping):
            return self._read_object(source, place, depth)
        if isinstance(source, list):
            items = [self.read(item, f"{place}[{index}]", depth + 1) for index, item in enumerate(source)]
            return lambda context, budget: [item(context, budget) for item in items]
        return lambda _, __: source

    def _read_object(self, source: Mapping[str, JsonValue], place: str, depth: int) -> _Node:
        fields: list[tuple[str, _Node]] = []
        for key, value in source.items():
            inner = f"{place}.{key}" if place else key
            if "{{" in key:
                error = InvalidTemplate(
                    "Keys hold no templates; move it into the value", "键中不能使用模板；请移到值中"
                )
                raise _at(inner, error)
            fields.append((key, self.read(value, inner, depth + 1)))

        def render(context: EventContext, budget: _OutputBudget) -> JsonValue:
            rendered: dict[str, JsonValue] = {}
            for key, node in fields:
                budget.spend_text(key)
                rendered[key] = node(context, budget)
            return rendered

        return render

    def _read_text(self, text: str, place: str) -> _Node:
        if "{{" not in text:
            return _literal(text)
        self._characters += len(text)
        if self._characters > LONGEST_SOURCE:
            words = f"Texts with templates have at most {LONGEST_SOURCE:,} characters in all"
            raise _at(place, InvalidTemplate(words, f"含模板的文本总共最多 {LONGEST_SOURCE:,} 个字符"))
        try:
            return self._parts(text)
        except InvalidPath as error:
            unreadable = InvalidTemplate(error.error, error.error_zh)
            unreadable.position = error.position
            raise _at(place, unreadable) from error
        except InvalidTemplate as error:
            raise _at(place, error) from error

    def _parts(self, text: str) -> _Node:
        parts: list[str | _Expression] = []
        end = 0
        while (start := text.find("{{", end)) >= 0:
            if start > end:
                parts.append(text[end:start])
            expression, end = _scan_expression(text, start + 2)
            parts.append(expression)
            self.paths.append(expression.path)
            if len(self.paths) > MOST_TEMPLATES:
                words = f"A set of parameters has at most {MOST_TEMPLATES} templates"
                raise InvalidTemplate(words, f"一组参数最多 {MOST_TEMPLATES} 个模板")
        if end < len(text):
            parts.append(text[end:])
        return _alone(parts[0]) if len(parts) == 1 and not isinstance(parts[0], str) else _joined(parts)


def _at(place: str, error: InvalidTemplate) -> InvalidTemplate:
    """The error with the place of its text among the parameters in front."""
    if not place:
        return error
    short = place if len(place) <= 200 else f"{place[:199]}…"
    placed = InvalidTemplate(f"{short}: {error.error}", f"{short}：{error.error_zh}")
    placed.position = error.position
    return placed


def _literal(text: str) -> _Node:
    def render(_: EventContext, budget: _OutputBudget) -> JsonValue:
        budget.spend_text(text)
        return text

    return render


def _alone(expression: _Expression) -> _Node:
    def render(context: EventContext, budget: _OutputBudget) -> JsonValue:
        value = expression.value(context)
        budget.spend(value)
        return value

    return render


def _joined(parts: Sequence[str | _Expression]) -> _Node:
    def render(context: EventContext, budget: _OutputBudget) -> JsonValue:
        texts: list[str] = []
        for part in parts:
            text = part if isinstance(part, str) else write_text(part.value(context))
            budget.spend_text(text)
            texts.append(text)
        return "".join(texts)

    return render


def _scan_expression(text: str, start: int) -> tuple[_Expression, int]:
    """The expression behind ``{{``, and the place behind its ``}}``."""
    place = _skip(text, start)
    if text.startswith("}}", place) or place == len(text):
        raise InvalidTemplate(
            "a path is expected, such as {{player.name}}", "此处应为路径，例如 {{player.name}}", place + 1
        )
    path, end = scan_path(text, place)
    calls: list[_FilterCall] = []
    end = _skip(text, end)
    while text.startswith("|", end):
        if len(calls) == MOST_FILTERS:
            raise InvalidTemplate(f"at most {MOST_FILTERS} filters", f"最多 {MOST_FILTERS} 个过滤器", end + 1)
        call, end = _scan_filter(text, _skip(text, end + 1))
        calls.append(call)
        end = _skip(text, end)
    if not text.startswith("}}", end):
        raise InvalidTemplate(
            "the template must end with }} here, or go on with | and a filter",
            "模板应在此以 }} 结束，或以 | 接过滤器",
            end + 1,
        )
    return _Expression(path, tuple(calls)), end + 2


def _scan_filter(text: str, start: int) -> tuple[_FilterCall, int]:
    name = _FILTER_NAME.match(text, start)
    registered = FILTERS.get(name.group()) if name else None
    if name is None or registered is None:
        allowed = ", ".join(FILTERS)
        raise InvalidTemplate(f"use one of the filters {allowed}", f"可用的过滤器：{allowed}", start + 1)
    arguments: list[Argument] = []
    end = name.end()
    while text.startswith(":", colon := _skip(text, end)):
        if len(arguments) == MOST_ARGUMENTS:
            raise InvalidTemplate(f"at most {MOST_ARGUMENTS} arguments", f"最多 {MOST_ARGUMENTS} 个参数", colon + 1)
        argument, end = _scan_argument(text, _skip(text, colon + 1))
        arguments.append(argument)
    try:
        return _FilterCall(name.group(), registered, registered.prepare(arguments)), end
    except InvalidTemplate as error:
        raise InvalidTemplate(error.error, error.error_zh, start + 1) from error


def _scan_argument(text: str, start: int) -> tuple[Argument, int]:
    if (quoted := _QUOTED.match(text, start)) is not None:
        inside = quoted.group(1) if quoted.group(1) is not None else quoted.group(2)
        return _ESCAPE.sub(r"\1", inside), quoted.end()
    if (number := _NUMBER.match(text, start)) is not None:
        digits = number.group()
        return float(digits) if "." in digits else int(digits), number.end()
    if (word := _WORD.match(text, start)) is not None:
        return _CONSTANTS.get(word.group(), word.group()), word.end()
    raise InvalidTemplate(
        'an argument is expected: a number, a word or a text in quotes, such as default:"-"',
        '此处应为参数：数字、单词或带引号的文本，例如 default:"-"',
        start + 1,
    )


def _skip(text: str, start: int) -> int:
    return cast(re.Match[str], _BLANKS.match(text, start)).end()


def _check(text: str) -> str:
    compile_template(text)
    return text


TemplateText = Annotated[str, AfterValidator(_check)]
"""A text with templates, checked."""
