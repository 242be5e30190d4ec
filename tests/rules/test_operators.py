"""The operators of conditions."""

from typing import Any

import pytest

from rules.language.conditions.operators import (
    LONGEST_MATCHED,
    LONGEST_OPERAND,
    MOST_OPERANDS,
    OPERATORS,
    FailReason,
    OperatorName,
    check,
)
from rules.language.conditions.paths import Missing
from rules.language.conditions.patterns import LONGEST_PATTERN
from rules.language.errors import InvalidOperand, InvalidPattern
from tests.fixtures.rules.rule_parts import name_case, nested

MISSING = Missing("field")
FIRST = Missing("previous")


def verdict(met: Any, operator: str, value: Any = None, previous: Any = FIRST) -> FailReason | None:
    entry = OPERATORS[OperatorName(operator)]
    return check(entry, met, previous, entry.prepare(value))


@pytest.mark.parametrize(
    ("met", "operator", "value"),
    [
        ("Ada", "==", "Ada"),
        ("e\u0301", "==", "é"),
        (1, "==", 1.0),
        (0.1, "==", 0.1),
        (10**23, "==", 1e23),
        (2**53 + 1, "!=", float(2**53)),
        (2**53 + 1, ">", 2**53),
        (True, "!=", 1),
        (None, "==", None),
        ("1", "!=", 1),
        ("ada", "!=", "Ada"),
        ("2026-03-17T09:00:00+08:00", "==", "2026-03-17T01:00:00Z"),
        ("2026-03-17T09:00:00+08:00", "<", "2026-03-17T02:00:00Z"),
        ("2026-03-17T01:00:00.5Z", ">", "2026-03-17T01:00:00Z"),
        (19.99, "<", 20),
        (20, "<=", 20),
        (10**300, ">", 1e299),
        (-1, ">=", -1.0),
        ("apple", "<", "banana"),
        ("b", "in", ["a", "b"]),
        (3, "in", [1, 3.0]),
        ("c", "not_in", ["a", "b"]),
        (1, "not_in", ["1", True]),
        ("caf\u00e9 au lait", "contains", "e\u0301 au"),
        (["x", 2], "contains", 2),
        ("player_join", "starts_with", "player"),
        ("player_join", "ends_with", "join"),
        ("order 4711", "matches", r"\b\d{4}$"),
        ("玩家", "matches", "^玩.$"),
        ({}, "exists", None),
        (None, "exists", True),
        (MISSING, "exists", False),
    ],
    ids=name_case,
)
def test_a_condition_is_true(met: Any, operator: str, value: Any):
    assert verdict(met, operator, value) is None


@pytest.mark.parametrize(
    ("met", "operator", "value", "reason"),
    [
        ("20", "<", 21, FailReason.WRONG_TYPE),
        (True, "<", 2, FailReason.WRONG_TYPE),
        (True, "==", 1, FailReason.WRONG_TYPE),
        (5, "contains", "5", FailReason.WRONG_TYPE),
        (5, "matches", "5", FailReason.WRONG_TYPE),
        ({"a": 1}, "in", ["a"], FailReason.WRONG_TYPE),
        ("yesterday", "<", "2026-03-17T02:00:00Z", FailReason.WRONG_TYPE),
        ("2026-03-17T02:00:00", "<", "2026-03-17T02:00:00Z", FailReason.WRONG_TYPE),
        (float("nan"), "==", 1, FailReason.UNCOMPARABLE_NUMBER),
        (float("inf"), ">", 1, FailReason.UNCOMPARABLE_NUMBER),
        (10**5000, ">", 1, FailReason.UNCOMPARABLE_NUMBER),
        (0.1 + 0.2, "==", 0.3, FailReason.DIFFERENT),
        ("x" * (LONGEST_MATCHED + 1), "matches", "x", FailReason.TOO_LONG),
        (MISSING, "!=", "admin", FailReason.MISSING),
        (MISSING, "not_in", ["admin"], FailReason.MISSING),
        (MISSING, "exists", True, FailReason.MISSING),
        (0, "exists", False, FailReason.DIFFERENT),
        ("admin", "!=", "admin", FailReason.DIFFERENT),
        ("a", "in", ["b"], FailReason.DIFFERENT),
    ],
    ids=name_case,
)
def test_a_condition_is_false_and_says_why(met: Any, operator: str, value: Any, reason: FailReason):
    assert verdict(met, operator, value) is reason


@pytest.mark.parametrize(
    ("met", "previous", "value", "reason"),
    [
        (1, 2, None, None),
        (1, 1.0, None, FailReason.DIFFERENT),
        (1, 1.0, False, None),
        (MISSING, 1, None, None),
        (1, Missing("player"), None, None),
        (MISSING, Missing("player"), None, FailReason.DIFFERENT),
        (1, FIRST, None, FailReason.NO_PREVIOUS),
        (1, FIRST, False, FailReason.NO_PREVIOUS),
        ({"a": [1]}, {"a": [1.0]}, False, None),
        ({"a": [1]}, {"a": [2]}, None, None),
    ],
)
def test_changed_compares_with_the_previous_event(met: Any, previous: Any, value: Any, reason: FailReason | None):
    assert verdict(met, "changed", value, previous) is reason


@pytest.mark.parametrize(
    ("operator", "value"),
    [
        ("==", [1]),
        ("==", float("nan")),
        ("<", 10**5000),
        ("<", True),
        ("<", None),
        ("==", "x" * (LONGEST_OPERAND + 1)),
        ("in", "a"),
        ("in", []),
        ("in", [1] * (MOST_OPERANDS + 1)),
        ("in", [[1]]),
        ("starts_with", ""),
        ("exists", "yes"),
        ("changed", 1),
    ],
    ids=name_case,
)
def test_a_value_that_an_operator_can_not_use_is_refused(operator: str, value: Any):
    with pytest.raises(InvalidOperand):
        OPERATORS[OperatorName(operator)].prepare(value)


@pytest.mark.parametrize(
    "pattern",
    ["(a", "(?=a)", r"(a)\1", "", 5, ["a"], "a" * (LONGEST_PATTERN + 1), "((a{1000}){1000}){1000}", "\ud800"],
)
def test_a_pattern_that_is_not_linear_or_not_valid_is_refused(pattern: Any):
    with pytest.raises(InvalidPattern) as caught:
        OPERATORS[OperatorName.MATCHES].prepare(pattern)
    assert caught.value.error
    assert caught.value.error_zh


@pytest.mark.parametrize("pattern", ["(a+)+$", "(a|aa)+$", "(.*a){20}b", "(a*)*b"])
def test_a_bomb_of_a_pattern_ends(pattern: str):
    assert verdict("a" * 50_000 + "!", "matches", pattern) is FailReason.DIFFERENT


def test_combining_marks_do_not_take_quadratic_time():
    marks = "a" + "\u0315\u0300" * 500_000
    assert verdict(marks, "contains", "b") is FailReason.DIFFERENT


def test_deep_values_are_compared_without_an_error():
    assert verdict(nested(100_000), "changed", None, nested(100_000)) is None
