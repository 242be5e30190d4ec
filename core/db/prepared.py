"""Queries that are asked all the time: their text is made once, and the driver gets it as it is.

SQLAlchemy finds a statement it has seen again, but each time it makes a context, a cursor and a
result around it. On caches that something else has emptied, that takes longer than the query.
"""

from collections.abc import Callable, Sequence
from typing import Any

from sqlalchemy import Dialect, Select
from sqlalchemy.types import TypeEngine


class PreparedQuery:
    """A query whose only parameter is a list of strings (``core.database.listed``).

    Args:
        query: what is asked.
        parameter: the name of the list.
    """

    def __init__(self, query: Select[*tuple[Any, ...]], parameter: str = "ids") -> None:
        self.query = query
        self.parameter = parameter
        self._written: dict[str, CompiledQuery] = {}

    def written(self, dialect: Dialect) -> "CompiledQuery":
        """The query as the driver of this dialect takes it.

        Raises:
            ValueError: it has another parameter.
        """
        # Two threads may both write it, to the same end.
        if dialect.name not in self._written:
            self._written[dialect.name] = CompiledQuery(self, dialect)
        return self._written[dialect.name]


class CompiledQuery:
    """A prepared query in one dialect.

    Args:
        prepared: the query.
        dialect: whose.
    """

    def __init__(self, prepared: PreparedQuery, dialect: Dialect) -> None:
        compiled = prepared.query.compile(dialect=dialect)
        if list(compiled.params) != [prepared.parameter]:
            raise ValueError(f"not only {prepared.parameter} is asked for: {[*compiled.params]}")
        self.text = str(compiled)
        listed = compiled.binds[prepared.parameter].type
        self.bound = listed.dialect_impl(dialect).bind_processor(dialect) or _unchanged
        read = [
            _result_processor(column.type, dialect) for column in prepared.query.selected_columns
        ]
        self._read = None if all(one is _unchanged for one in read) else read

    def values(self, rows: Sequence[tuple[Any, ...]]) -> Sequence[tuple[Any, ...]]:
        """Rows of the driver's as their columns' types say."""
        read = self._read
        if read is None:
            return rows
        return [tuple(one(value) for one, value in zip(read, row, strict=True)) for row in rows]


def _result_processor(kind: TypeEngine[Any], dialect: Dialect) -> Callable[[Any], Any]:
    return kind.dialect_impl(dialect).result_processor(dialect, None) or _unchanged


def _unchanged(value: object) -> object:
    return value
