"""Base class of all tables."""

import re

from sqlalchemy.orm import declared_attr
from sqlmodel import SQLModel


class Table(SQLModel):
    """``class ApiKey(Table, table=True)`` is the table ``api_key``."""

    # SQLModel types the attribute more narrowly than SQLAlchemy, which documents this way.
    @declared_attr.directive
    def __tablename__(  # pyright: ignore[reportIncompatibleVariableOverride]
        cls,
    ) -> str:
        return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", cls.__name__).lower()
