"""Any number of strings as one bound parameter, to join with.

SQLAlchemy's own ``IN`` expands to a parameter per string, so each number of ids is another
statement to compile, prepare and cache; for 200 ids that takes longer than the query. SQLite also
sorts the operands of ``IN`` into an index first, which a join does not need.
"""

import json
from collections.abc import Sequence
from typing import Any

from sqlalchemy import ARRAY, Dialect, String, TableValuedAlias, Text, bindparam
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.functions import FunctionElement
from sqlalchemy.types import TypeDecorator, TypeEngine

# SQLite names the column so itself, PostgreSQL after the table.
_VALUE = "value"


class _StringArray(TypeDecorator[Sequence[str]]):
    """An array of strings; in SQLite a JSON list."""

    impl = Text
    cache_ok = True

    def load_dialect_impl(self, dialect: Dialect) -> TypeEngine[Any]:
        kind = Text() if dialect.name == "sqlite" else ARRAY(String())
        return dialect.type_descriptor(kind)

    def process_bind_param(self, value: Sequence[str] | None, dialect: Dialect) -> str | list[str] | None:
        strings = list(value or ())
        return json.dumps(strings) if dialect.name == "sqlite" else strings


class _ArrayFunction(FunctionElement[str]):
    type = String()
    inherit_cache = True


def id_array(name: str) -> TableValuedAlias:
    """A table whose column ``value`` has a row for each string of the parameter ``name``.

    The strings must be distinct: a duplicate is joined twice.
    """
    return _ArrayFunction(bindparam(name, type_=_StringArray())).table_valued(_VALUE, name=_VALUE)


@compiles(_ArrayFunction)
def _compiled(element: _ArrayFunction, compiler: SQLCompiler, **options: object) -> str:
    return f"unnest{_arguments(element, compiler, options)}"


@compiles(_ArrayFunction, "sqlite")
def _compiled_for_sqlite(element: _ArrayFunction, compiler: SQLCompiler, **options: object) -> str:
    return f"json_each{_arguments(element, compiler, options)}"


def _arguments(element: _ArrayFunction, compiler: SQLCompiler, options: dict[str, Any]) -> str:
    return compiler.process(element.clause_expr, **options)
