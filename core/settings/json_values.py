"""Settings that are JSON in a variable."""

import json


def read_json(value: object, shape: str) -> object:
    """What a variable's text says; what is no text is taken as it is.

    Args:
        shape: what it should be, for the message (``list of models``).

    Raises:
        ValueError: it is no JSON.
    """
    if not isinstance(value, str):
        return value
    try:
        return json.loads(value)
    except ValueError:
        raise ValueError(f"is not a JSON {shape}") from None
