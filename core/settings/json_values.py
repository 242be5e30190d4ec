"""Settings that are JSON in a variable."""

import json


def read_json(value: object, shape: str) -> object:
    """The JSON value of a variable's text, other types unchanged.

    A ``ValueError`` names the expected ``shape`` (``list of models``).
    """
    if not isinstance(value, str):
        return value
    try:
        return json.loads(value)
    except ValueError:
        raise ValueError(f"is not a JSON {shape}") from None
