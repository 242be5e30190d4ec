"""LlamaIndex's metadata filters as those of Agentex (docs/guide/en/search.md)."""

from collections.abc import Iterator
from typing import Any

from llama_index.core.vector_stores.types import FilterCondition, FilterOperator, MetadataFilter, MetadataFilters

_RANGES = {
    FilterOperator.GT: "gt",
    FilterOperator.GTE: "gte",
    FilterOperator.LT: "lt",
    FilterOperator.LTE: "lte",
}
# The server compares a key's value with one or several, and each item where the value is a list.
_EQUALITIES = {FilterOperator.EQ, FilterOperator.CONTAINS}
_ALTERNATIVES = {FilterOperator.IN, FilterOperator.ANY}


def metadata_conditions(filters: MetadataFilters | None) -> dict[str, Any]:
    """The filters as ``metadata`` of a search's filters.

    Raises ValueError for what the server can't do: ``or``, ``not``, the negative operators, text matches, and two
    conditions on one key that aren't a range.
    """
    conditions: dict[str, Any] = {}
    for item in _flat(filters):
        condition = _condition(item)
        present = conditions.get(item.key)
        if isinstance(present, dict) and isinstance(condition, dict) and not present.keys() & condition.keys():
            conditions[item.key] = {**present, **condition}
        elif item.key in conditions:
            raise ValueError(f"Agentex takes one condition on a key, and {item.key!r} has several")
        else:
            conditions[item.key] = condition
    return conditions


def _flat(filters: MetadataFilters | None) -> Iterator[MetadataFilter]:
    if filters is None:
        return
    is_single = len(filters.filters) == 1 and filters.condition != FilterCondition.NOT
    if filters.condition not in {None, FilterCondition.AND} and not is_single:
        raise ValueError(f"Agentex joins conditions with 'and' only, not with {filters.condition!s}")
    for item in filters.filters:
        if isinstance(item, MetadataFilters):
            yield from _flat(item)
        else:
            yield item


def _condition(item: MetadataFilter) -> Any:
    if item.operator in _EQUALITIES:
        return item.value
    if item.operator in _ALTERNATIVES:
        return item.value if isinstance(item.value, list) else [item.value]
    if item.operator in _RANGES:
        return {_RANGES[item.operator]: item.value}
    supported = ", ".join(sorted(operator.value for operator in (*_EQUALITIES, *_ALTERNATIVES, *_RANGES)))
    raise ValueError(f"Agentex has no metadata filter {item.operator.value!r}; use one of {supported}")
