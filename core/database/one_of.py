"""``column IN (these)`` as one statement, whatever their number: they come as one parameter.

SQLAlchemy's own expands to a parameter each, so that every number of ids is another statement to
write, to prepare and to keep. For 200 ids that takes longer than asking.
"""

import json
from collections.abc import Sequence
from typing import Any, Self

from sqlalchemy import (
    ARRAY,
    Boolean,
    ColumnElement,
    Dialect,
    String,
    Text,
    any_,
    bindparam,
    func,
    select,
)
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.elements import SQLCoreOperations
from sqlalchemy.sql.functions import FunctionElement
from sqlalchemy.types import TypeDecorator, TypeEngine


class _Strings(TypeDecorator[Sequence[str]]):
    """Any number of strings: an array, in SQLite a JSON list."""

    impl = Text
    cache_ok = True

    def load_dialect_impl(self, dialect: Dialect) -> TypeEngine[Any]:
        kind = Text() if dialect.name == "sqlite" else ARRAY(String())
        return dialect.type_descriptor(kind)

    def process_bind_param(
        self, value: Sequence[str] | None, dialect: Dialect
    ) -> str | list[str] | None:
        strings = list(value or ())
        return json.dumps(strings) if dialect.name == "sqlite" else strings


class _OneOf(FunctionElement[bool]):
    type = Boolean()
    inherit_cache = True

    def self_group(self, against: object = None) -> Self:
        # SQLite has no booleans of its own: others are compared with 1, past every index.
        return self


def one_of(column: SQLCoreOperations[str], name: str) -> ColumnElement[bool]:
    """The condition that a column of strings is one of those that a parameter holds.

    Args:
        column: the column.
        name: of the parameter; whoever carries the statement out gives it a list of strings.
    """
    return _OneOf(column, bindparam(name, type_=_Strings()))


@compiles(_OneOf)
def _compiled(element: _OneOf, compiler: SQLCompiler, **options: object) -> str:
    column, strings = element.clauses
    return compiler.process(column == any_(strings), **options)


@compiles(_OneOf, "sqlite")
def _compiled_for_sqlite(element: _OneOf, compiler: SQLCompiler, **options: object) -> str:
    column, strings = element.clauses
    listed = func.json_each(strings).table_valued("value")
    return compiler.process(column.in_(select(listed.c.value)), **options)
