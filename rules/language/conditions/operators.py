"""The operators of conditions, by name.

A new operator is a function or two and a line in ``OPERATORS``.
"""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, cast

from pydantic import JsonValue

from rules.language.conditions.comparison import (
    Kind,
    are_equal,
    compare_numbers,
    is_number,
    kind_of,
    normalize,
    parse_time,
)
from rules.language.conditions.paths import Missing
from rules.language.conditions.patterns import Pattern, compile_pattern
from rules.language.errors import InvalidOperand

LONGEST_OPERAND = 1_000
MOST_OPERANDS = 100
LONGEST_MATCHED = 100_000


class OperatorName(StrEnum):
    """How a condition compares."""

    EQUAL = "=="
    UNEQUAL = "!="
    LESS = "<"
    LESS_OR_EQUAL = "<="
    GREATER = ">"
    GREATER_OR_EQUAL = ">="
    IN = "in"
    NOT_IN = "not_in"
    CONTAINS = "contains"
    STARTS_WITH = "starts_with"
    ENDS_WITH = "ends_with"
    MATCHES = "matches"
    EXISTS = "exists"
    CHANGED = "changed"


class FailReason(StrEnum):
    """Why a condition is false."""

    MISSING = "missing"
    WRONG_TYPE = "wrong_type"
    UNCOMPARABLE_NUMBER = "uncomparable_number"
    TOO_LONG = "too_long"
    NO_PREVIOUS = "no_previous"
    DIFFERENT = "different"


Value = JsonValue | Missing
Comparison = Callable[[JsonValue, Any], FailReason | None]


@dataclass(frozen=True, slots=True)
class Operator:
    """An operator.

    Attributes:
        prepare: checks the value of a condition and gives what ``compare`` takes; raises ``InvalidOperand``.
        compare: the event's value with the prepared one; None where the condition is true. Never raises.
        reads: whether ``compare`` is for a value that is there, for any, or for a pair with the previous event's.
    """

    prepare: Callable[[JsonValue], object]
    compare: Callable[[Any, Any], FailReason | None]
    reads: str = "value"


def check(operator: Operator, met: Value, previous: Value, operand: object) -> FailReason | None:
    """Why the condition is false, or None where it is true.

    Args:
        previous: the value at the same place of the previous event; only ``changed`` reads it.
    """
    if operator.reads == "pair":
        return operator.compare((met, previous), operand)
    if operator.reads == "value" and isinstance(met, Missing):
        return FailReason.MISSING
    return operator.compare(met, operand)


def _verdict(*, holds: bool) -> FailReason | None:
    return None if holds else FailReason.DIFFERENT


def _scalar(value: JsonValue) -> JsonValue:
    kind = kind_of(value)
    if kind in {Kind.LIST, Kind.OBJECT}:
        raise InvalidOperand("Use a text, a number, true, false or null", "请使用文本、数字、true、false 或 null")
    if kind is Kind.NUMBER and not is_number(value):
        raise InvalidOperand("Use a finite number of at most 1,200 digits", "请使用有限且不超过 1200 位的数字")
    if isinstance(value, str):
        if len(value) > LONGEST_OPERAND:
            words = f"A text has at most {LONGEST_OPERAND} characters"
            raise InvalidOperand(words, f"文本最多 {LONGEST_OPERAND} 个字符")
        return normalize(value)
    return value


def _ordered(value: JsonValue) -> tuple[JsonValue, object]:
    if kind_of(value) not in {Kind.TEXT, Kind.NUMBER}:
        raise InvalidOperand("Use a number, a time or a text", "请使用数字、时间或文本")
    value = _scalar(value)
    return value, parse_time(value) if isinstance(value, str) else None


def _text(value: JsonValue) -> str:
    if not isinstance(value, str) or not value:
        raise InvalidOperand("Use a text that is not empty", "请使用非空文本")
    return cast(str, _scalar(value))


def _scalars(value: JsonValue) -> tuple[JsonValue, ...]:
    if not isinstance(value, list) or not 1 <= len(value) <= MOST_OPERANDS:
        words = f"Use a list of 1 to {MOST_OPERANDS} values"
        raise InvalidOperand(words, f"请使用包含 1 至 {MOST_OPERANDS} 个值的列表")
    return tuple(_scalar(item) for item in value)


def _truth(value: JsonValue) -> bool:
    if value is None:
        return True
    if not isinstance(value, bool):
        raise InvalidOperand("Use true or false, or leave it out", "请使用 true 或 false，或不填写")
    return value


def _equal(met: JsonValue, operand: JsonValue) -> FailReason | None:
    if are_equal(met, operand):
        return None
    if kind_of(met) is not kind_of(operand):
        return FailReason.WRONG_TYPE
    return _uncomparable(met) or FailReason.DIFFERENT


