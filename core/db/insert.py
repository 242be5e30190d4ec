"""``INSERT`` with ``ON CONFLICT``, in the dialect of a session's database."""

from collections.abc import Callable, Mapping
from typing import Any

from sqlalchemy.dialects import postgresql, sqlite
from sqlmodel.ext.asyncio.session import AsyncSession

from core.db.base import Table

_INSERTS: Mapping[str, Callable[..., Any]] = {"postgresql": postgresql.insert, "sqlite": sqlite.insert}


def insert_into(session: AsyncSession, table: type[Table]) -> postgresql.Insert | sqlite.Insert:
    """An insertion that takes ``on_conflict_do_nothing`` and ``on_conflict_do_update``."""
    return _INSERTS[session.get_bind().dialect.name](table)
