"""Conditions joined, grouped and traced."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rules.language.conditions.evaluation import LONGEST_TRACED_VALUE, GroupTrace, compile_conditions
from rules.language.conditions.operators import FailReason, OperatorName
from tests.fixtures.rules.rule_parts import ABSENT, JSON, conditions, context, name_case, nested


def leaf(field: str, logic: str = "AND") -> dict[str, Any]:
    return {"field": field, "operator": "==", "value": True, "logic": logic}


def group(*nodes: Any, logic: str = "AND", negate: bool = False) -> dict[str, Any]:
    return {"conditions": list(nodes), "logic": logic, "negate": negate}


def holds(data: Any, *nodes: Any) -> bool:
    return compile_conditions(conditions(*nodes)).holds(context(data))


VALUES = {
    OperatorName.IN: ["Ada", 1],
    OperatorName.NOT_IN: ["Ada", 1],
    OperatorName.EXISTS: True,
    OperatorName.CHANGED: None,
}
LEAVES = st.builds(
    lambda field, operator, value, logic: {
        "field": field,
        "operator": operator.value,
        "value": VALUES.get(operator, value),
        "logic": logic,
    },
    st.sampled_from(["player", "player.name", "items[0]", "health"]),
    st.sampled_from(list(OperatorName)),
    st.sampled_from(["Ada", "2026-03-17T09:00:00Z", "a+"]),
    st.sampled_from(["AND", "OR"]),
)
NODES = st.lists(
    LEAVES
    | st.builds(
        lambda nodes, negate: group(*nodes, negate=negate), st.lists(LEAVES, min_size=1, max_size=3), st.booleans()
    ),
    min_size=1,
    max_size=4,
)


@pytest.mark.parametrize(
    ("a", "b", "c", "expected"),
    [(1, 0, 0, True), (0, 1, 1, True), (0, 1, 0, False), (0, 0, 1, False), (0, 0, 0, False), (1, 1, 1, True)],
)
def test_and_binds_tighter_than_or(a: int, b: int, c: int, expected: bool):
    data = {"a": bool(a), "b": bool(b), "c": bool(c)}
    assert holds(data, leaf("a"), leaf("b", "OR"), leaf("c", "AND")) is expected


def test_the_first_logic_is_ignored():
    assert not holds({"a": False, "b": True}, leaf("a", "OR"), leaf("b"))


def test_a_group_changes_the_order():
    data = {"a": True, "b": False, "c": False}
    assert holds(data, leaf("a"), leaf("b", "OR"), leaf("c"))
    assert not holds(data, group(leaf("a"), leaf("b", "OR")), leaf("c"))


def test_without_conditions_the_verdict_is_true():
    assert holds({})


@given(st.fixed_dictionaries({"a": JSON, "b": JSON}), st.sampled_from(["AND", "OR"]))
def test_de_morgan_holds_for_groups(data: Any, logic: str):
    other = "OR" if logic == "AND" else "AND"
    negated = group(leaf("a"), leaf("b", logic), negate=True)
    apart = group(leaf("a"), negate=True), group(leaf("b"), logic=other, negate=True)
    assert holds(data, negated) == holds(data, *apart)


@given(JSON, JSON | st.just(ABSENT), NODES)
def test_evaluation_never_raises_and_the_trace_agrees(data: Any, previous: Any, nodes: list[Any]):
    compiled = compile_conditions(conditions(*nodes))
    seen = context(data, previous=previous)
    trace = compiled.trace(seen)
    assert trace.holds is compiled.holds(seen)
    assert len(trace.conditions) == len(nodes)
    for entry in trace.conditions:
        if not isinstance(entry, GroupTrace):
            assert entry.holds is (entry.reason is None)
            assert len(entry.value or "") <= LONGEST_TRACED_VALUE
            assert entry.holds or (entry.explanation and entry.explanation_zh)


@pytest.mark.parametrize(
    "value", [nested(100_000), 10**5000, "\ud800" * 1000, {"a": "x" * 100_000}, float("nan")], ids=name_case
)
def test_a_hostile_value_is_traced_within_bounds(value: Any):
    compiled = compile_conditions(conditions({"field": "x", "operator": "==", "value": 1}))
    (entry,) = compiled.trace(context({"x": value})).conditions
    assert not isinstance(entry, GroupTrace)
    assert entry.value is not None
    assert len(entry.value.encode()) <= 4 * LONGEST_TRACED_VALUE
    assert not entry.holds


def test_a_trace_names_what_was_met_and_what_is_missing():
    compiled = compile_conditions(
        conditions(
            {"field": "player.health", "operator": "<", "value": 20},
            group({"field": "player.nick", "operator": "==", "value": "x"}, negate=True),
        )
    )
    first, second = compiled.trace(context({"player": {"health": "12"}})).conditions
    assert not isinstance(first, GroupTrace)
    assert (first.value, first.reason) == ('"12"', FailReason.WRONG_TYPE)
    assert isinstance(second, GroupTrace)
    assert second.holds
    (inner,) = second.conditions
    assert not isinstance(inner, GroupTrace)
    assert (inner.value, inner.explanation) == (None, "The event has no player.nick")


def test_a_traced_value_is_json():
    compiled = compile_conditions(conditions({"field": "x", "operator": "exists"}))
    (entry,) = compiled.trace(context({"x": {"a": [1, None, "é"], "b": {}}})).conditions
    assert not isinstance(entry, GroupTrace)
    assert json.loads(entry.value or "") == {"a": [1, None, "é"], "b": {}}


def test_conditions_say_what_they_read():
    plain = compile_conditions(conditions({"field": "x", "operator": "exists"}))
    assert not plain.reads_previous
    assert not plain.reads_state
    changed = compile_conditions(conditions(group({"field": "x", "operator": "changed"})))
    assert changed.reads_previous
    assert compile_conditions(conditions({"field": "previous.x", "operator": "exists"})).reads_previous
    assert compile_conditions(conditions({"field": "state.x", "operator": "exists"})).reads_state
