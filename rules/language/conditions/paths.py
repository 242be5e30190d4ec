"""Paths into an event: ``player.name``, ``items[0].id``, ``headers["x-kind"]``."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, cast

from pydantic import AfterValidator, JsonValue

from core.text.sanitize import refuse_half_characters, refuse_nul
from rules.language.errors import InvalidPath
from rules.language.events import EventContext

LONGEST_PATH = 500
MOST_STEPS = 32

Step = str | int

# Letters of any script with their marks, digits and _ $ @ -; all else is written in quotes.
_NAME = re.compile(r"""[^\s!"#%&'()*+,./:;<=>?\[\\\]^`{|}~]+""")
_INDEX = re.compile(r"\[([0-9]{1,6})\]")
_QUOTED = re.compile(r"\[(?:\"((?:[^\"\\]|\\.)*)\"|'((?:[^'\\]|\\.)*)')\]", re.DOTALL)
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)

_FACTS: dict[str, Callable[[EventContext], JsonValue]] = {
    "id": lambda context: context.event.id,
    "type": lambda context: context.event.type,
    "source": lambda context: str(context.event.source_id) if context.event.source_id else None,
    "time": lambda context: context.event.time.isoformat(),
}
_ROOTS: dict[str, Callable[[EventContext], object]] = {
    "state": lambda context: context.state,
    "previous": lambda context: context.previous,
    "results": lambda context: list(context.results),
}


@dataclass(frozen=True, slots=True)
class Missing:
    """Nothing, where a path leads; ``absent`` is the path up to the step that is not there."""

    absent: str


@dataclass(frozen=True, slots=True)
class EventPath:
    """A path, parsed.

    Attributes:
        text: the path as written.
        root: the reserved name that it starts with, or the empty string for the event's data.
        steps: keys and indexes from the root on; those of ``event`` are none, its fact is ``fact``.
    """

    text: str
    root: str
    steps: tuple[Step, ...]
    fact: str = ""

    def read(self, context: EventContext) -> JsonValue | Missing:
        """The value in the event, in the state or in the previous event."""
        if not self.root:
            return self._walk(context.event.data)
        if self.root == "event":
            return _FACTS[self.fact](context)
        if self.root == "previous" and not context.has_previous:
            return Missing("previous")
        return self._walk(_ROOTS[self.root](context))

    def read_previous(self, context: EventContext) -> JsonValue | Missing:
        """The value at the same place of the previous event's data."""
        return self._walk(context.previous) if context.has_previous else Missing("previous")

    def _walk(self, value: object) -> JsonValue | Missing:
        for depth, step in enumerate(self.steps):
            if isinstance(step, str):
                if not isinstance(value, Mapping) or step not in value:
                    return self._missing(depth)
                value = cast(Mapping[str, object], value)[step]
            else:
                if not isinstance(value, list) or step >= len(cast(list[object], value)):
                    return self._missing(depth)
                value = cast(list[object], value)[step]
        return cast(JsonValue, value)

    def _missing(self, depth: int) -> Missing:
        return Missing(_written(self.root, self.steps[: depth + 1]))


def parse_path(text: str) -> EventPath:
    """Parse a path.

    Raises:
        InvalidPath: it is no path, or too long.
    """
    if not text:
        raise InvalidPath("Enter a path such as player.name", "请输入路径，例如 player.name")
    if len(text) > LONGEST_PATH:
        raise InvalidPath(f"A path has at most {LONGEST_PATH} characters", f"路径最多 {LONGEST_PATH} 个字符")
    path, end = scan_path(text, 0)
    if end < len(text):
        raise InvalidPath(
            'the path ends here; write keys with other characters in quotes, such as ["first name"]',
            '路径在此结束；含其他字符的键请加引号，例如 ["first name"]',
            end + 1,
        )
    return path


def scan_path(text: str, start: int) -> tuple[EventPath, int]:
    """Parse the path that begins at a place; also says where it ends.

    Raises:
        InvalidPath: no path begins there, or it has too many steps.
    """
    steps: list[Step] = []
    is_first_quoted = text.startswith("[", start)
    end = start
    while True:
        if text.startswith("[", end):
            step, end = _scan_bracket(text, end)
        elif (name := _NAME.match(text, end)) is not None:
            step, end = name.group(), name.end()
        else:
            raise InvalidPath("a name is expected, such as player.name", "此处应为名称，例如 player.name", end + 1)
        steps.append(step)
        if len(steps) > MOST_STEPS:
            raise InvalidPath(f"A path has at most {MOST_STEPS} steps", f"路径最多 {MOST_STEPS} 级", end)
        if text.startswith(".", end):
            end += 1
            if text.startswith("[", end):
                raise InvalidPath("remove the dot before the bracket", "请删除方括号前的点", end)
        elif not text.startswith("[", end):
            break
    return _rooted(text[start:end], steps, is_first_quoted=is_first_quoted, position=start + 1), end


def _scan_bracket(text: str, start: int) -> tuple[Step, int]:
    if (index := _INDEX.match(text, start)) is not None:
        return int(index.group(1)), index.end()
    if (quoted := _QUOTED.match(text, start)) is not None:
        inside = quoted.group(1) if quoted.group(1) is not None else quoted.group(2)
        return _ESCAPE.sub(r"\1", inside), quoted.end()
    raise InvalidPath(
        'brackets hold an index such as [0] or a key in quotes such as ["first name"]',
        '方括号内应为序号（例如 [0]）或带引号的键（例如 ["first name"]）',
        start + 1,
    )


def _rooted(text: str, steps: list[Step], *, is_first_quoted: bool, position: int) -> EventPath:
    root = steps[0]
    if is_first_quoted or root not in {"event", *_ROOTS}:
        return EventPath(text, "", tuple(steps))
    if root != "event":
        return EventPath(text, str(root), tuple(steps[1:]))
    if len(steps) != 2 or steps[1] not in _FACTS:
        names = ", ".join(f"event.{name}" for name in _FACTS)
        raise InvalidPath(
            f'Use {names}, or ["event"] for a key of the event\'s data',
            f'可用：{names}；若指事件数据中的键，请写作 ["event"]',
            position,
        )
    return EventPath(text, "event", (), str(steps[1]))


def _written(root: str, steps: tuple[Step, ...]) -> str:
    text = root
    for step in steps:
        if isinstance(step, int):
            text += f"[{step}]"
        elif _NAME.fullmatch(step) and (text or step not in {"event", *_ROOTS}):
            text += f".{step}" if text else step
        else:
            quoted = step.replace("\\", "\\\\").replace('"', '\\"')
            text += f'["{quoted}"]'
    return text


def _check(text: str) -> str:
    parse_path(refuse_nul(refuse_half_characters(text)))
    return text


PathText = Annotated[str, AfterValidator(_check)]
"""The text of a path, checked."""
