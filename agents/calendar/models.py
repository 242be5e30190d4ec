"""Tables of calendars."""

from datetime import datetime

from sqlalchemy import Index, Text
from sqlmodel import Field

from core.db.base import Table
from core.db.types import ID_LENGTH, UtcDateTime, new_id, utc_now
from core.time_zones import LONGEST_NAME


class CalendarEvent(Table, table=True):
    """An event of a person.

    ``time_zone`` is the zone in which its times were given. An all-day event ends at the start of the day after its
    last one there. ``source_run_id`` is the run that created it; ``sequence`` counts changes, from 0.
    """

    id: str = Field(default_factory=new_id, primary_key=True, max_length=ID_LENGTH)
    owner_id: str = Field(foreign_key="user.id", max_length=ID_LENGTH)
    title: str = Field(max_length=200)
    starts_at: datetime = Field(sa_type=UtcDateTime)
    ends_at: datetime = Field(sa_type=UtcDateTime)
    time_zone: str = Field(max_length=LONGEST_NAME)
    all_day: bool = False
    location: str = Field(default="", max_length=500)
    notes: str = Field(default="", sa_type=Text)
    source_run_id: str | None = Field(
        default=None, foreign_key="agent_run.id", ondelete="SET NULL", max_length=ID_LENGTH, index=True
    )
    sequence: int = 0
    created_at: datetime = Field(default_factory=utc_now, sa_type=UtcDateTime)
    updated_at: datetime = Field(default_factory=utc_now, sa_type=UtcDateTime)

    __table_args__ = (
        Index("ix_calendar_event_owner_starts", "owner_id", "starts_at"),
        Index("ix_calendar_event_owner_ends", "owner_id", "ends_at"),
    )


class CalendarCall(Table, table=True):
    """An executed tool call (hash of id and arguments, since endpoints reuse ids), to make repetitions idempotent."""

    run_id: str = Field(primary_key=True, foreign_key="agent_run.id", ondelete="CASCADE", max_length=ID_LENGTH)
    call_key: str = Field(primary_key=True, max_length=64)
    event_id: str = Field(max_length=ID_LENGTH)
    sequence: int
    created_at: datetime = Field(default_factory=utc_now, sa_type=UtcDateTime)


class CalendarFeed(Table, table=True):
    """A person's calendar feed; only the hash of its token is stored."""

    owner_id: str = Field(primary_key=True, foreign_key="user.id", ondelete="CASCADE", max_length=ID_LENGTH)
    token_hash: str = Field(max_length=64, unique=True)
    created_at: datetime = Field(default_factory=utc_now, sa_type=UtcDateTime)
