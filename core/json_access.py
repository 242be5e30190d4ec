"""Reads of foreign JSON without trust in its shape: a wrong type reads as absent."""

import math

import orjson
from pydantic import JsonValue


def parse(text: str | bytes) -> JsonValue:
    """The JSON value of the text; raises ``ValueError``."""
    return orjson.loads(text)


def as_object(value: JsonValue) -> dict[str, JsonValue]:
    """The value if it is an object, else an empty one."""
    return value if isinstance(value, dict) else {}


def as_list(value: JsonValue) -> list[JsonValue]:
    """The value if it is an array, else an empty one."""
    return value if isinstance(value, list) else []


def as_text(value: JsonValue) -> str:
    """The value if it is a string, else the empty string."""
    return value if isinstance(value, str) else ""


def as_count(value: JsonValue) -> int:
    """The value if it is a whole number of zero or more, else 0."""
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 0


def as_number(value: JsonValue) -> float:
    """The value if it is a number, else not a number (``nan``)."""
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else math.nan
