"""The shapes and examples of event types."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rules.language.event_types import MOST_DEPTH, MOST_FIELDS, example_of, merge_shapes, shape_from_schema, shape_of
from tests.fixtures.rules.rule_parts import JSON, nested

SMALL = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
    max_leaves=8,
)


def field_count(shape: Any) -> int:
    if isinstance(shape, dict):
        return len(shape) + sum(field_count(inner) for inner in shape.values())
    return sum(field_count(inner) for inner in shape) if isinstance(shape, list) else 0


def test_a_shape_is_nested_as_the_data_is():
    sample = {"player": {"name": "Ada", "level": 7, "tags": ["x"], "nick": None, "online": True}, "items": []}
    assert shape_of(sample) == {
        "player": {"name": "string", "level": "number", "tags": ["string"], "nick": "null", "online": "boolean"},
        "items": [],
    }


@pytest.mark.parametrize(
    ("left", "right", "merged"),
    [
        ({"a": 1}, {"a": "x"}, {"a": "string|number"}),
        ({"a": 1}, {"b": "x"}, {"a": "number", "b": "string"}),
        ([1], ["x", None], ["string|number|null"]),
        ([], [True], ["boolean"]),
        ([{"a": 1}], [{"b": 1}], [{"a": "number", "b": "number"}]),
        ({"a": {"b": 1}}, {"a": None}, {"a": {"b": "number"}}),
        ({"a": [1]}, {"a": "x"}, {"a": ["number"]}),
    ],
)
def test_shapes_of_samples_are_merged(left: Any, right: Any, merged: Any):
    assert merge_shapes(shape_of(left), shape_of(right)) == merged


@given(SMALL, SMALL, SMALL)
def test_merging_takes_samples_in_any_order(a: Any, b: Any, c: Any):
    x, y, z = shape_of(a), shape_of(b), shape_of(c)
    assert merge_shapes(x, x) == x
    assert merge_shapes(x, y) == merge_shapes(y, x)
    assert merge_shapes(merge_shapes(x, y), z) == merge_shapes(x, merge_shapes(y, z))


@given(JSON)
def test_any_json_has_a_shape_and_an_example(sample: Any):
    json.dumps(shape_of(sample)).encode()
    text = json.dumps(example_of(sample), allow_nan=False)
    assert json.loads(text) == example_of(sample)


@pytest.mark.parametrize(
    "sample",
    [
        {f"k{number}": {f"j{inner}": 1 for inner in range(50)} for number in range(500)},
        [{f"k{number}": 1} for number in range(5_000)],
        nested(100_000),
        {"x" * 10_000: 1},
        {"a": "secret " * 10_000},
    ],
    ids=["wide", "list", "deep", "long name", "long text"],
)
def test_a_hostile_sample_is_kept_within_bounds(sample: Any):
    for shape in (shape_of(sample), merge_shapes(shape_of(sample), shape_of({"z": 1}))):
        assert field_count(shape) <= MOST_FIELDS
        assert "secret" not in json.dumps(shape)
    assert field_count(example_of(sample)) <= MOST_FIELDS
    assert len(json.dumps(example_of(sample))) <= 30_000


def test_what_is_near_the_root_stays():
    sample = {"big": {f"k{number}": 1 for number in range(500)}, "small": {"x": 1}, "last": 1}
    shape = shape_of(sample)
    assert isinstance(shape, dict)
    assert list(shape) == ["big", "small", "last"]


def test_deeper_levels_are_named_by_their_type():
    sample: Any = {"end": 1}
    for _ in range(MOST_DEPTH):
        sample = {"a": sample}
    shape: Any = shape_of(sample)
    for _ in range(MOST_DEPTH):
        shape = shape["a"]
    assert shape == "object"


def test_an_example_is_cut():
    sample = {"text": "x" * 500, "list": list(range(10)), "big": 10**400, "nan": float("nan")}
    example = example_of(sample)
    assert example == {"text": "x" * 99 + "…", "list": [0, 1, 2], "big": None, "nan": None}


@pytest.mark.parametrize(
    ("schema", "shape"),
    [
        (
            {"type": "object", "properties": {"player": {"properties": {"name": {"type": "string"}}}}},
            {"player": {"name": "string"}},
        ),
        ({"properties": {"n": {"type": ["integer", "null"]}}}, {"n": "number|null"}),
        ({"properties": {"l": {"type": "array", "items": {"type": "number"}}}}, {"l": ["number"]}),
        ({"properties": {"l": {"type": "array"}, "x": {}}}, {"l": [], "x": "any"}),
        ({"properties": {"e": {"enum": ["a", 1]}, "c": {"const": True}}}, {"e": "string|number", "c": "boolean"}),
        ({"properties": {"u": {"anyOf": [{"type": "string"}, {"type": "null"}]}}}, {"u": "string|null"}),
        ({"$ref": "#/$defs/p", "$defs": {"p": {"properties": {"a": {"type": "string"}}}}}, {"a": "string"}),
        (
            {"allOf": [{"properties": {"a": {"type": "string"}}}, {"properties": {"b": {}}}]},
            {"a": "string", "b": "any"},
        ),
        ({"$ref": "#"}, "any"),
        ({"$ref": "https://example.com/schema"}, "any"),
        (True, "any"),
        ("x", "any"),
    ],
)
def test_a_schema_declares_a_shape(schema: Any, shape: Any):
    assert shape_from_schema(schema) == shape


def test_a_schema_that_refers_to_itself_is_cut():
    tree = {"$ref": "#/$defs/t", "$defs": {"t": {"properties": {c: {"$ref": "#/$defs/t"} for c in "abcdef"}}}}
    assert field_count(shape_from_schema(tree)) <= MOST_FIELDS
    doubled = {"anyOf": [{"$ref": "#"}, {"$ref": "#"}]}
    assert shape_from_schema(doubled) == "any"


@given(JSON)
def test_any_json_is_read_as_a_schema(schema: Any):
    json.dumps(shape_from_schema({"properties": schema, "items": schema, "anyOf": schema, "enum": schema}))
