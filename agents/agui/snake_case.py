"""Snake_case mirror of wire events (docs/reference/agentex-api.md, section 12)."""

import re
from functools import lru_cache

from pydantic import JsonValue

_HUMP = re.compile(r"(?<=[a-z0-9])([A-Z])")
# The fields whose values are made of protocol keys; all other values are data of the user, a
# tool or a strategy and keep theirs.
_PROTOCOL_VALUES = frozenset({"function", "input", "interrupts", "messages", "outcome", "source", "toolCalls", "usage"})


def to_snake_case(event: dict[str, JsonValue]) -> dict[str, JsonValue]:
    """A camelCase event with its protocol keys in snake_case; results, state and contents stay."""
    return {_snake(key): _value(key, value) for key, value in event.items()}


def _value(key: str, value: JsonValue) -> JsonValue:
    # A content of parts is protocol; a content that is text or an activity's object is data.
    is_protocol = key in _PROTOCOL_VALUES or (key == "content" and isinstance(value, list))
    if not is_protocol:
        return value
    if isinstance(value, list):
        return [to_snake_case(item) if isinstance(item, dict) else item for item in value]
    return to_snake_case(value) if isinstance(value, dict) else value


# The keys of the protocol recur in every event; others may be anything.
@lru_cache(maxsize=256)
def _snake(key: str) -> str:
    return _HUMP.sub(r"_\1", key).lower()
