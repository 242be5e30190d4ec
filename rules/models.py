"""Tables of rules, of the events that they act on, and of what they did."""

from datetime import datetime
from enum import StrEnum
from typing import ClassVar

from pydantic import JsonValue
from sqlalchemy import JSON, BigInteger, Index, Integer, Text
from sqlmodel import Field

from core.db.base import Table
from core.db.types import ID_LENGTH, UtcDateTime, new_id, utc_now

LONGEST_NAME = 100
LONGEST_DESCRIPTION = 1000
LONGEST_EVENT_TYPE = 200
LONGEST_EVENT_ID = 200
LONGEST_KEY = 200
# SQLite counts only a column of its own integer type.
_COUNTER = BigInteger().with_variant(Integer, "sqlite")


class SourceKind(StrEnum):
    """Where an event came from."""

    MCP = "mcp"
    WEBHOOK = "webhook"
    PLATFORM = "platform"
    SCHEDULE = "schedule"


class FiringStatus(StrEnum):
    """What became of a rule at an event.

    ``NOT_MET``, ``COOLDOWN``, ``LOOP`` and ``LIMIT`` are decisions against it. ``PENDING`` waits for a process,
    ``RUNNING`` has one. ``UNKNOWN`` has an action of which a crash left open whether it took effect.
    """

    NOT_MET = "not_met"
    COOLDOWN = "cooldown"
    LOOP = "loop"
    LIMIT = "limit"
    PENDING = "pending"
    RUNNING = "running"
    SUCCESS = "success"
    PARTIAL = "partial"
    FAILED = "failed"
    UNKNOWN = "unknown"


OPEN_STATUSES = (FiringStatus.PENDING.value, FiringStatus.RUNNING.value)


class Rule(Table, table=True):
    """A person's rule; ``definition`` is a ``RuleDefinition`` as JSON.

    ``event_type`` and ``source_id`` repeat its trigger for the look-up. ``state`` is what its actions ``set_state``
    keep. ``due_at`` is the next time of a schedule.
    """

    SHARE_KIND: ClassVar[str] = "rule"

    id: str = Field(default_factory=new_id, primary_key=True, max_length=ID_LENGTH)
    owner_id: str = Field(foreign_key="user.id", ondelete="CASCADE", max_length=ID_LENGTH)
    name: str = Field(max_length=LONGEST_NAME)
    description: str = Field(default="", max_length=LONGEST_DESCRIPTION)
    event_type: str = Field(max_length=LONGEST_EVENT_TYPE)
    source_id: str | None = Field(default=None, max_length=ID_LENGTH)
    definition: dict[str, JsonValue] = Field(sa_type=JSON)
    enabled: bool = True
    version: int = 1
    state: dict[str, JsonValue] = Field(default_factory=dict, sa_type=JSON)
    trigger_count: int = 0
    last_triggered_at: datetime | None = Field(default=None, sa_type=UtcDateTime)
    due_at: datetime | None = Field(default=None, sa_type=UtcDateTime, index=True)
    created_at: datetime = Field(default_factory=utc_now, sa_type=UtcDateTime)
    updated_at: datetime = Field(default_factory=utc_now, sa_type=UtcDateTime)

    __table_args__ = (
        Index("uq_rule_owner_name", "owner_id", "name", unique=True),
        Index("ix_rule_trigger", "owner_id", "event_type"),
    )

    @property
    def is_public(self) -> bool:
        """Rules are shared by name only."""
        return False


class RuleVersion(Table, table=True):
    """A rule as it was saved."""

    rule_id: str = Field(primary_key=True, foreign_key="rule.id", ondelete="CASCADE", max_length=ID_LENGTH)
    version: int = Field(primary_key=True)
    definition: dict[str, JsonValue] = Field(sa_type=JSON)
    created_at: datetime = Field(default_factory=utc_now, sa_type=UtcDateTime)


class EventSource(Table, table=True):
    """An address that takes a person's signed events; ``sealed_secret`` needs the installation's secret key."""

    id: str = Field(default_factory=new_id, primary_key=True, max_length=ID_LENGTH)
    owner_id: str = Field(foreign_key="user.id", ondelete="CASCADE", max_length=ID_LENGTH)
    name: str = Field(max_length=LONGEST_NAME)
    sealed_secret: str = Field(sa_type=Text)
    created_at: datetime = Field(default_factory=utc_now, sa_type=UtcDateTime)

    __table_args__ = (Index("uq_event_source_owner_name", "owner_id", "name", unique=True),)


class AcceptedEvent(Table, table=True):
    """An accepted event, until some time after it was decided on: its id is known as long.

    ``seq`` is the order of acceptance. ``chain`` are the rules whose actions led to it, the first one first.
    """

    seq: int | None = Field(default=None, primary_key=True, sa_type=_COUNTER)  # pyright: ignore[reportArgumentType]
    owner_id: str = Field(foreign_key="user.id", ondelete="CASCADE", max_length=ID_LENGTH)
    source_kind: str = Field(max_length=20)
    source_id: str = Field(max_length=ID_LENGTH)
    event_id: str = Field(max_length=LONGEST_EVENT_ID)
    type: str = Field(max_length=LONGEST_EVENT_TYPE)
    occurred_at: datetime = Field(sa_type=UtcDateTime)
    accepted_at: datetime = Field(default_factory=utc_now, sa_type=UtcDateTime, index=True)
    data: JsonValue = Field(sa_type=JSON)
    chain: list[str] = Field(default_factory=list, sa_type=JSON)
    is_decided: bool = False

    __table_args__ = (
        Index("uq_accepted_event_id", "owner_id", "source_id", "event_id", unique=True),
        Index("ix_accepted_event_open", "is_decided", "seq"),
        # A number is never used again, although the newest events may be gone.
        {"sqlite_autoincrement": True},
    )


