"""Filters on the documents that a retrieval may use."""

import json
from datetime import datetime
from typing import Annotated, ClassVar, Self

from pydantic import BaseModel, ConfigDict, Field, FiniteFloat, model_validator
from sqlalchemy import ColumnElement, TextClause, and_, or_, text, true
from sqlalchemy.orm import Mapped
from sqlmodel import col

from core.text.sanitize import Storable
from core.types.datetimes import MomentOrUtc
from core.types.errors import FieldValueError
from kb_service.models import Document

Key = Annotated[Storable, Field(min_length=1, max_length=100)]
Word = Annotated[Storable, Field(max_length=1000)]
# The types on which SQL and JSON agree.
_Integer = Annotated[int, Field(strict=True, ge=-(2**53), le=2**53)]
_Number = Annotated[FiniteFloat, Field(strict=True)]
_Flag = Annotated[bool, Field(strict=True)]
Scalar = _Flag | _Integer | _Number | Word
Bound = _Integer | _Number | Word


class Range(BaseModel):
    """From where to where; numbers are compared with numbers, words and ISO dates as text."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    OPERATORS: ClassVar[dict[str, str]] = {"gt": ">", "gte": ">=", "lt": "<", "lte": "<="}

    gt: Bound | None = None
    gte: Bound | None = None
    lt: Bound | None = None
    lte: Bound | None = None

    @property
    def bounds(self) -> list[tuple[str, int | float | str]]:
        bounds = [(sign, getattr(self, name)) for name, sign in self.OPERATORS.items()]
        return [(sign, value) for sign, value in bounds if value is not None]

    @model_validator(mode="after")
    def _require_bound(self) -> Self:
        if not self.bounds:
            raise FieldValueError("needs one of gt, gte, lt, lte", "至少需要 gt、gte、lt、lte 之一")
        return self


class Period(BaseModel):
    """From a moment (included) to a moment (excluded); a time without a zone is UTC."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    since: MomentOrUtc | None = None
    before: MomentOrUtc | None = None


AnyOf = Annotated[tuple[Scalar, ...], Field(min_length=1, max_length=100)]
Condition = Range | AnyOf | Scalar


class Filters(BaseModel):
    """Conditions on documents; all of them must hold.

    Attributes:
        metadata: by key of the document's metadata: a value that it equals (or, being a list,
            holds), several of which one must, or a range.
        document_ids: only these.
        file_types: only these, as ``file_type`` of the documents says or as their names end.
        name: of the document; ``*`` stands for any characters, ``?`` for one; any case.
        created: when it was first uploaded.
        updated: when it was last changed.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    metadata: Annotated[dict[Key, Condition], Field(max_length=20)] = Field(default_factory=dict[Key, Condition])
    document_ids: Annotated[tuple[Word, ...] | None, Field(max_length=1000)] = None
    file_types: Annotated[tuple[Word, ...] | None, Field(max_length=100)] = None
    name: Annotated[Storable | None, Field(min_length=1, max_length=300)] = None
    created: Period | None = None
    updated: Period | None = None

    @property
    def is_empty(self) -> bool:
        return self == Filters()


_ESCAPE = "\\"


def filter_condition(filters: Filters, *, is_sqlite: bool) -> ColumnElement[bool]:
    """The filters as a condition on ``Document``, with the same meaning in both databases."""
    parts = [*_about_identity(filters)]
    parts += _within(col(Document.created_at), filters.created)
    parts += _within(col(Document.updated_at), filters.updated)
    holds = _holds_in_sqlite if is_sqlite else _holds_in_postgresql
    clauses = [
        holds(f"filter_{number}", key, condition) for number, (key, condition) in enumerate(filters.metadata.items())
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
    """Escape the words for a LIKE pattern."""
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
    """Alternatives of which one must hold; each is a list of operators and values that must all hold."""
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
            every.append(f"{{row}}.type IN {_TYPES[type(value)]} AND {{row}}.value {sign} :{parameter}")
        either.append(f"({' AND '.join(every)})")
    test = " OR ".join(either)
    # Only our own operators and names are interpolated; every value is a parameter.
    clause = text(
        "EXISTS (SELECT 1 FROM json_each(document.attributes) AS field "  # noqa: S608
        f"WHERE field.key = :{name}_key AND ({test.format(row='field')} "
        "OR (field.type = 'array' AND EXISTS (SELECT 1 FROM json_each(field.value) AS item "
        f"WHERE {test.format(row='item')}))))"
    )
    return clause.bindparams(**values)


# JSON distinguishes true, 1 and "1"; SQLite's comparison does not.
_NUMBER = "('integer', 'real')"
_TYPES: dict[type, str] = {bool: "('true', 'false')", int: _NUMBER, float: _NUMBER, str: "('text')"}


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
