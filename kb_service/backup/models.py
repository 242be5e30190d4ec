"""The table of backups, checks and removals that administrators asked for."""

from datetime import datetime
from enum import StrEnum
from typing import Any

from sqlalchemy import JSON, BigInteger, Index, text
from sqlmodel import Field

from core.db.base import Table
from core.db.types import ID_LENGTH, UtcDateTime, new_id, utc_now
from kb_service.models import NullableJson

_OPEN = text("status IN ('pending', 'running')")


class BackupJobKind(StrEnum):
    """What is done in the folder of backups."""

    CREATE = "create"
    VERIFY = "verify"
    REMOVE = "remove"


class BackupJobStatus(StrEnum):
    """How far a job is."""

    PENDING = "pending"
    RUNNING = "running"
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"


class BackupJob(Table, table=True):
    """A backup, a check or a removal; at most one at a time waits or runs. No backup holds these rows.

    ``step``, ``done`` and ``total`` say how far it is, ``result`` what it brought.
    """

    id: str = Field(default_factory=new_id, primary_key=True, max_length=ID_LENGTH)
    kind: str = Field(max_length=20)
    backup_id: str | None = Field(default=None, max_length=100)
    status: str = Field(default=BackupJobStatus.PENDING.value, max_length=20)
    # The same in all rows: an index of the open ones lets one in.
    lane: str = Field(default="folder", max_length=20)
    step: str | None = Field(default=None, max_length=20)
    done: int = Field(default=0, sa_type=BigInteger)
    total: int | None = Field(default=None, sa_type=BigInteger)
    result: dict[str, Any] = Field(default_factory=dict, sa_type=JSON)
    failure: dict[str, str] | None = Field(default=None, sa_type=NullableJson)
    requested_by: str = Field(default="", max_length=200)
    attempt: int = 0
    lease_owner: str | None = Field(default=None, max_length=100)
    lease_until: datetime | None = Field(default=None, sa_type=UtcDateTime)
    created_at: datetime = Field(default_factory=utc_now, sa_type=UtcDateTime)
    updated_at: datetime = Field(default_factory=utc_now, sa_type=UtcDateTime)
    ended_at: datetime | None = Field(default=None, sa_type=UtcDateTime)

    __table_args__ = (
        Index("ix_backup_job_created_at", "created_at"),
        Index("uq_backup_job_open", "lane", unique=True, sqlite_where=_OPEN, postgresql_where=_OPEN),
    )
