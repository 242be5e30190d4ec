"""Parsing of ambiguous command line arguments: ids, names and JSON values."""

import json
import math
from typing import NoReturn
from uuid import UUID

from pydantic import JsonValue


def is_id(text: str) -> bool:
    """Whether a text has the form of the server's ids."""
    try:
        return str(UUID(text)) == text
    except ValueError:
        return False


def read_json(text: str) -> JsonValue:
    """A JSON value by the standard (RFC 8259), which every server reads alike; raises ``ValueError``."""
    try:
        return json.loads(text, parse_constant=_no_number, parse_float=_finite)
    except RecursionError:
        raise ValueError("nested too deeply") from None


def _no_number(word: str) -> NoReturn:
    raise ValueError(f"{word} is no JSON")


def _finite(digits: str) -> float:
    number = float(digits)
    if not math.isfinite(number):
        raise ValueError("beyond all numbers")
    return number
