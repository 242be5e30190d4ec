"""Hot queries compiled once and handed to the driver as text.

SQLAlchemy caches compiled statements, but wraps each execution in a context, a cursor and a
result. With cold CPU caches that takes longer than the query (docs/decisions/0070).
"""

from collections.abc import Callable, Sequence
from typing import Any

from sqlalchemy import Dialect, Select
from sqlalchemy.types import TypeEngine


class PreparedQuery:
    """A query whose only parameter is a list of strings (``core.db.id_array``)."""

    def __init__(self, query: Select[*tuple[Any, ...]], parameter: str = "ids") -> None:
        self.query = query
        self.parameter = parameter
        self._compiled: dict[str, CompiledQuery] = {}

    def compiled_for(self, dialect: Dialect) -> "CompiledQuery":
        """The query in this dialect, compiled at the first call.

        Raises:
            ValueError: the query has other parameters.
        """
        # Two threads may both compile it, with the same result.
        if dialect.name not in self._compiled:
            self._compiled[dialect.name] = CompiledQuery(self, dialect)
        return self._compiled[dialect.name]


class CompiledQuery:
    """A prepared query in one dialect."""

    def __init__(self, prepared: PreparedQuery, dialect: Dialect) -> None:
        compiled = prepared.query.compile(dialect=dialect)
        if list(compiled.params) != [prepared.parameter]:
            raise ValueError(f"expected one parameter {prepared.parameter}: {[*compiled.params]}")
        self.text = str(compiled)
        array_type = compiled.binds[prepared.parameter].type
        self.bind = array_type.dialect_impl(dialect).bind_processor(dialect) or _unchanged
        columns = prepared.query.selected_columns
        processors = [_result_processor(column.type, dialect) for column in columns]
        is_plain = all(processor is _unchanged for processor in processors)
        self._processors = None if is_plain else processors

    def convert(self, rows: Sequence[tuple[Any, ...]]) -> Sequence[tuple[Any, ...]]:
        """The driver's rows with values of the columns' Python types."""
        processors = self._processors
        if processors is None:
            return rows
        return [tuple(process(value) for process, value in zip(processors, row, strict=True)) for row in rows]


def _result_processor(kind: TypeEngine[Any], dialect: Dialect) -> Callable[[Any], Any]:
    return kind.dialect_impl(dialect).result_processor(dialect, None) or _unchanged


def _unchanged(value: object) -> object:
    return value
