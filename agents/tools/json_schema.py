"""Lazy entry point to JSON Schema validation: the validator is imported with the first value."""

from importlib import import_module

from pydantic import JsonValue


def schema_fault(schema: dict[str, JsonValue], value: JsonValue) -> str:
    """The first violation of a JSON Schema, without the value; empty if it fits.

    An invalid schema, or one that costs too much to check, accepts everything.
    """
    return import_module("agents.tools.json_schema_validator").schema_fault(schema, value)
