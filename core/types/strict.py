"""Strict JSON numbers and booleans in request bodies."""

from collections.abc import Sequence
from typing import Any, cast

from pydantic import BaseModel, GetCoreSchemaHandler
from pydantic_core import CoreSchema, PydanticCustomError, core_schema

_INSIDE = ("schema", "items_schema", "values_schema", "choices", "fields", "inner_schema")


def _exact(node: Any) -> Any:  # noqa: ANN401 - nodes of pydantic's schemas are of forty shapes
    if isinstance(node, list | tuple):
        items = [_exact(item) for item in cast(Sequence[Any], node)]
        # A choice may be a pair with its label.
        return tuple(items) if isinstance(node, tuple) else items
    if not isinstance(node, dict):
        return node
    schema = cast(dict[str, Any], node)
    kind = schema.get("type")
    if not isinstance(kind, str):
        # Fields by name; a field may have this name too.
        return {name: _exact(inner) for name, inner in schema.items()}
    if kind in {"int", "float"}:
        return core_schema.no_info_before_validator_function(_as_number, cast(CoreSchema, schema))
    if kind == "bool":
        return {**schema, "strict": True}
    return {name: _exact(inner) if name in _INSIDE else inner for name, inner in schema.items()}


def _as_number(value: object) -> object:
    if isinstance(value, str | bytes | bool):
        raise PydanticCustomError("number_type", "Input should be a number")
    return value


class StrictJsonModel(BaseModel):
    """A model that reads numbers and booleans only from JSON numbers and booleans.

    pydantic takes ``"1"`` and ``true`` for a number and ``1`` for true; its own strict mode takes
    no ``2.0`` for an integer, which JSON does not tell from ``2``, and no text for a datetime.
    """

    @classmethod
    def __get_pydantic_core_schema__(cls, source: type[BaseModel], handler: GetCoreSchemaHandler, /) -> CoreSchema:
        """The schema with strict numbers and booleans."""
        return _exact(handler(source))
