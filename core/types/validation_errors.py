"""Validation errors in terms of the request, instead of pydantic's validators and branches of unions."""

from collections.abc import Mapping, Sequence
from typing import Any, cast

from core.types.errors import FieldValueError

_Part = str | int

_OBJECT, _LIST, _NUMBER = ("an object", "对象"), ("a list", "列表"), ("a number", "数字")
_TRUTH, _TEXT = ("true or false", "true 或 false"), ("a string", "文本")
_KINDS = {
    "model_type": _OBJECT,
    "model_attributes_type": _OBJECT,
    "dict_type": _OBJECT,
    "tuple_type": _LIST,
    "list_type": _LIST,
    "bool_type": _TRUTH,
    "int_type": _NUMBER,
    "float_type": _NUMBER,
    "number_type": _NUMBER,
    "string_type": _TEXT,
}
_CHINESE = {
    "missing": "缺少该字段",
    "extra_forbidden": "没有这个字段",
    "model_type": "应为对象",
    "model_attributes_type": "应为对象",
    "dict_type": "应为对象",
    "tuple_type": "应为列表",
    "list_type": "应为列表",
    "string_type": "应为文本",
    "string_unicode": "不能包含不完整的字符",
    "uuid_parsing": "应为 UUID",
    "uuid_type": "应为 UUID",
    "bool_type": "应为 true 或 false",
    "bool_parsing": "应为 true 或 false",
    "int_type": "应为整数",
    "int_parsing": "应为整数",
    "int_from_float": "应为整数",
    "float_type": "应为数字",
    "number_type": "应为数字",
    "float_parsing": "应为数字",
    "finite_number": "应为有限的数字",
    "greater_than": "应大于 {gt}",
    "greater_than_equal": "不能小于 {ge}",
    "less_than": "应小于 {lt}",
    "less_than_equal": "不能大于 {le}",
    "enum": "可用的值：{expected}",
    "literal_error": "可用的值：{expected}",
    "union_tag_invalid": "可用的值：{expected}",
    "union_tag_not_found": "缺少该字段",
    "string_pattern_mismatch": "应符合格式 {pattern}",
}
_TAG_ERRORS = frozenset({"union_tag_invalid", "union_tag_not_found"})
# A list of thousands can be wrong at each place; the branches of one value are far fewer.
_MOST_LOOKED_AT = 1000
_LENGTHS = {
    "too_short": ("at least", "至少", "min_length"),
    "string_too_short": ("at least", "至少", "min_length"),
    "too_long": ("at most", "最多", "max_length"),
    "string_too_long": ("at most", "最多", "max_length"),
}


def error_details(problems: Sequence[Mapping[str, Any]], body: object) -> dict[str, object]:
    """Where a request is wrong, and how, from at least one of pydantic's problems.

    If a value fails all branches of a union, the branch that it comes closest to is reported, or all allowed forms. The
    decoded body's names tell fields from validators.

    Returns:
        ``field``: the path to the first error, such as ``filters.metadata.year``, or a part of the request, such as
        ``body``; ``error``: a sentence about it; ``error_zh``: the same in Chinese, if available.
    """
    problems = problems[:_MOST_LOOKED_AT]
    paths = [_path_of(problem, body) for problem in problems]
    related = [path for path in paths if _is_within(path, paths[0]) or _is_within(paths[0], path)]
    deepest = max(related, key=len)
    about = [problem for problem, path in zip(problems, paths, strict=True) if path == deepest]
    place, *parts = deepest
    if about[0]["type"] in _TAG_ERRORS:
        parts.append(about[0]["ctx"]["discriminator"].strip("'"))
    field = ".".join(str(part) for part in parts if part != "") or str(place)
    error, chinese = (_sentence(about, in_chinese=is_chinese) for is_chinese in (False, True))
    details: dict[str, object] = {"field": field, "error": error}
    return details if chinese == error else {**details, "error_zh": chinese}


def _is_within(path: Sequence[_Part], other: Sequence[_Part]) -> bool:
    return path[: len(other)] == other


def _path_of(problem: Mapping[str, Any], body: object) -> list[_Part]:
    place, *parts = cast(Sequence[_Part], problem["loc"])
    if place != "body" or not isinstance(body, Mapping | list):
        return [place, *_plain(parts)]
    is_missing = problem["type"] == "missing"
    return [place, *_walked(parts, cast(object, body), is_missing=is_missing)]


def _walked(parts: Sequence[_Part], body: object, *, is_missing: bool) -> list[_Part]:
    walked: list[_Part] = []
    value: Any = body
    for part in parts:
        if _has(value, part):
            walked.append(part)
            value = value[part]
    if is_missing:
        walked += parts[-1:]
    return walked


def _has(value: object, part: _Part) -> bool:
    if isinstance(value, list):
        return isinstance(part, int) and 0 <= part < len(cast(Sequence[object], value))
    return isinstance(value, Mapping) and part in cast(Mapping[object, object], value)


def _plain(parts: Sequence[_Part]) -> list[_Part]:
    return [part for part in parts if isinstance(part, int) or "[" not in part]


def _sentence(problems: Sequence[Mapping[str, Any]], *, in_chinese: bool) -> str:
    # What is of the right kind is wrong for another reason, which says more.
    of_a_kind = [problem for problem in problems if problem["type"] not in _KINDS]
    kinds = list(dict.fromkeys(_KINDS[problem["type"]] for problem in problems if problem not in of_a_kind))
    if of_a_kind or len(kinds) == 1:
        return _words_of((of_a_kind or problems)[0], in_chinese=in_chinese)
    if in_chinese:
        return f"应为以下之一：{'、'.join(chinese for _, chinese in kinds)}"
    *some, last = (english for english, _ in kinds)
    return f"Input should be {', '.join(some)} or {last}"


def _words_of(problem: Mapping[str, Any], *, in_chinese: bool) -> str:
    kind, facts = str(problem["type"]), cast(Mapping[str, Any], problem.get("ctx", {}))
    if kind in _LENGTHS:
        is_text = kind.startswith("string") or isinstance(problem.get("input"), str)
        return _length_words(kind, facts, is_text=is_text, in_chinese=in_chinese)
    if kind in _TAG_ERRORS and not in_chinese:
        return f"Input should be one of {facts['expected_tags']}" if "expected_tags" in facts else "Field required"
    cause = facts.get("error")
    if in_chinese and isinstance(cause, FieldValueError):
        return cause.error_zh
    if in_chinese and kind in _CHINESE:
        expected = str(facts.get("expected", facts.get("expected_tags", ""))).replace(" or ", "、").replace(", ", "、")
        return _CHINESE[kind].format(**{**facts, "expected": expected})
    if _KINDS.get(kind) in {_OBJECT, _LIST}:
        return f"Input should be {_KINDS[kind][0]}"
    return str(problem["msg"]).removeprefix("Value error, ")


def _length_words(kind: str, facts: Mapping[str, Any], *, is_text: bool, in_chinese: bool) -> str:
    words, chinese, name = _LENGTHS[kind]
    limit = facts[name]
    if (words, limit) == ("at least", 1):
        return "不能为空" if in_chinese else "must not be empty"
    if in_chinese:
        return f"{chinese} {limit} {'个字符' if is_text else '项'}"
    unit = "character" if is_text else "item"
    return f"Input should have {words} {limit} {unit}{'' if limit == 1 else 's'}"