def _unequal(met: JsonValue, operand: JsonValue) -> FailReason | None:
    return _verdict(holds=not are_equal(met, operand))


def _uncomparable(met: JsonValue) -> FailReason | None:
    return FailReason.UNCOMPARABLE_NUMBER if kind_of(met) is Kind.NUMBER and not is_number(met) else None


def _order(accepts: Callable[[int], bool]) -> Comparison:
    def compare(met: JsonValue, operand: tuple[JsonValue, Any]) -> FailReason | None:
        value, moment = operand
        if isinstance(value, str):
            if not isinstance(met, str):
                return FailReason.WRONG_TYPE
            if moment is None:
                text = normalize(met)
                return _verdict(holds=accepts((text > value) - (text < value)))
            met_moment = parse_time(met)
            if met_moment is None:
                return FailReason.WRONG_TYPE
            return _verdict(holds=accepts((met_moment > moment) - (met_moment < moment)))
        if kind_of(met) is not Kind.NUMBER:
            return FailReason.WRONG_TYPE
        if not is_number(met):
            return FailReason.UNCOMPARABLE_NUMBER
        return _verdict(holds=accepts(compare_numbers(cast(float, met), cast(float, value))))

    return compare


def _is_in(met: JsonValue, operands: tuple[JsonValue, ...]) -> FailReason | None:
    if any(are_equal(met, operand) for operand in operands):
        return None
    if all(kind_of(met) is not kind_of(operand) for operand in operands):
        return FailReason.WRONG_TYPE
    return _uncomparable(met) or FailReason.DIFFERENT


def _is_not_in(met: JsonValue, operands: tuple[JsonValue, ...]) -> FailReason | None:
    return _verdict(holds=not any(are_equal(met, operand) for operand in operands))


def _contains(met: JsonValue, operand: JsonValue) -> FailReason | None:
    if isinstance(met, list):
        return _verdict(holds=any(are_equal(item, operand) for item in met))
    if not isinstance(met, str) or not isinstance(operand, str):
        return FailReason.WRONG_TYPE
    return _verdict(holds=operand in normalize(met))


def _on_text(holds: Callable[[str, str], bool]) -> Comparison:
    def compare(met: JsonValue, operand: str) -> FailReason | None:
        if not isinstance(met, str):
            return FailReason.WRONG_TYPE
        return _verdict(holds=holds(normalize(met), operand))

    return compare


def _matches(met: JsonValue, pattern: Pattern) -> FailReason | None:
    if not isinstance(met, str):
        return FailReason.WRONG_TYPE
    if len(met) > LONGEST_MATCHED:
        return FailReason.TOO_LONG
    # RE2 reads UTF-8, which can't spell half a character.
    text = normalize(met).encode("utf-8", "replace").decode()
    return _verdict(holds=pattern.search(text) is not None)


def _exists(met: Value, expected: bool) -> FailReason | None:
    if isinstance(met, Missing):
        return FailReason.MISSING if expected else None
    return _verdict(holds=expected)


def _changed(pair: tuple[Value, Value], expected: bool) -> FailReason | None:
    met, previous = pair
    if isinstance(previous, Missing) and previous.absent == "previous":
        return FailReason.NO_PREVIOUS
    if isinstance(met, Missing) or isinstance(previous, Missing):
        has_changed = isinstance(met, Missing) is not isinstance(previous, Missing)
    else:
        has_changed = not are_equal(met, previous)
    return _verdict(holds=has_changed is expected)


OPERATORS: dict[OperatorName, Operator] = {
    OperatorName.EQUAL: Operator(_scalar, _equal),
    OperatorName.UNEQUAL: Operator(_scalar, _unequal),
    OperatorName.LESS: Operator(_ordered, _order(lambda sign: sign < 0)),
    OperatorName.LESS_OR_EQUAL: Operator(_ordered, _order(lambda sign: sign <= 0)),
    OperatorName.GREATER: Operator(_ordered, _order(lambda sign: sign > 0)),
    OperatorName.GREATER_OR_EQUAL: Operator(_ordered, _order(lambda sign: sign >= 0)),
    OperatorName.IN: Operator(_scalars, _is_in),
    OperatorName.NOT_IN: Operator(_scalars, _is_not_in),
    OperatorName.CONTAINS: Operator(_scalar, _contains),
    OperatorName.STARTS_WITH: Operator(_text, _on_text(str.startswith)),
    OperatorName.ENDS_WITH: Operator(_text, _on_text(str.endswith)),
    OperatorName.MATCHES: Operator(compile_pattern, _matches),
    OperatorName.EXISTS: Operator(_truth, _exists, reads="any"),
    OperatorName.CHANGED: Operator(_truth, _changed, reads="pair"),
}
