"""Schemas of tools in the form that language model endpoints take.

A tool's schema comes from anybody: a frontend, an MCP server. Endpoints refuse a whole request for one schema that they do not
take, so each is brought into a normal form first. Rules are only ever loosened by it: whoever runs the tool checks the
arguments against its own schema.
"""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from enum import Enum
from functools import lru_cache

import orjson
from pydantic import JsonValue

from agents.llm.providers import WireProtocol

Schema = dict[str, JsonValue]

_DEEPEST = 60
# Of the normal form: references that are written out can make any size of a small schema.
_MOST_CHARACTERS = 65_536
_EACH = 20
_CACHED_CHARACTERS = 2048
_LONGEST_PATTERN = 1000
_LONGEST_RULES = 1500
_TYPES = ("string", "number", "integer", "boolean", "object", "array", "null")
_NOT_ON_TOP = ("allOf", "anyOf", "oneOf", "not", "if", "then", "else", "enum", "const")
_ANNOTATIONS = frozenset({"title", "description", "default", "examples"})
_RULES = "The arguments must also fit this JSON Schema: {rules}"
# Anthropic's rule for the properties on top.
_PROPERTY_NAME = re.compile(r"[a-zA-Z0-9_.-]{1,64}")
_OF_GEMINI = frozenset(
    [
        "type",
        "format",
        "title",
        "description",
        "enum",
        "items",
        "prefixItems",
        "minItems",
        "maxItems",
        "minimum",
        "maximum",
        "anyOf",
        "oneOf",
        "properties",
        "additionalProperties",
        "required",
    ]
)


class SchemaFault(Enum):
    """Why no endpoint can be given a schema, and what to do, in English and Chinese."""

    def __init__(self, en: str, zh: str) -> None:
        self.en = en
        self.zh = zh

    NOT_AN_OBJECT = (
        "its schema asks for something other than an object: give it the type object",
        "其 schema 要求的不是对象：请把类型改为 object",
    )
    OUTSIDE_REFERENCE = (
        "its schema refers to another document: write the definition into the schema",
        "其 schema 引用了另一份文档：请把该定义写入 schema",
    )
    LOST_REFERENCE = (
        "its schema refers to a definition that it does not have: correct the reference",
        "其 schema 引用了不存在的定义：请改正该引用",
    )
    TOO_LARGE = (
        "its schema is too large or too deep once its references are written out: make it smaller",
        "其 schema 展开引用后过大或过深：请缩小它",
    )
    PROPERTY_NAMES = (
        "this model's provider takes no such names of arguments: use 1 to 64 letters, digits, _, . and -",
        "该模型的服务商不接受这样的参数名：请使用 1 到 64 个字母、数字、_、. 和 -",
    )


class _Unusable(Exception):
    def __init__(self, fault: SchemaFault) -> None:
        super().__init__(fault.name)
        self.fault = fault


def normal_schema(schema: Schema, protocol: WireProtocol = "openai") -> Schema | SchemaFault:
    """The schema as endpoints of a protocol take it, or why they can't; shared, so do not modify it.

    On top it is an object with ``properties`` and without alternatives; local references are written out; what is malformed
    or no keyword is dropped.
    """
    try:
        text = orjson.dumps(schema)
    except orjson.JSONEncodeError:
        return SchemaFault.TOO_LARGE
    if len(text) <= _CACHED_CHARACTERS:
        return _cached(text, protocol)
    return _normal(schema, protocol)


@lru_cache(maxsize=256)
def _cached(text: bytes, protocol: WireProtocol) -> Schema | SchemaFault:
    return _normal(orjson.loads(text), protocol)


def _normal(schema: Schema, protocol: WireProtocol) -> Schema | SchemaFault:
    try:
        normal = _object_on_top(_Normalizer(schema).normalize(schema))
        if protocol == "anthropic" and not all(map(_PROPERTY_NAME.fullmatch, _properties(normal))):
            return SchemaFault.PROPERTY_NAMES
    except _Unusable as unusable:
        return unusable.fault
    return _for_gemini(normal) if protocol == "gemini" else normal


def plain_description(description: str, schema: Schema) -> str:
    """A tool's description that tells its schema, for an endpoint that is not given the schema itself."""
    rules = json.dumps(schema, ensure_ascii=False)
    return "\n".join(filter(None, [description, _RULES.format(rules=rules[:_LONGEST_RULES])]))


def _is_text(value: JsonValue) -> bool:
    return isinstance(value, str)


def _is_flag(value: JsonValue) -> bool:
    return isinstance(value, bool)


def _is_number(value: JsonValue) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_count(value: JsonValue) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _is_list(value: JsonValue) -> bool:
    return isinstance(value, list) and bool(value)


def _is_pattern(value: JsonValue) -> bool:
    if not isinstance(value, str) or len(value) > _LONGEST_PATTERN:
        return False
    try:
        re.compile(value)
    except (re.error, RecursionError, OverflowError):
        return False
    return True


