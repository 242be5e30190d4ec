"""Settings that are JSON in a variable."""

import json


def read_json(value: object, shape: str) -> object:
    """The JSON value of a variable's text; other types are returned unchanged.

    Args:
        shape: the expected shape, for the message (``list of models``).

    Raises:
        ValueError: the text is no JSON.
    """
    if not isinstance(value, str):
        return value
    try:
        return json.loads(value)
    except ValueError:
        raise ValueError(f"is not a JSON {shape}") from None
