"""Validation against JSON Schemas from untrusted callers.

A schema comes with a request and runs on the event loop: references to other documents are not
fetched, patterns take linear time, and expensive checks are skipped. A skipped check accepts the
value: whoever brought the schema runs the call, or checks again.
"""

# jsonschema has partial types.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false

from collections.abc import Callable, Generator, Iterable
from contextvars import ContextVar
from functools import lru_cache

import orjson
from jsonschema import Draft202012Validator
from jsonschema.exceptions import ValidationError
from jsonschema.validators import extend
from pydantic import JsonValue
from pydantic_core import SchemaError, SchemaValidator, core_schema
from referencing import Registry

_Keyword = Callable[[object, object, object, object], Iterable[ValidationError] | None]
# Half a second on a busy machine: about ten thousand keywords.
_MOST_WORK = 200_000
_STEP = 20
# Bytes of a value that are compared or written into a message for one unit of work.
_BYTES = 8
# Keywords whose work is repeated for every entry.
_FOR_EACH = frozenset({"allOf", "anyOf", "enum", "oneOf", "prefixItems"})
# Looked up in the whole document, by rules that follow references themselves, or by another draft.
_SKIPPED = ("$dynamicRef", "unevaluatedItems", "unevaluatedProperties")
_OTHER_DOCUMENTS = (b'"$id"', b'"$schema"')


class _TooMuchWork(Exception):
    """The check would take too long."""


class _Work:
    """The cost of one check so far."""

    def __init__(self, value: JsonValue) -> None:
        self._left = _MOST_WORK
        self._sizes: dict[int, int] = {}
        self._measure(value)

    def _measure(self, value: JsonValue) -> int:
        inner: list[JsonValue] = []
        size = len(value) if isinstance(value, str | list | dict) else 1
        if isinstance(value, list):
            inner = value
        elif isinstance(value, dict):
            inner = [*value, *value.values()]
        size += sum(self._measure(item) for item in inner)
        if inner:
            self._sizes[id(value)] = size
        return size

    def count(self, keyword: str, rule: object, value: object) -> None:
        """Count one keyword applied to one value; raises ``_TooMuchWork`` over the bound."""
        size = len(value) if isinstance(value, str) else self._sizes.get(id(value), 1)
        entries = len(rule) if isinstance(rule, list | dict) else 1
        each = 1 + size // _BYTES
        self._left -= _STEP + (entries * each if keyword in _FOR_EACH else entries + each)
        if self._left < 0:
            raise _TooMuchWork


_work: ContextVar[_Work] = ContextVar("work")


def schema_fault(schema: dict[str, JsonValue], value: JsonValue) -> str:
    """See ``agents.tools.json_schema.schema_fault``, the lazy entry point."""
    rules = {name: rule for name, rule in schema.items() if name != "$schema"}
    try:
        if any(name in orjson.dumps(rules) for name in _OTHER_DOCUMENTS):
            return ""
        counting = _work.set(_Work(value))
        try:
            errors = _VALIDATOR(rules, registry=Registry()).iter_errors(value)
            faults = [(str(error.json_path), str(error.validator)) for error in errors]
        finally:
            _work.reset(counting)
    # An invalid schema can break the check in any way.
    except Exception:  # noqa: BLE001
        return ""
    if not faults:
        return ""
    path, keyword = min(faults)
    return f"{path}: does not fit {keyword!r}"


def _counted(name: str, check: _Keyword) -> _Keyword:
    def counted(
        validator: object, rule: object, value: object, schema: object
    ) -> Generator[ValidationError, None, None]:
        _work.get().count(name, rule, value)
        yield from check(validator, rule, value, schema) or ()

    return counted


def _skip(_validator: object, _rule: object, _value: object, _schema: object) -> None:
    """A skipped keyword."""


def _ref(validator: object, rule: object, value: object, schema: object) -> Iterable[ValidationError] | None:
    is_here = isinstance(rule, str) and (rule == "#" or rule.startswith("#/"))
    return Draft202012Validator.VALIDATORS["$ref"](validator, rule, value, schema) if is_here else ()


@lru_cache(maxsize=256)
def _pattern_of(text: str) -> SchemaValidator | None:
    """A linear-time matcher of a pattern; None for unsupported patterns."""
    try:
        return SchemaValidator(core_schema.str_schema(pattern=text, regex_engine="rust-regex"))
    except SchemaError:
        return None


def _pattern(
    _validator: object, rule: object, value: object, _schema: object
) -> Generator[ValidationError, None, None]:
    pattern = _pattern_of(rule) if isinstance(rule, str) and isinstance(value, str) else None
    if pattern is not None and not pattern.isinstance_python(value):
        yield ValidationError("does not match")


def _additional(validator: object, rule: object, value: object, schema: object) -> Iterable[ValidationError] | None:
    # Then the patterns decide which properties are additional.
    if isinstance(schema, dict) and "patternProperties" in schema:
        return ()
    return Draft202012Validator.VALIDATORS["additionalProperties"](validator, rule, value, schema)


def _unique(_validator: object, rule: object, value: object, _schema: object) -> Generator[ValidationError, None, None]:
    if rule and isinstance(value, list):
        texts = {orjson.dumps(item, option=orjson.OPT_SORT_KEYS) for item in value}
        if len(texts) < len(value):
            yield ValidationError("has equal entries")


_OWN: dict[str, _Keyword] = {
    "$ref": _ref,
    "additionalProperties": _additional,
    "pattern": _pattern,
    "patternProperties": _skip,
    "uniqueItems": _unique,
    **dict.fromkeys(_SKIPPED, _skip),
}
_VALIDATOR = extend(
    Draft202012Validator,
    {name: _counted(name, check) for name, check in {**Draft202012Validator.VALIDATORS, **_OWN}.items()},
)
