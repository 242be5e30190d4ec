"""Examples and defaults of the OpenAPI document: valid by its own schemas."""

from collections.abc import Iterator, Mapping
from typing import Any

import pytest
from jsonschema import Draft202012Validator, FormatChecker

from api.app import create_app
from core.settings import Settings

# Keywords whose values are schemas by names that are no keywords.
_BY_NAME = frozenset({"properties", "patternProperties", "$defs", "schemas"})
_VALUES = frozenset({"example", "examples", "default", "enum", "const"})
_FORMATS = FormatChecker()
Shown = tuple[str, Mapping[str, Any], Any]


@pytest.fixture(scope="module")
def document(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    settings = Settings(_env_file=None, data_dir=tmp_path_factory.mktemp("app"))
    return create_app(settings).openapi()


def find_examples(part: Any, place: str = "") -> Iterator[Shown]:
    """Everything that the document shows: where, the schema that it should fit, the value."""
    if isinstance(part, list):
        for number, inner in enumerate(part):
            yield from find_examples(inner, f"{place}/{number}")
    if not isinstance(part, dict):
        return
    yield from shown_here(part, place)
    for name, inner in part.items():
        if name in _BY_NAME:
            for key, one in inner.items():
                yield from find_examples(one, f"{place}/{name}/{key}")
        elif name not in _VALUES:
            yield from find_examples(inner, f"{place}/{name}")


def shown_here(part: dict[str, Any], place: str) -> Iterator[Shown]:
    # A parameter or a body has its schema beside its examples; a schema is its examples' own.
    schema = part.get("schema", part)
    examples = part.get("examples", [])
    if isinstance(examples, dict):
        examples = [one["value"] for one in examples.values()]
    for number, one in enumerate(examples):
        yield f"{place}/examples/{number}", schema, one
    for name in ("example", "default"):
        if name in part:
            yield f"{place}/{name}", schema, part[name]


def faults(document: dict[str, Any]) -> list[str]:
    found: list[str] = []
    for place, schema, value in find_examples(document):
        # References are read from the root.
        whole = {**schema, "components": document["components"]}
        checker = Draft202012Validator(whole, format_checker=_FORMATS)
        found += [f"{place}: {error.message}" for error in checker.iter_errors(value)]
    return found


def test_examples_and_defaults_fit_their_schemas(document: dict[str, Any]):
    assert len(list(find_examples(document))) > 100
    assert faults(document) == []


def test_example_that_does_not_fit_is_noticed(document: dict[str, Any]):
    wrong = {
        "components": document["components"],
        "paths": {"/x": {"get": {"requestBody": {"content": {"application/json": {
            "schema": {"type": "object", "required": ["a"]}, "example": {"b": 1}}}}}}},
    }  # fmt: skip
    assert len(faults(wrong)) == len(faults({"components": wrong["components"]})) + 1
