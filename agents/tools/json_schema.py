"""Values checked against JSON Schemas; what checks them is loaded with the first value."""

from importlib import import_module

from pydantic import JsonValue


def schema_fault(schema: dict[str, JsonValue], value: JsonValue) -> str:
    """The first thing that keeps a value from fitting a JSON Schema, without the value.

    A schema that is none itself lets everything through, as one does that costs too much.
    """
    return import_module("agents.tools.json_schema_validator").schema_fault(schema, value)
