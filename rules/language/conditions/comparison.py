"""How two JSON values compare: numbers exactly, text in one Unicode form, times with their zones."""

import math
import re
import unicodedata
from collections.abc import Mapping, Sequence
from datetime import datetime
from decimal import Decimal
from enum import StrEnum
from typing import cast

from pydantic import JsonValue

LONGEST_NORMALIZED = 10_000
"""Longer text is compared as it stands: ordering its combining marks takes quadratic time."""

_MOST_BITS = 4096
_MOST_DEPTH = 32
_TIME = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:\.\d{1,6})?)?(?:Z|[+-]\d\d:\d\d)", re.ASCII | re.IGNORECASE)


class Kind(StrEnum):
    """The JSON type of a value."""

    TEXT = "string"
    NUMBER = "number"
    BOOLEAN = "boolean"
    NULL = "null"
    LIST = "list"
    OBJECT = "object"


def kind_of(value: object) -> Kind:
    """The JSON type of a value; a boolean is no number."""
    if isinstance(value, str):
        return Kind.TEXT
    if isinstance(value, bool):
        return Kind.BOOLEAN
    if isinstance(value, int | float):
        return Kind.NUMBER
    if value is None:
        return Kind.NULL
    return Kind.LIST if isinstance(value, list) else Kind.OBJECT


def is_number(value: object) -> bool:
    """Whether the value is a number that can be compared: finite and of at most 4,096 bits."""
    if isinstance(value, bool):
        return False
    if isinstance(value, int):
        return value.bit_length() <= _MOST_BITS
    return isinstance(value, float) and math.isfinite(value)


def compare_numbers(left: float, right: float) -> int:
    """Below, at or above zero as the left number is less, equal or greater; both passed ``is_number``.

    A whole number and a fraction are compared as they are written, not as binary fractions.
    """
    if type(left) is type(right):
        return (left > right) - (left < right)
    exact_left, exact_right = _as_decimal(left), _as_decimal(right)
    return (exact_left > exact_right) - (exact_left < exact_right)


def _as_decimal(number: float) -> Decimal:
    return Decimal(repr(number)) if isinstance(number, float) else Decimal(number)


def normalize(text: str) -> str:
    """The text in Unicode's form NFC, unless it is very long."""
    if text.isascii() or len(text) > LONGEST_NORMALIZED:
        return text
    return unicodedata.normalize("NFC", text)


def parse_time(text: str) -> datetime | None:
    """The moment that a text such as ``2026-03-17T09:00:00+08:00`` names, or None; a zone is necessary."""
    if len(text) > 40 or _TIME.fullmatch(text) is None:
        return None
    try:
        moment = datetime.fromisoformat(text.upper())
        _ = moment.utcoffset()
    except ValueError:
        return None
    return moment


def are_equal(left: JsonValue, right: JsonValue, depth: int = 0) -> bool:
    """Whether two JSON values are equal; of different types they never are.

    Numbers that ``is_number`` refuses and what is nested deeper than 32 levels equal nothing.
    """
    if isinstance(left, str) and isinstance(right, str):
        return left == right or _are_equal_texts(left, right)
    kind = kind_of(left)
    if kind is not kind_of(right) or depth > _MOST_DEPTH:
        return False
    if kind is Kind.NUMBER:
        numbers = cast(tuple[float, float], (left, right))
        return all(is_number(number) for number in numbers) and compare_numbers(*numbers) == 0
    if kind is Kind.LIST:
        lists = cast(Sequence[JsonValue], left), cast(Sequence[JsonValue], right)
        pairs = zip(*lists, strict=False)
        return len(lists[0]) == len(lists[1]) and all(are_equal(*pair, depth + 1) for pair in pairs)
    if kind is Kind.OBJECT:
        return _are_equal_objects(cast(Mapping[str, JsonValue], left), cast(Mapping[str, JsonValue], right), depth)
    return left == right


def _are_equal_texts(left: str, right: str) -> bool:
    if normalize(left) == normalize(right):
        return True
    moment = parse_time(right)
    return moment is not None and moment == parse_time(left)


def _are_equal_objects(left: Mapping[str, JsonValue], right: Mapping[str, JsonValue], depth: int) -> bool:
    return left.keys() == right.keys() and all(are_equal(left[key], right[key], depth + 1) for key in left)
