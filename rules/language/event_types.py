"""What the events of a type look like: names and types, and an example.

The shape is nested as the data is: ``{"player": {"name": "string", "tags": ["string"]}}``. It holds no values.
"""

from collections.abc import Mapping, Sequence
from typing import cast

from pydantic import JsonValue

MOST_DEPTH = 8
MOST_FIELDS = 200
MOST_ITEMS = 3
LONGEST_FIELD_NAME = 100
LONGEST_EXAMPLE_VALUE = 100

Shape = JsonValue
"""A type such as ``string|number``, an object of shapes, or a list of at most one shape."""

_UNKNOWN = "any"
_ORDER = ("string", "number", "boolean", "object", "list", "null", _UNKNOWN)
_OF_SCHEMA = {"integer": "number", "array": "list"}
_MOST_REFERENCES = 20
_MOST_BITS = 64


def shape_of(sample: JsonValue) -> Shape:
    """The shape of an event's data, within the limits of depth and of fields."""
    return _bounded(_shape(sample, 0))


def merge_shapes(left: Shape, right: Shape) -> Shape:
    """The shape of what has either shape.

    Types are joined; where the one is an object or a list and the other is not, the more detailed of them stays. The order
    of the two makes no difference, as long as they have fewer fields than the limit.
    """
    return _bounded(_merge(left, right))


def shape_from_schema(schema: JsonValue) -> Shape:
    """The shape that a JSON Schema declares; what it leaves open is ``any``.

    References within the schema are followed; those that lead in circles or outside are ``any``.
    """
    root = schema if isinstance(schema, Mapping) else {}
    return _bounded(_SchemaReader(root).read(schema, 0, 0))


def example_of(sample: JsonValue) -> JsonValue:
    """An event's data as an example: texts cut to 100 characters, lists to three items, within the same limits."""
    return _Cutter().cut(sample, 0)


def _shape(value: JsonValue, depth: int) -> Shape:
    if isinstance(value, dict):
        if depth >= MOST_DEPTH:
            return "object"
        fields = list(value.items())[: MOST_FIELDS + 1]
        return {key: _shape(inner, depth + 1) for key, inner in fields if len(key) <= LONGEST_FIELD_NAME}
    if isinstance(value, list):
        if depth >= MOST_DEPTH:
            return "list"
        items: list[Shape] = []
        for item in value[:MOST_FIELDS]:
            shape = _shape(item, depth + 1)
            items = [_merge(items[0], shape) if items else shape]
        return items
    return _scalar_type(value)


def _scalar_type(value: JsonValue) -> str:
    if isinstance(value, str):
        return "string"
    if isinstance(value, bool):
        return "boolean"
    return "null" if value is None else "number"


def _merge(left: Shape, right: Shape) -> Shape:
    if isinstance(left, dict) or isinstance(right, dict):
        if not (isinstance(left, dict) and isinstance(right, dict)):
            return left if isinstance(left, dict) else right
        merged = dict(left)
        for key, shape in right.items():
            merged[key] = _merge(merged[key], shape) if key in merged else shape
        return merged
    if isinstance(left, list) or isinstance(right, list):
        if not (isinstance(left, list) and isinstance(right, list)):
            return left if isinstance(left, list) else right
        return [_merge(left[0], right[0])] if left and right else left or right
    return _join_types(str(left), str(right))


def _join_types(*types: str) -> str:
    names = {name for joined in types for name in joined.split("|") if name in _ORDER}
    return "|".join(sorted(names, key=_ORDER.index)) or _UNKNOWN


def _bounded(shape: Shape) -> Shape:
    """The shape without the fields beyond the limit; those nearest to the root stay."""
    left, level, sizes = MOST_FIELDS, [shape], dict[int, int]()
    while level:
        inner: list[Shape] = []
        for node in level:
            if isinstance(node, dict):
                sizes[id(node)] = min(len(node), left)
                left -= sizes[id(node)]
                inner += list(node.values())[: sizes[id(node)]]
            elif isinstance(node, list):
                inner += node
        level = inner
    return _copy(shape, sizes)


def _copy(shape: Shape, sizes: Mapping[int, int]) -> Shape:
    if isinstance(shape, dict):
        return {key: _copy(inner, sizes) for key, inner in list(shape.items())[: sizes.get(id(shape), 0)]}
    return [_copy(inner, sizes) for inner in shape] if isinstance(shape, list) else shape


