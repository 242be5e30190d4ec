"""Chunks as searches read them: plain rows."""

from typing import Any, NamedTuple, cast

from sqlmodel import col, select
from sqlmodel.sql.expression import Select

from kb_service.models import Chunk


class FoundChunk(NamedTuple):
    """What a search shows of a ``Chunk``, and needs to find what stands around it.

    It is no object of the ORM: to make five of those takes three times as long as to read them.
    """

    id: str
    document_id: str
    knowledge_base_id: str
    revision: int
    position: int
    content: str
    heading_path: list[str]
    page: int | None
    char_start: int
    char_end: int
    token_count: int
    enabled: bool


def select_chunks() -> Select[*tuple[Any, ...]]:
    """A query of all chunks whose rows are the fields of a ``FoundChunk``."""
    columns: tuple[Any, ...] = tuple(col(getattr(Chunk, name)) for name in FoundChunk._fields)
    return cast("Select[*tuple[Any, ...]]", select(*columns))
