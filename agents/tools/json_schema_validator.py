"""Values checked against JSON Schemas that strangers may have written.

A schema comes with a request, and what it says is run on the event loop: so nothing is fetched for
it (``$ref`` of another document), its patterns take time linear in the text, and a check that would
take long is left. What is left lets the value through: who brought the schema runs the call, or
checks again.
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

_Keyword = Callable[[object, object, object, object], Iterable[ValidationError] | None]
# Half a second on a busy machine: about ten thousand keywords.
_MOST_WORK = 200_000
_STEP = 20
# Bytes of a value that are compared or written into a message for one unit of work.
_BYTES = 8
# Each of these does its work anew for every entry.
_FOR_EACH = frozenset({"allOf", "anyOf", "enum", "oneOf", "prefixItems"})
# Looked up in the whole document, by rules that follow references themselves, or by another draft.
_LEFT = ("$dynamicRef", "unevaluatedItems", "unevaluatedProperties")
_OTHER_DOCUMENTS = (b'"$id"', b'"$schema"')


class _TooMuchWork(Exception):
    """The check takes too long."""


class _Work:
    """What a check has cost so far.

    Args:
        value: what is checked.
    """

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
        size += sum(self._measure(one) for one in inner)
        if inner:
            self._sizes[id(value)] = size
        return size

    def count(self, keyword: str, said: object, value: object) -> None:
        """Count one keyword on one value.

        Raises:
            _TooMuchWork: it was one too many.
        """
        size = len(value) if isinstance(value, str) else self._sizes.get(id(value), 1)
        entries = len(said) if isinstance(said, list | dict) else 1
        each = 1 + size // _BYTES
        self._left -= _STEP + (entries * each if keyword in _FOR_EACH else entries + each)
        if self._left < 0:
            raise _TooMuchWork


_work: ContextVar[_Work] = ContextVar("work")


def _counted(name: str, check: _Keyword) -> _Keyword:
    def counted(
        validator: object, said: object, value: object, schema: object
    ) -> Generator[ValidationError, None, None]:
        _work.get().count(name, said, value)
        yield from check(validator, said, value, schema) or ()

    return counted


def _nothing(_validator: object, _said: object, _value: object, _schema: object) -> None:
    """A keyword that is left."""


def _ref(
    validator: object, said: object, value: object, schema: object
) -> Iterable[ValidationError] | None:
    is_here = isinstance(said, str) and (said == "#" or said.startswith("#/"))
    return (
        Draft202012Validator.VALIDATORS["$ref"](validator, said, value, schema) if is_here else ()
    )


@lru_cache(maxsize=256)
def _pattern_of(text: str) -> SchemaValidator | None:
    """Whether a text has a match, in linear time; None for a pattern that this can't say of."""
    try:
        return SchemaValidator(core_schema.str_schema(pattern=text, regex_engine="rust-regex"))
    except SchemaError:
        return None


def _pattern(
    _validator: object, said: object, value: object, _schema: object
) -> Generator[ValidationError, None, None]:
    known = _pattern_of(said) if isinstance(said, str) and isinstance(value, str) else None
    if known is not None and not known.isinstance_python(value):
        yield ValidationError("does not match")


def _additional(
    validator: object, said: object, value: object, schema: object
) -> Iterable[ValidationError] | None:
    # Which properties are additional is a question to patterns then.
    if isinstance(schema, dict) and "patternProperties" in schema:
        return ()
    return Draft202012Validator.VALIDATORS["additionalProperties"](validator, said, value, schema)


def _unique(
    _validator: object, said: object, value: object, _schema: object
) -> Generator[ValidationError, None, None]:
    if said and isinstance(value, list):
        texts = {orjson.dumps(one, option=orjson.OPT_SORT_KEYS) for one in value}
        if len(texts) < len(value):
            yield ValidationError("has equal entries")


_OWN: dict[str, _Keyword] = {
    "$ref": _ref,
    "additionalProperties": _additional,
    "pattern": _pattern,
    "patternProperties": _nothing,
    "uniqueItems": _unique,
    **dict.fromkeys(_LEFT, _nothing),
}
_VALIDATOR = extend(
    Draft202012Validator,
    {
        name: _counted(name, check)
        for name, check in {**Draft202012Validator.VALIDATORS, **_OWN}.items()
    },
)