class _SchemaReader:
    """A JSON Schema while it is read; ``_left`` bounds the nodes, since references multiply them."""

    def __init__(self, root: Mapping[str, JsonValue]) -> None:
        self._root = root
        self._left = 20 * MOST_FIELDS

    def read(self, schema: JsonValue, depth: int, references: int) -> Shape:
        self._left -= 1
        if not isinstance(schema, Mapping) or self._left < 0:
            return _UNKNOWN
        reference = schema.get("$ref")
        if isinstance(reference, str):
            is_too_long = references >= _MOST_REFERENCES
            return _UNKNOWN if is_too_long else self.read(self._resolve(reference), depth, references + 1)
        choices = [choice for name in ("anyOf", "oneOf", "allOf") for choice in _list_of(schema.get(name))]
        shapes = [self._own(schema, depth)] if not choices or "properties" in schema or "type" in schema else []
        if references < _MOST_REFERENCES:
            shapes += [self.read(choice, depth, references + 1) for choice in choices[:MOST_FIELDS]]
        merged = shapes[0] if shapes else _UNKNOWN
        for shape in shapes[1:]:
            merged = _merge(merged, shape)
        return merged

    def _resolve(self, reference: str) -> JsonValue:
        if not reference.startswith("#"):
            return None
        node: JsonValue = cast(JsonValue, self._root)
        for step in reference[1:].split("/")[1:]:
            key = step.replace("~1", "/").replace("~0", "~")
            node = node.get(key) if isinstance(node, Mapping) else None
        return node

    def _own(self, schema: Mapping[str, JsonValue], depth: int) -> Shape:
        declared = schema.get("type")
        types = [name for name in _list_of(declared) or [declared] if isinstance(name, str)]
        properties = schema.get("properties")
        if isinstance(properties, Mapping) or types[:1] == ["object"]:
            return self._object(properties if isinstance(properties, Mapping) else {}, depth)
        if "array" in types or "items" in schema:
            if depth >= MOST_DEPTH:
                return "list"
            return [self.read(schema["items"], depth + 1, 0)] if "items" in schema else []
        values = _list_of(schema.get("enum")) or ([schema["const"]] if "const" in schema else [])
        if not types and values:
            return _join_types(*(str(shape) for value in values if isinstance(shape := _shape(value, 0), str)))
        return _join_types(*(_OF_SCHEMA.get(name, name) for name in types))

    def _object(self, properties: Mapping[str, JsonValue], depth: int) -> Shape:
        if depth >= MOST_DEPTH:
            return "object"
        fields = list(properties.items())[: MOST_FIELDS + 1]
        return {key: self.read(inner, depth + 1, 0) for key, inner in fields if len(key) <= LONGEST_FIELD_NAME}


def _list_of(value: JsonValue) -> Sequence[JsonValue]:
    return value if isinstance(value, list) else []


class _Cutter:
    """An example while it is made: what counts against the limit of fields."""

    def __init__(self) -> None:
        self._left = MOST_FIELDS

    def cut(self, value: JsonValue, depth: int) -> JsonValue:
        if isinstance(value, str):
            text = value if len(value) <= LONGEST_EXAMPLE_VALUE else f"{value[: LONGEST_EXAMPLE_VALUE - 1]}…"
            return text.encode("utf-8", "replace").decode()
        if isinstance(value, Mapping):
            return self._object(value, depth) if depth < MOST_DEPTH else {}
        if isinstance(value, list):
            items = value[:MOST_ITEMS] if depth < MOST_DEPTH else []
            return [self.cut(item, depth + 1) for item in items]
        return value if _is_plain(value) else None

    def _object(self, fields: Mapping[str, JsonValue], depth: int) -> JsonValue:
        cut: dict[str, JsonValue] = {}
        for key, value in fields.items():
            if self._left <= 0:
                break
            if len(key) <= LONGEST_FIELD_NAME:
                self._left -= 1
                cut[key] = self.cut(value, depth + 1)
        return cut


def _is_plain(value: JsonValue) -> bool:
    """Whether every reader of JSON can read the number."""
    if isinstance(value, float):
        return value - value == 0
    return not isinstance(value, int) or value.bit_length() <= _MOST_BITS
