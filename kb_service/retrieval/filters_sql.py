"""Filters as conditions on the rows of ``Document``, for SQLite and for PostgreSQL."""

import json
from datetime import datetime

from sqlalchemy import ColumnElement, TextClause, and_, or_, text, true
from sqlalchemy.orm import Mapped
from sqlmodel import col

from kb_service.models import Document
from kb_service.retrieval.filters import Condition, Filters, Period, Range

_ESCAPE = "\\"


def condition_of(filters: Filters, *, is_sqlite: bool) -> ColumnElement[bool]:
    """What must hold for a document; both databases decide alike.

    Args:
        filters: from a caller.
        is_sqlite: the two look into JSON differently.
    """
    parts = [*_about_identity(filters)]
    parts += _within(col(Document.created_at), filters.created)
    parts += _within(col(Document.updated_at), filters.updated)
    holds = _holds_in_sqlite if is_sqlite else _holds_in_postgresql
    clauses = [
        holds(f"filter_{number}", key, condition)
        for number, (key, condition) in enumerate(filters.metadata.items())
    ]
    return and_(true(), *parts, *clauses)


def _about_identity(filters: Filters) -> list[ColumnElement[bool]]:
    parts: list[ColumnElement[bool]] = []
    if filters.document_ids is not None:
        parts.append(col(Document.id).in_(filters.document_ids))
    if filters.file_types is not None:
        kinds = [kind.lower().removeprefix(".") for kind in filters.file_types]
        endings = [col(Document.name).ilike(f"%.{_literal(kind)}", _ESCAPE) for kind in kinds]
        parts.append(or_(col(Document.file_type).in_(kinds), *endings))
    if filters.name is not None:
        pattern = _literal(filters.name).replace("*", "%").replace("?", "_")
        parts.append(col(Document.name).ilike(pattern, _ESCAPE))
    return parts


def _literal(words: str) -> str:
    """Words without a meaning of their own in a LIKE pattern."""
    for sign in (_ESCAPE, "%", "_"):
        words = words.replace(sign, _ESCAPE + sign)
    return words


def _within(column: Mapped[datetime], period: Period | None) -> list[ColumnElement[bool]]:
    parts: list[ColumnElement[bool]] = []
    if period is not None and period.since is not None:
        parts.append(column >= period.since)
    if period is not None and period.before is not None:
        parts.append(column < period.before)
    return parts


def _alternatives(condition: Condition) -> list[list[tuple[str, bool | float | str]]]:
    """Any of these must hold; each is operators and values that must all hold."""
    if isinstance(condition, Range):
        return [list(condition.bounds)]
    values = condition if isinstance(condition, tuple) else (condition,)
    return [[("=", value)] for value in values]


def _holds_in_sqlite(name: str, key: str, condition: Condition) -> TextClause:
    values: dict[str, bool | float | str] = {f"{name}_key": key}
    either: list[str] = []
    for alternative in _alternatives(condition):
        every: list[str] = []
        for sign, value in alternative:
            parameter = f"{name}_{len(values)}"
            values[parameter] = value
            every.append(
                f"{{row}}.type IN {_TYPES[type(value)]} AND {{row}}.value {sign} :{parameter}"
            )
        either.append(f"({' AND '.join(every)})")
    test = " OR ".join(either)
    # Only operators and names of ours are put in; every value is a parameter.
    clause = text(
        "EXISTS (SELECT 1 FROM json_each(document.attributes) AS field "  # noqa: S608
        f"WHERE field.key = :{name}_key AND ({test.format(row='field')} "
        "OR (field.type = 'array' AND EXISTS (SELECT 1 FROM json_each(field.value) AS item "
        f"WHERE {test.format(row='item')}))))"
    )
    return clause.bindparams(**values)


# JSON keeps true apart from 1, and 1 from "1"; SQLite's comparison does not.
_NUMBER = "('integer', 'real')"
_TYPES: dict[type, str] = {
    bool: "('true', 'false')",
    int: _NUMBER,
    float: _NUMBER,
    str: "('text')",
}


def _holds_in_postgresql(name: str, key: str, condition: Condition) -> TextClause:
    values: dict[str, bool | float | str] = {}
    either: list[str] = []
    for alternative in _alternatives(condition):
        every: list[str] = []
        for sign, value in alternative:
            parameter = f"v{len(values)}"
            values[parameter] = value
            every.append(f"@ {'==' if sign == '=' else sign} ${parameter}")
        either.append(f"({' && '.join(every)})")
    path = f"$.{json.dumps(key)}[*] ? ({' || '.join(either)})"
    clause = text(
        "jsonb_path_exists(CAST(document.attributes AS jsonb), "
        f"CAST(:{name}_path AS jsonpath), CAST(:{name}_values AS jsonb))"
    )
    return clause.bindparams(**{f"{name}_path": path, f"{name}_values": json.dumps(values)})
