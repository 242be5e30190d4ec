"""Metadata of documents: what may be stored, and what is refused."""

import json
import math

import pytest

from core.errors.requests import InvalidRequest
from kb_service.documents.metadata import parse_attributes, validate_attributes


def test_flat_values_of_every_kind_are_taken_as_they_are():
    value = {
        "author": "王小明",
        "year": 2026,
        "score": -0.5,
        "draft": False,
        "tags": ["a", "b"],
        "none": [],
    }
    assert validate_attributes(value) == value
    assert parse_attributes(json.dumps(value)) == value
    assert validate_attributes({}) == {}


@pytest.mark.parametrize(
    "value",
    [
        None,
        [],
        "text",
        {"a": None},
        {"a": {"b": 1}},
        {"a": [1]},
        {"a": [["b"]]},
        {"a": ["b"] * 51},
        {"a": "x" * 1001},
        {"a": ["x" * 1001]},
        {"a": 2**53},
        {"a": math.nan},
        {"a": math.inf},
        {"": 1},
        {" ": 1},
        {"k" * 65: 1},
        {"a\x00": 1},
        {"a": "b\x00"},
        {"a": "\ud800"},
        {f"k{n}": 1 for n in range(21)},
        {f"k{n}": "x" * 1000 for n in range(9)},
    ],
)
def test_anything_else_is_refused(value: object):
    with pytest.raises(InvalidRequest) as error:
        validate_attributes(value)
    assert error.value.details["field"] == "metadata"


@pytest.mark.parametrize("text", ["", "{", "nul", "[]", '{"a": NaN}', "[" * 100_000])
def test_text_that_is_no_json_object_is_refused(text: str):
    with pytest.raises(InvalidRequest):
        parse_attributes(text)
