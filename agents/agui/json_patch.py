"""The JSON Patch operations (RFC 6902) that shared state needs: add, replace, remove, test."""

from copy import deepcopy

from pydantic import JsonValue

from core.json_access import as_object, as_text


class InapplicablePatch(ValueError):
    """An operation names a place that does not exist, or is none that is known here."""


def apply_patch(document: JsonValue, operations: list[JsonValue]) -> JsonValue:
    """The document after the operations; the given one stays as it is.

    Raises:
        InapplicablePatch: An operation can't be applied.
    """
    # One root above the document, so that the whole document is a member like any other.
    root: dict[str, JsonValue] = {"": deepcopy(document)}
    for operation in operations:
        _apply(root, as_object(operation))
    return root[""]


def _apply(root: dict[str, JsonValue], operation: dict[str, JsonValue]) -> None:
    path = as_text(operation.get("path"))
    keys = [key.replace("~1", "/").replace("~0", "~") for key in path.split("/")]
    parent: JsonValue = root
    for key in keys[:-1]:
        parent = _member(parent, key)
    value = deepcopy(operation.get("value"))
    match operation.get("op"):
        case "add":
            _add(parent, keys[-1], value)
        case "replace":
            _remove(parent, keys[-1])
            _add(parent, keys[-1], value)
        case "remove":
            _remove(parent, keys[-1])
        case "test" if _member(parent, keys[-1]) == value:
            pass
        case _:
            raise InapplicablePatch("the operation fails or is not known")


def _member(parent: JsonValue, key: str) -> JsonValue:
    if isinstance(parent, dict) and key in parent:
        return parent[key]
    if isinstance(parent, list):
        return parent[_index(parent, key)]
    raise InapplicablePatch("the path does not exist")


def _add(parent: JsonValue, key: str, value: JsonValue) -> None:
    if isinstance(parent, dict):
        parent[key] = value
    elif isinstance(parent, list):
        place = len(parent) if key == "-" else _index(parent, key, end=1)
        parent.insert(place, value)
    else:
        raise InapplicablePatch("the parent is no container")


def _remove(parent: JsonValue, key: str) -> None:
    _member(parent, key)
    if isinstance(parent, dict):
        del parent[key]
    elif isinstance(parent, list):
        del parent[_index(parent, key)]


def _index(parent: list[JsonValue], key: str, *, end: int = 0) -> int:
    if not key.isdecimal() or int(key) >= len(parent) + end:
        raise InapplicablePatch("the index does not exist")
    return int(key)
