"""Which documents of a knowledge base a retrieval may use."""

from typing import Annotated, ClassVar, Self

from pydantic import BaseModel, ConfigDict, Field, FiniteFloat, model_validator

from core.text.sanitize import Storable
from core.types.datetimes import MomentOrUtc
from core.types.errors import Unfit

Key = Annotated[Storable, Field(min_length=1, max_length=100)]
Word = Annotated[Storable, Field(max_length=1000)]
# What SQL and JSON agree on.
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
        """Operator and value of each bound that is set."""
        found = [(sign, getattr(self, name)) for name, sign in self.OPERATORS.items()]
        return [(sign, value) for sign, value in found if value is not None]

    @model_validator(mode="after")
    def _require_bound(self) -> Self:
        if not self.bounds:
            raise Unfit("needs one of gt, gte, lt, lte", "至少需要 gt、gte、lt、lte 之一")
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

    metadata: Annotated[dict[Key, Condition], Field(max_length=20)] = Field(
        default_factory=dict[Key, Condition]
    )
    document_ids: Annotated[tuple[Word, ...] | None, Field(max_length=1000)] = None
    file_types: Annotated[tuple[Word, ...] | None, Field(max_length=100)] = None
    name: Annotated[Storable | None, Field(min_length=1, max_length=300)] = None
    created: Period | None = None
    updated: Period | None = None

    @property
    def is_empty(self) -> bool:
        """Whether every document counts."""
        return self == Filters()
