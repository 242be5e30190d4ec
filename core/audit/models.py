"""The table of the audit log."""

from datetime import datetime

from pydantic import JsonValue
from sqlalchemy import JSON, Index
from sqlmodel import Field

from core.db.base import Table
from core.db.types import ID_LENGTH, UtcDateTime, new_id, utc_now

LONGEST_NAME = 200
LONGEST_ADDRESS = 100


class AuditEntry(Table, table=True):
    """One act, without foreign keys, because its objects may be deleted.

    ``object_name`` is the name that an account or role had then. ``details`` never hold a secret or document text.
    """

    id: str = Field(default_factory=new_id, primary_key=True, max_length=ID_LENGTH)
    created_at: datetime = Field(default_factory=utc_now, sa_type=UtcDateTime, index=True)
    action: str = Field(max_length=50)
    actor_id: str | None = Field(default=None, max_length=ID_LENGTH)
    actor_name: str = Field(default="", max_length=LONGEST_NAME)
    object_type: str = Field(default="", max_length=50)
    object_id: str = Field(default="", max_length=LONGEST_NAME, index=True)
    object_name: str = Field(default="", max_length=LONGEST_NAME)
    address: str = Field(default="", max_length=LONGEST_ADDRESS)
    request_id: str = Field(default="", max_length=100)
    details: dict[str, JsonValue] = Field(default_factory=dict, sa_type=JSON)

    __table_args__ = (
        Index("ix_audit_entry_actor", "actor_id", "created_at"),
        Index("ix_audit_entry_action", "action", "created_at"),
    )
