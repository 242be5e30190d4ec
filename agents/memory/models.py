"""Tables of memories and of the distillation queue."""

from datetime import datetime
from enum import StrEnum

from sqlalchemy import Index, LargeBinary, Text
from sqlmodel import Field

from core.db.base import Table
from core.db.types import ID_LENGTH, UtcDateTime, new_id, utc_now

DIGEST_LENGTH = 64


class MemorySource(StrEnum):
    """Who wrote a memory."""

    USER = "user"
    AGENT = "agent"
    DISTILLED = "distilled"


class Memory(Table, table=True):
    """A fact remembered for its owner only.

    ``digest`` is of the folded text and unique for an owner. ``run_id`` is the client's id of the source run, which may
    be gone. ``vector`` (little-endian float32) of ``vector_model`` is made by the first search that needs it.
    """

    id: str = Field(default_factory=new_id, primary_key=True, max_length=ID_LENGTH)
    owner_id: str = Field(foreign_key="user.id", ondelete="CASCADE", max_length=ID_LENGTH)
    text: str = Field(sa_type=Text)
    digest: str = Field(max_length=DIGEST_LENGTH)
    source: str = Field(default=MemorySource.USER.value, max_length=20)
    run_id: str | None = Field(default=None, max_length=200)
    vector: bytes | None = Field(default=None, sa_type=LargeBinary)
    vector_model: str | None = Field(default=None, max_length=200)
    created_at: datetime = Field(default_factory=utc_now, sa_type=UtcDateTime)
    updated_at: datetime = Field(default_factory=utc_now, sa_type=UtcDateTime)

    __table_args__ = (
        Index("uq_memory_owner_digest", "owner_id", "digest", unique=True),
        Index("ix_memory_owner_updated", "owner_id", "updated_at"),
    )


class Distillation(Table, table=True):
    """A completed run to distill, leased until ``lease_until`` and deleted when done."""

    run_key: str = Field(primary_key=True, foreign_key="agent_run.id", ondelete="CASCADE", max_length=ID_LENGTH)
    lease_owner: str | None = Field(default=None, max_length=100)
    lease_until: datetime = Field(default_factory=utc_now, sa_type=UtcDateTime, index=True)
    attempts: int = 0
