"""Filters on the documents that a retrieval may use."""

from datetime import datetime
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field
from sqlalchemy import ColumnElement, and_, or_, true
from sqlalchemy.orm import Mapped
from sqlmodel import col

from core.text.sanitize import Storable
from core.types.datetimes import MomentOrUtc
from kb_service.documents.metadata_filter import MetadataConditions, MetadataFilter, Word, metadata_clauses
from kb_service.models import Document


class Period(BaseModel):
    """From a moment (included) to a moment (excluded); a time without a zone is UTC."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    since: MomentOrUtc | None = None
    before: MomentOrUtc | None = None


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

    metadata: MetadataFilter = Field(default_factory=MetadataConditions)
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
    return and_(true(), *parts, *metadata_clauses(filters.metadata, is_sqlite=is_sqlite))


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
