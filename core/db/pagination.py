"""Pagination and sorting of list queries."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeVar

from sqlalchemy import GenerativeSelect
from sqlalchemy.orm import Mapped

QueryT = TypeVar("QueryT", bound=GenerativeSelect)


@dataclass(frozen=True)
class PageRequest:
    """Page ``number`` from 1, of ``size`` rows, sorted by a field's name."""

    number: int = 1
    size: int = 20
    sort_by: str = "created_at"
    descending: bool = True


def paginate(query: QueryT, page: PageRequest, *, columns: Mapping[str, Mapped[object]], tie: Mapped[object]) -> QueryT:
    """The query of one page.

    Args:
        columns: by the values that ``page.sort_by`` may have.
        tie: a unique column, so that equal rows keep their order from page to page.
    """
    column = columns[page.sort_by]
    # Databases differ in where they put NULL; here it is last.
    order = (column.desc() if page.descending else column.asc()).nulls_last()
    return query.order_by(order, tie).offset((page.number - 1) * page.size).limit(page.size)
