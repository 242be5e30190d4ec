"""Arguments of tool calls as models write them, and as requests repeat them."""

from pydantic import JsonValue

from core.json_access import parse

NO_ARGUMENTS = "{}"


def canonical_arguments(text: str) -> str:
    """The JSON object that a model meant: none and ``null`` are ``{}``, a string that holds an object is that object.

    Any other text stays as it is, to be refused with the reason.
    """
    value = _value_of(text)
    if isinstance(value, str):
        return value if isinstance(_value_of(value), dict) else text
    return NO_ARGUMENTS if value is None else text


def replayable_arguments(text: str) -> str:
    """The arguments of an earlier call as a JSON object, which endpoints require; ``{}`` if they were none."""
    canonical = canonical_arguments(text)
    return canonical if isinstance(_value_of(canonical), dict) else NO_ARGUMENTS


def _value_of(text: str) -> JsonValue:
    """The value of a JSON text, None if there is no text; False, which is no object either, if it is not JSON."""
    if not text.strip():
        return None
    try:
        return parse(text)
    except ValueError:
        return False
