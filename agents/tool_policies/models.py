"""Table of tool policies."""

from datetime import datetime

from sqlmodel import Field

from core.db.base import Table
from core.db.types import ID_LENGTH, UtcDateTime, utc_now

LONGEST_TOOL_NAME = 128


class ChosenPolicy(Table, table=True):
    """A person's policy for one tool; without a row the server's applies."""

    owner_id: str = Field(primary_key=True, foreign_key="user.id", ondelete="CASCADE", max_length=ID_LENGTH)
    tool: str = Field(primary_key=True, max_length=LONGEST_TOOL_NAME)
    policy: str = Field(max_length=10)
    updated_at: datetime = Field(default_factory=utc_now, sa_type=UtcDateTime)