class RuleFiring(Table, table=True):
    """A rule at an event: the decision, and what its actions did; the rule's log.

    ``acting`` is the position of the action that a process has begun and not recorded the end of, else -1.
    """

    id: str = Field(default_factory=new_id, primary_key=True, max_length=ID_LENGTH)
    rule_id: str = Field(foreign_key="rule.id", ondelete="CASCADE", max_length=ID_LENGTH)
    owner_id: str = Field(max_length=ID_LENGTH)
    rule_version: int
    event_seq: int = Field(sa_type=_COUNTER)  # pyright: ignore[reportArgumentType]
    event: dict[str, JsonValue] = Field(sa_type=JSON)
    key: str = Field(default="", max_length=LONGEST_KEY)
    conditions_met: bool
    trace: JsonValue = Field(default_factory=list, sa_type=JSON)
    actions_result: list[JsonValue] = Field(default_factory=list, sa_type=JSON)
    status: str = Field(max_length=20)
    acting: int = -1
    driver: str | None = Field(default=None, max_length=60)
    lease_until: datetime | None = Field(default=None, sa_type=UtcDateTime)
    execution_time: int = 0
    executed_at: datetime = Field(default_factory=utc_now, sa_type=UtcDateTime)

    __table_args__ = (
        Index("uq_rule_firing_event", "rule_id", "event_seq", unique=True),
        Index("ix_rule_firing_log", "rule_id", "executed_at"),
        Index("ix_rule_firing_open", "status", "event_seq"),
    )


class RuleKey(Table, table=True):
    """What a rule keeps for one cooldown key: until when it rests, and the event before."""

    rule_id: str = Field(primary_key=True, foreign_key="rule.id", ondelete="CASCADE", max_length=ID_LENGTH)
    key: str = Field(primary_key=True, max_length=LONGEST_KEY)
    rests_until: datetime | None = Field(default=None, sa_type=UtcDateTime)
    previous: JsonValue = Field(default=None, sa_type=JSON)
    updated_at: datetime = Field(default_factory=utc_now, sa_type=UtcDateTime)


class RuleLease(Table, table=True):
    """A part of the work that one process does at a time, such as deciding on events."""

    name: str = Field(primary_key=True, max_length=60)
    driver: str = Field(max_length=60)
    until: datetime = Field(sa_type=UtcDateTime)


class EventCursor(Table, table=True):
    """Up to when a table of the product was read for events of the platform."""

    name: str = Field(primary_key=True, max_length=60)
    at: datetime = Field(sa_type=UtcDateTime)


class SeenEventType(Table, table=True):
    """A type of event that a source has declared or sent; ``schema`` in the shape of seed 002, section 10.9."""

    owner_id: str = Field(primary_key=True, foreign_key="user.id", ondelete="CASCADE", max_length=ID_LENGTH)
    source_id: str = Field(primary_key=True, max_length=ID_LENGTH)
    type: str = Field(primary_key=True, max_length=LONGEST_EVENT_TYPE)
    description: str = Field(default="", max_length=LONGEST_DESCRIPTION)
    is_declared: bool = False
    shape: JsonValue = Field(sa_type=JSON)
    example: JsonValue = Field(default=None, sa_type=JSON)
    count: int = 0
    seen_at: datetime | None = Field(default=None, sa_type=UtcDateTime)


class EventDropReason(StrEnum):
    """Why an event of a source was not accepted.

    ``TOO_LARGE``: its data. ``SIGNATURE``: of a webhook; forged, with another secret, or too late. ``UNUSABLE``: its type, its id, or what can't be read. ``BACKLOG``: too many of the source
    waited, so that its sender was refused. ``RATE``: too many within a minute. ``UNDECIDABLE``: it was accepted, and no
    rule could be asked about it.
    """

    TOO_LARGE = "too_large"
    SIGNATURE = "signature"
    UNUSABLE = "unusable"
    BACKLOG = "backlog"
    RATE = "rate"
    UNDECIDABLE = "undecidable"


class EventDrop(Table, table=True):
    """How many events of a source were dropped for a reason, and when the last one was."""

    owner_id: str = Field(primary_key=True, foreign_key="user.id", ondelete="CASCADE", max_length=ID_LENGTH)
    source_id: str = Field(primary_key=True, max_length=ID_LENGTH)
    reason: str = Field(primary_key=True, max_length=20)
    count: int = 0
    last_at: datetime = Field(sa_type=UtcDateTime)


class Notification(Table, table=True):
    """A message of a rule to its owner, shown in the console."""

    id: str = Field(default_factory=new_id, primary_key=True, max_length=ID_LENGTH)
    owner_id: str = Field(foreign_key="user.id", ondelete="CASCADE", max_length=ID_LENGTH)
    rule_id: str | None = Field(default=None, max_length=ID_LENGTH)
    firing_id: str | None = Field(default=None, max_length=ID_LENGTH)
    level: str = Field(max_length=20)
    title: str = Field(max_length=200)
    text: str = Field(default="", max_length=5000)
    created_at: datetime = Field(default_factory=utc_now, sa_type=UtcDateTime)
    read_at: datetime | None = Field(default=None, sa_type=UtcDateTime)

    __table_args__ = (Index("ix_notification_owner", "owner_id", "created_at"),)
