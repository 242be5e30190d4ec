"""Outbox table: jobs written in the same transaction as their rows."""

from datetime import datetime

from sqlalchemy import JSON
from sqlmodel import Field

from core.db.base import Table
from core.db.types import ID_LENGTH, UtcDateTime, new_id, utc_now


class OutboxJob(Table, table=True):
    """A job to push to the queue; its row is deleted after the push."""

    id: str = Field(default_factory=new_id, primary_key=True, max_length=ID_LENGTH)
    name: str = Field(max_length=100)
    key: str = Field(max_length=200)
    payload: dict[str, str | int] = Field(sa_type=JSON)
    created_at: datetime = Field(default_factory=utc_now, sa_type=UtcDateTime, index=True)
