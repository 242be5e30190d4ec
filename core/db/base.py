"""The base of all tables: the class's name in snake case is the table's."""

import re

from sqlalchemy.orm import declared_attr
from sqlmodel import SQLModel


class Table(SQLModel):
    """Base class; ``class ApiKey(Table, table=True)`` is the table ``api_key``."""

    # SQLModel types the attribute more narrowly than SQLAlchemy, whose documented way this is.
    @declared_attr.directive
    def __tablename__(  # pyright: ignore[reportIncompatibleVariableOverride]
        cls,
    ) -> str:
        """The table's name."""
        return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", cls.__name__).lower()
