"""Round-trip check: whether a written file reads back as the intended fields."""

import dataclasses
import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple, cast

from core.errors.requests import SkillNotEditable, UnreadableSkill
from skills.diagnostics import Finding
from skills.lint.linter import diagnostic_details, lint_draft
from skills.parser.triggers import derive_triggers
from skills.schema import Example, Param, ParsedSkill, Step

ORDER = (
    *("description", "trigger_conditions", "not_for", "input_params", "steps", "outputs"),
    *("examples", "constraints", "tools", "metadata"),
)
"""The sections in the order in which they are written."""

_HEADING = re.compile(r"^ {0,3}(?:#{1,6}(?:[ \t]|$)|(?:=+|-+)[ \t]*$)", re.MULTILINE)
_FENCE = re.compile(r"^ {0,3}(?:```|~~~)", re.MULTILINE)
_UNWRITABLE = re.compile("[\0\ud800-\udfff]")

Values = Mapping[str, Any]
"""What a skill says, by the names of the model's fields."""


def field_values(model: ParsedSkill) -> dict[str, Any]:
    """The fields of a model without places, derived fields and derived triggers."""
    values = {key: without_places(key, getattr(model, key)) for key in ("name", *ORDER)}
    if model.triggers_derived and model.trigger_conditions == derive_triggers(model.description):
        values["trigger_conditions"] = ()
    return values


def without_places(key: str, value: Any) -> Any:  # noqa: ANN401 - of any field
    """A field's value without its places in a file."""
    if key == "input_params":
        return tuple(dataclasses.replace(param, line=0) for param in value)
    if key == "steps":
        return tuple(
            dataclasses.replace(step, index=index, line=0, end_line=0) for index, step in enumerate(value, start=1)
        )
    if key == "metadata":
        return dict(value)
    return value if value is None or isinstance(value, str) else tuple(value)


def check_writable(expected: Values) -> None:
    """Refuse values that no file can hold: a NUL, or half a surrogate pair."""
    for key, value in expected.items():
        if any(_UNWRITABLE.search(text) for text in _texts(value)):
            raise not_editable_error(key, "character")


def unreadable_error(finding: Finding) -> UnreadableSkill:
    """The error for bytes from which no skill can be read."""
    actual = lint_draft(finding).diagnostics
    return UnreadableSkill(field="content", diagnostics=diagnostic_details(actual))


def check_reads_back(expected: Values, model: ParsedSkill) -> None:
    """Check that a model has the expected values; the error names the first part that differs."""
    actual = field_values(model)
    for key, value in expected.items():
        if (difference := _difference(key, value, actual[key])) is not None:
            raise not_editable_error(difference.path, _reason(difference))


def check_others_unchanged(changed: str, before: ParsedSkill, after: ParsedSkill) -> None:
    """Check that two models differ in the changed field only; the error names both fields."""
    old, new = field_values(before), field_values(after)
    for key, value in old.items():
        if key != changed and value != new[key]:
            raise not_editable_error(changed, "other", other=key)
    if before.format is not after.format or _unknown(before) != _unknown(after):
        raise not_editable_error(changed, "other", other="sections")


def _unknown(model: ParsedSkill) -> list[str]:
    return [section.title for section in model.sections if section.key not in {"title", *ORDER}]


class _Difference(NamedTuple):
    path: str
    expected: object
    actual: object


def _difference(path: str, expected: Any, actual: Any) -> _Difference | None:  # noqa: ANN401 - of any field
    if expected == actual:
        return None
    if isinstance(expected, tuple) and isinstance(actual, tuple):
        pairs = dict(enumerate(cast(tuple[object, ...], expected)))
        others = dict(enumerate(cast(tuple[object, ...], actual)))
        return _in_parts(path, pairs, others)
    if isinstance(expected, dict) and path == "metadata":
        return _in_parts(path, cast(dict[str, object], expected), actual)
    if isinstance(expected, Param | Step | Example) and type(expected) is type(actual):
        parts = {field.name: getattr(expected, field.name) for field in dataclasses.fields(expected)}
        if isinstance(expected, Param) and "\n" in expected.description:
            # Its further lines may be read as attributes.
            parts = {"description": expected.description} | parts
        return _in_parts(path, parts, {name: getattr(actual, name) for name in parts})
    return _Difference(path, expected, actual)


def _in_parts(path: str, expected: Mapping[Any, object], actual: Mapping[Any, object]) -> _Difference | None:
    for key in {**expected, **actual}:
        if key not in expected or key not in actual:
            return _Difference(f"{path}.{key}", expected.get(key), actual.get(key))
        if difference := _difference(f"{path}.{key}", expected[key], actual[key]):
            return difference
    return None


def _texts(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for pair in cast(Mapping[object, object], value).items():
            yield from _texts(pair)
    elif isinstance(value, list | tuple):
        for item in cast(list[object] | tuple[object, ...], value):
            yield from _texts(item)
    elif isinstance(value, Param | Step | Example):
        for field in dataclasses.fields(value):
            yield from _texts(getattr(value, field.name))


def _reason(difference: _Difference) -> str:
    text = difference.expected
    if difference.path.endswith(".pattern"):
        return "pattern"
    if not isinstance(text, str):
        return "heading" if any(map(_HEADING.search, _texts(text))) else "form"
    if not text.strip():
        return "empty"
    if text != text.strip():
        return "blanks"
    if _HEADING.search(text):
        return "heading"
    return "fence" if len(_FENCE.findall(text)) % 2 else "form"


_REASONS = {
    "blanks": ("It begins or ends with blanks.", "开头或结尾有空白字符。"),
    "character": (
        "It holds a NUL or half a character, which no file can have.",
        "含有 NUL 或不完整的字符，文件中不能出现。",
    ),
    "empty": ("It is empty: leave it out.", "内容为空：请去掉。"),
    "fence": (
        "A code block in it is not closed and would swallow what follows.",
        "其中的代码块没有结束，会吞掉后面的内容。",
    ),
    "form": (
        "Written into the file, it would be read as something else: word it otherwise.",
        "写入文件后会被读成别的内容：请换一种写法。",
    ),
    "heading": (
        "A line of it would be a heading of the file: indent it by four blanks or word it otherwise.",
        "其中一行会成为文件的标题：请缩进四个空格，或换一种写法。",
    ),
    "other": (
        "The change would also change {other}: mend that part of the file first.",
        "该修改会同时改变 {other}：请先修正文件的这一部分。",
    ),
    "pattern": (
        "It is no regular expression of at most 128 characters that a file can hold.",
        "不是文件可以记录的、不超过 128 个字符的正则表达式。",
    ),
}


def not_editable_error(field: str, reason: str, other: str = "") -> SkillNotEditable:
    """The error for a part that can't be written; see ``_REASONS``."""
    english, chinese = _REASONS[reason]
    return SkillNotEditable(field=field, error=english.format(other=other), error_zh=chinese.format(other=other))
