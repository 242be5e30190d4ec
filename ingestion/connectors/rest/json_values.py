"""Values of JSON whose shape nobody promises: what is of another kind is empty."""

from collections.abc import Mapping
from typing import Any, cast

JsonMapping = Mapping[str, Any]


def as_mapping(value: object) -> JsonMapping:
    """An object, or an empty one."""
    return cast("JsonMapping", value) if isinstance(value, dict) else {}


def as_items(value: object) -> list[object]:
    """A list, or an empty one."""
    return cast("list[object]", value) if isinstance(value, list) else []


def as_texts(value: object) -> list[str]:
    """The texts of a list."""
    return [item for item in as_items(value) if isinstance(item, str)]


def as_text(value: object) -> str:
    """A text, or an empty one."""
    return value if isinstance(value, str) else ""
