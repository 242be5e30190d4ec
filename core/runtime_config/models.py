"""The table of changed settings."""

from datetime import datetime

from pydantic import JsonValue
from sqlalchemy import JSON
from sqlmodel import Field

from core.db.base import Table
from core.db.types import UtcDateTime, utc_now

StoredValue = bool | int | float | list[JsonValue]


class StoredConfig(Table, table=True):
    """The value that an administrator set for a key; without a row the environment's applies."""

    key: str = Field(primary_key=True, max_length=100)
    value: StoredValue = Field(sa_type=JSON)
    updated_by: str = Field(default="", max_length=200)
    updated_at: datetime = Field(default_factory=utc_now, sa_type=UtcDateTime)
