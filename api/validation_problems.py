"""Why a request does not have the shape of its operation, in a caller's terms.

pydantic tells the names of validators and of the branches of unions, which are no part of a
request: what is told here are fields that the request has, or lacks.
"""

from collections.abc import Mapping, Sequence
from typing import Any, cast

_Part = str | int

_WORDS = {
    "model_type": "Input should be an object",
    "model_attributes_type": "Input should be an object",
    "dict_type": "Input should be an object",
    "tuple_type": "Input should be a list",
}
_LENGTHS = {
    "too_short": ("at least", "min_length"),
    "string_too_short": ("at least", "min_length"),
    "too_long": ("at most", "max_length"),
    "string_too_long": ("at most", "max_length"),
}


def field_of(problem: Mapping[str, Any], body: object) -> str:
    """The path to what is wrong, such as ``filters.metadata.year``.

    Args:
        problem: as pydantic reports it.
        body: of the request, decoded; the names that it has tell fields from validators.

    Returns:
        Parts joined by dots; where the request as a whole is wrong, its part: ``body``.
    """
    place, *parts = cast(Sequence[_Part], problem["loc"])
    is_walked = place == "body" and isinstance(body, Mapping | list)
    is_missing = problem["type"] == "missing"
    found = (
        _walked(parts, cast(object, body), is_missing=is_missing) if is_walked else _plain(parts)
    )
    return ".".join(str(part) for part in found if part != "") or str(place)


def _walked(parts: Sequence[_Part], body: object, *, is_missing: bool) -> list[_Part]:
    found: list[_Part] = []
    value: Any = body
    for part in parts:
        if _has(value, part):
            found.append(part)
            value = value[part]
    if is_missing:
        found.append(parts[-1])
    return found


def _has(value: object, part: _Part) -> bool:
    if isinstance(value, list):
        return isinstance(part, int)
    return isinstance(value, Mapping) and part in cast(Mapping[object, object], value)


def _plain(parts: Sequence[_Part]) -> list[_Part]:
    return [part for part in parts if isinstance(part, int) or "[" not in part]


def words_of(problem: Mapping[str, Any]) -> str:
    """What is wrong with the field, in one sentence."""
    kind = str(problem["type"])
    if kind in _LENGTHS:
        facts = cast(Mapping[str, Any], problem["ctx"])
        return _length_words(kind, facts, is_text=isinstance(problem.get("input"), str))
    return _WORDS.get(kind, str(problem["msg"]).removeprefix("Value error, "))


def _length_words(kind: str, facts: Mapping[str, Any], *, is_text: bool) -> str:
    words, name = _LENGTHS[kind]
    limit = facts[name]
    if (words, limit) == ("at least", 1):
        return "must not be empty"
    unit = "character" if is_text else "item"
    return f"Input should have {words} {limit} {unit}{'' if limit == 1 else 's'}"