_PLAIN: Mapping[str, Callable[[JsonValue], bool]] = {
    **dict.fromkeys(("title", "description", "format", "contentEncoding", "contentMediaType"), _is_text),
    **dict.fromkeys(("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"), _is_number),
    **dict.fromkeys(
        (
            "minLength",
            "maxLength",
            "minItems",
            "maxItems",
            "minProperties",
            "maxProperties",
            "minContains",
            "maxContains",
        ),
        _is_count,
    ),
    **dict.fromkeys(("uniqueItems", "deprecated", "readOnly", "writeOnly"), _is_flag),
    "multipleOf": lambda value: isinstance(value, int | float) and value > 0 and _is_number(value),
    "pattern": _is_pattern,
    "enum": _is_list,
    "examples": _is_list,
    "const": lambda _: True,
    "default": lambda _: True,
}
_SCHEMAS = frozenset({"items", "additionalProperties", "contains", "propertyNames", "not", "if", "then", "else"})
_LISTS = frozenset({"allOf", "anyOf", "oneOf", "prefixItems"})
_MAPS = frozenset({"properties", "patternProperties", "dependentSchemas"})


class _Normalizer:
    """One schema on its way into the normal form; ``root`` is what its references point into."""

    def __init__(self, root: Schema) -> None:
        self._root = root
        self._left = _MOST_CHARACTERS
        self._depth = 0

    def normalize(self, value: JsonValue, trail: tuple[str, ...] = ()) -> Schema:
        """The normal form of a schema; ``trail`` are the references that led to it."""
        if value is False:
            return {"not": {}}
        if not isinstance(value, dict):
            return {}
        self._spend(_EACH)
        self._depth += 1
        if self._depth > _DEEPEST:
            raise _Unusable(SchemaFault.TOO_LARGE)
        own = _filled(dict(self._keywords(value, trail)))
        if "$ref" in value:
            own = _joined(self._target(value["$ref"], trail), own)
        self._depth -= 1
        return own

    def _spend(self, characters: int) -> None:
        self._left -= characters
        if self._left < 0:
            raise _Unusable(SchemaFault.TOO_LARGE)

    def _target(self, reference: JsonValue, trail: tuple[str, ...]) -> Schema:
        if not isinstance(reference, str):
            return {}
        if not reference.startswith("#"):
            raise _Unusable(SchemaFault.OUTSIDE_REFERENCE)
        target = self._resolve(reference)
        if reference in trail:
            # A schema that contains itself: here it ends, so that it has a size.
            kind = {name: rule for name, rule in target.items() if name == "type"}
            return _filled(dict(self._keywords(kind, trail)))
        return self.normalize(target, (*trail, reference))

    def _resolve(self, reference: str) -> Schema:
        here: JsonValue = self._root
        for part in reference[1:].lstrip("/").split("/") if reference.strip("#/") else ():
            key = part.replace("~1", "/").replace("~0", "~")
            if isinstance(here, dict) and key in here:
                here = here[key]
            elif isinstance(here, list) and key in map(str, range(len(here))):
                here = here[int(key)]
            else:
                raise _Unusable(SchemaFault.LOST_REFERENCE)
        if not isinstance(here, dict):
            raise _Unusable(SchemaFault.LOST_REFERENCE)
        return here

    def _keywords(self, value: Schema, trail: tuple[str, ...]) -> Iterator[tuple[str, JsonValue]]:
        for name, rule in value.items():
            if name in _PLAIN:
                if _PLAIN[name](rule):
                    self._spend(len(orjson.dumps(rule)))
                    yield name, rule
            elif name == "type":
                yield from _type(rule)
            elif name == "required" and isinstance(rule, list):
                yield name, list[JsonValue](dict.fromkeys(item for item in rule if isinstance(item, str)))
            else:
                yield from self._inner(name, rule, trail)

    def _inner(self, name: str, rule: JsonValue, trail: tuple[str, ...]) -> Iterator[tuple[str, JsonValue]]:
        if name == "items" and isinstance(rule, list):
            # As older drafts have it.
            name = "prefixItems"
        if name in _SCHEMAS and isinstance(rule, dict | bool):
            yield name, rule if rule is False else self.normalize(rule, trail)
        elif name in _LISTS and isinstance(rule, list) and rule:
            yield name, [self.normalize(item, trail) for item in rule]
        elif name in _MAPS and isinstance(rule, dict):
            self._spend(sum(map(len, rule)))
            yield name, {key: self.normalize(item, trail) for key, item in rule.items()}


def _type(rule: JsonValue) -> Iterator[tuple[str, JsonValue]]:
    kinds = [kind for kind in (rule if isinstance(rule, list) else [rule]) if kind in _TYPES]
    if kinds:
        yield "type", kinds[0] if isinstance(rule, str) else list[JsonValue](dict.fromkeys(map(str, kinds)))


