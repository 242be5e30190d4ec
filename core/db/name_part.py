"""A part of a name as a condition in SQL that ignores case in every alphabet, on both databases alike.

SQLite's ``LIKE`` and ``lower`` know the cases of ASCII only, PostgreSQL's those of the database's locale. A pattern
with the cases of each letter side by side, such as ``[Öö]``, means the same everywhere.
"""

import re
import unicodedata

from sqlalchemy import Boolean, ColumnElement, bindparam
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.orm import Mapped
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.functions import FunctionElement

# Only these mean something to GLOB; a bracket that was never opened is one.
_GLOB_SIGNS = frozenset("*?[")


class _NamePart(FunctionElement[bool]):
    """A column and its patterns, of which each database takes its own: GLOB and a regular expression."""

    type = Boolean()
    inherit_cache = True


def contains_ignoring_case(name: Mapped[str], part: str) -> ColumnElement[bool]:
    """Whether a stored name has this part; letters match in upper and lower case, all other signs as they are."""
    signs = unicodedata.normalize("NFC", part)
    glob = f"*{''.join(_either_case(sign) or _glob_literal(sign) for sign in signs)}*"
    expression = "".join(_either_case(sign) or re.escape(sign) for sign in signs)
    return _NamePart(name, bindparam(None, glob), bindparam(None, expression))


def _either_case(sign: str) -> str:
    cases = {sign, sign.lower(), sign.upper(), sign.casefold(), sign.title()}
    single = sorted(case for case in cases if len(case) == 1)
    return f"[{''.join(single)}]" if len(single) > 1 else ""


def _glob_literal(sign: str) -> str:
    return f"[{sign}]" if sign in _GLOB_SIGNS else sign


@compiles(_NamePart)
def _for_postgresql(element: _NamePart, compiler: SQLCompiler, **options: object) -> str:
    name, _, expression = element.clauses
    return f"({compiler.process(name, **options)} ~ {compiler.process(expression, **options)})"


@compiles(_NamePart, "sqlite")
def _for_sqlite(element: _NamePart, compiler: SQLCompiler, **options: object) -> str:
    name, glob, _ = element.clauses
    return f"({compiler.process(name, **options)} GLOB {compiler.process(glob, **options)})"
