"""JSON Patch (RFC 6902) for shared state: add, replace, remove, test.

The library jsonpatch takes a third longer, and applies ``move`` and ``copy``, which our streams
never send and the verifier must refuse.
"""

from copy import deepcopy

from pydantic import JsonValue

from core.json_access import as_object, as_text


class InapplicablePatch(ValueError):
    """The path does not exist, or the operation is not supported."""


def apply_patch(document: JsonValue, operations: list[JsonValue]) -> JsonValue:
    """Apply the operations to a copy of the document."""
    # A root above the document makes the whole document a member like any other.
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
        index = len(parent) if key == "-" else _index(parent, key, end=1)
        parent.insert(index, value)
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