def _types(schema: Schema) -> Sequence[JsonValue]:
    kinds = schema.get("type")
    return kinds if isinstance(kinds, list) else () if kinds is None else (kinds,)


def _properties(schema: Schema) -> Schema:
    properties = schema.get("properties")
    return properties if isinstance(properties, dict) else {}


def _filled(schema: Schema) -> Schema:
    """With the parts that endpoints require of objects and arrays."""
    if "object" in _types(schema):
        schema.setdefault("properties", {})
    if "array" in _types(schema):
        schema.setdefault("items", {})
    return schema


def _joined(target: Schema, own: Schema) -> Schema:
    """A reference's target with what stands beside the reference."""
    if (own.keys() & target.keys()) - _ANNOTATIONS:
        return {"allOf": [target, own]}
    return {**target, **own}


def _object_on_top(schema: Schema) -> Schema:
    """One object with all properties that any alternative has; the alternatives go into the description."""
    if not _may_be_object(schema):
        raise _Unusable(SchemaFault.NOT_AN_OBJECT)
    top: Schema = {name: rule for name, rule in schema.items() if name not in _NOT_ON_TOP}
    required = dict.fromkeys(_strings(top.pop("required", None)))
    parts = [_object_on_top(part) for part in _parts(schema, "allOf")]
    required |= dict.fromkeys(name for part in parts for name in _strings(part.get("required")))
    for keyword in ("anyOf", "oneOf"):
        every = _parts(schema, keyword)
        alternatives = [_object_on_top(part) for part in every if _may_be_object(part)]
        if every and not alternatives:
            raise _Unusable(SchemaFault.NOT_AN_OBJECT)
        shared = [_strings(part.get("required")) for part in alternatives]
        required |= {name: None for name in (shared[0] if shared else ()) if all(name in names for names in shared)}
        parts += alternatives
    branches = [schema.get("then"), schema.get("else")]
    parts += [_object_on_top(branch) for branch in branches if isinstance(branch, dict) and _may_be_object(branch)]
    top |= {"type": "object", "properties": _merged([_properties(top), *map(_properties, parts)])}
    if parts:
        # It would forbid the properties of the others.
        top.pop("additionalProperties", None)
    if required:
        top["required"] = list[JsonValue](required)
    return _described(top, {name: schema[name] for name in _NOT_ON_TOP if name in schema})


def _described(top: Schema, rules: Schema) -> Schema:
    text = json.dumps(rules, ensure_ascii=False) if rules else ""
    if text and len(text) <= _LONGEST_RULES:
        own = top.get("description")
        top["description"] = "\n".join(filter(None, [str(own or ""), _RULES.format(rules=text)]))
    return top


def _may_be_object(schema: Schema) -> bool:
    kinds = _types(schema)
    return not kinds or "object" in kinds


def _parts(schema: Schema, keyword: str) -> list[Schema]:
    rule = schema.get(keyword)
    return [part for part in rule if isinstance(part, dict)] if isinstance(rule, list) else []


def _strings(value: JsonValue) -> list[str]:
    return [item for item in value if isinstance(item, str)] if isinstance(value, list) else []


def _merged(maps: Iterable[Schema]) -> Schema:
    """All properties; one that has several schemas fits any of them."""
    merged: dict[str, list[JsonValue]] = {}
    for properties in maps:
        for name, schema in properties.items():
            schemas = merged.setdefault(name, [])
            if schema not in schemas:
                schemas.append(schema)
    return {name: schemas[0] if len(schemas) == 1 else {"anyOf": schemas} for name, schemas in merged.items()}


def _for_gemini(schema: JsonValue) -> Schema:
    """The part of the normal form that Google documents."""
    if not isinstance(schema, dict):
        return {}
    whole: Schema = {}
    for part in (*_parts(schema, "allOf"), schema):
        whole |= part
    if "const" in whole:
        whole.setdefault("enum", [whole["const"]])
    documented: Schema = {name: _value_for_gemini(name, rule) for name, rule in whole.items() if name in _OF_GEMINI}
    values = documented.get("enum")
    if isinstance(values, list) and not all(isinstance(value, str) or _is_number(value) for value in values):
        del documented["enum"]
    required = [name for name in _strings(documented.pop("required", None)) if name in _properties(documented)]
    if required:
        documented["required"] = list[JsonValue](required)
    return documented


def _value_for_gemini(name: str, rule: JsonValue) -> JsonValue:
    if name in _SCHEMAS:
        return rule if isinstance(rule, bool) else _for_gemini(rule)
    if name in _LISTS and isinstance(rule, list):
        return [_for_gemini(item) for item in rule]
    if name in _MAPS and isinstance(rule, dict):
        return {key: _for_gemini(item) for key, item in rule.items()}
    return rule
