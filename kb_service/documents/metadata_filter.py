"""Conditions on the metadata of documents, with the same meaning in SQLite and PostgreSQL."""

import json
from collections.abc import Mapping
from typing import Annotated, ClassVar, Self

from pydantic import BaseModel, ConfigDict, Field, FiniteFloat, TypeAdapter, ValidationError, model_validator
from sqlalchemy import TextClause, text

from core.errors.requests import InvalidRequest
from core.text.sanitize import Storable
from core.types.errors import FieldValueError

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


AnyOf = Annotated[tuple[Scalar, ...], Field(min_length=1, max_length=100)]
Condition = Range | AnyOf | Scalar
MetadataConditions = dict[Key, Condition]
MetadataFilter = Annotated[MetadataConditions, Field(max_length=20)]
"""By key: a value that it equals (or, being a list, holds), several of which one must, or a range."""
_FILTER: TypeAdapter[MetadataConditions] = TypeAdapter(MetadataFilter)


def parse_conditions(text: str) -> MetadataConditions:
    """Conditions from JSON text; raises ``InvalidRequest``."""
    try:
        return _FILTER.validate_json(text)
    except ValidationError as error:
        problem = error.errors(include_url=False, include_context=False)[0]
        place = ".".join(map(str, ("metadata", *problem["loc"])))
        raise InvalidRequest(place, problem["msg"], "请给出由键和条件组成的 JSON 对象，写法同检索的过滤条件") from error


def metadata_clauses(conditions: Mapping[str, Condition], *, is_sqlite: bool) -> list[TextClause]:
    """The conditions on ``Document.attributes``, all of which must hold."""
    holds = _holds_in_sqlite if is_sqlite else _holds_in_postgresql
    return [holds(f"filter_{number}", key, condition) for number, (key, condition) in enumerate(conditions.items())]


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
