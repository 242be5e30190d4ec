"""Tables of sessions, messages, runs and run events."""

from datetime import datetime
from enum import StrEnum

from pydantic import JsonValue
from sqlalchemy import JSON, Index, Text
from sqlmodel import Field

from core.db.base import Table
from core.db.types import ID_LENGTH, UtcDateTime, new_id, utc_now


class RunStatus(StrEnum):
    """The status of a run; all but the first are final.

    An interrupted run is continued by another run of the same task.
    """

    RUNNING = "running"
    INTERRUPTED = "interrupted"
    COMPLETED = "completed"
    CANCELLED = "cancelled"
    FAILED = "failed"


class ChatSession(Table, table=True):
    """A conversation (the protocol's thread) of one user.

    ``thread_id`` is the client's own string, unique per owner; sessions made through the API use
    ``id``. ``active_run_id`` is the run that holds the thread, ``waiting_run_id`` the one that
    ended with calls that others must answer. ``conversation_id`` is shared by the branches of a
    conversation: the id of its first session, which may be gone; None without branches.
    """

    id: str = Field(default_factory=new_id, primary_key=True, max_length=ID_LENGTH)
    owner_id: str = Field(foreign_key="user.id", max_length=ID_LENGTH)
    thread_id: str = Field(max_length=200)
    conversation_id: str | None = Field(default=None, max_length=ID_LENGTH, index=True)
    title: str = Field(default="", max_length=200)
    config: dict[str, JsonValue] = Field(default_factory=dict, sa_type=JSON)
    is_archived: bool = False
    message_count: int = 0
    active_run_id: str | None = Field(default=None, max_length=ID_LENGTH)
    waiting_run_id: str | None = Field(default=None, max_length=ID_LENGTH)
    last_message_at: datetime | None = Field(default=None, sa_type=UtcDateTime)
    created_at: datetime = Field(default_factory=utc_now, sa_type=UtcDateTime)
    updated_at: datetime = Field(default_factory=utc_now, sa_type=UtcDateTime)

    __table_args__ = (
        Index("uq_chat_session_owner_thread", "owner_id", "thread_id", unique=True),
        Index("ix_chat_session_owner_updated", "owner_id", "updated_at"),
    )


class ChatMessage(Table, table=True):
    """One message of a session; ``position`` counts from 1, the ids are those on the wire."""

    id: str = Field(default_factory=new_id, primary_key=True, max_length=ID_LENGTH)
    session_id: str = Field(foreign_key="chat_session.id", ondelete="CASCADE", max_length=ID_LENGTH)
    message_id: str = Field(max_length=200)
    position: int
    role: str = Field(max_length=20)
    content: str = Field(sa_type=Text)
    content_type: str = Field(default="text", max_length=20)
    details: dict[str, JsonValue] = Field(default_factory=dict, sa_type=JSON)
    run_id: str | None = Field(default=None, max_length=200)
    created_at: datetime = Field(default_factory=utc_now, sa_type=UtcDateTime)

    __table_args__ = (
        Index("uq_chat_message_position", "session_id", "position", unique=True),
        Index("uq_chat_message_wire_id", "session_id", "message_id", unique=True),
    )


class AgentRun(Table, table=True):
    """One run of an agent; ``run_id`` is the client's own string, unique per owner.

    ``task_id`` is the run that began the task, possibly this one; ``request`` is its input.
    ``own_events`` is the journal's count after its last effect, ``takeovers`` the number of recoveries
    by other processes. ``model_id`` is the id in the model list, ``model`` the name at the endpoint.
    ``memory_*_tokens`` were spent on distilling the run afterwards, in addition to its own.
    ``copy_of`` is the ``id`` of the run, perhaps gone, of which a branch of the conversation holds this copy.
    """

    id: str = Field(default_factory=new_id, primary_key=True, max_length=ID_LENGTH)
    owner_id: str = Field(foreign_key="user.id", max_length=ID_LENGTH)
    run_id: str = Field(max_length=200)
    session_id: str = Field(foreign_key="chat_session.id", ondelete="CASCADE", max_length=ID_LENGTH, index=True)
    task_id: str = Field(default="", max_length=ID_LENGTH, sa_column_kwargs={"server_default": ""})
    copy_of: str | None = Field(default=None, max_length=ID_LENGTH, index=True)
    request: dict[str, JsonValue] = Field(default_factory=dict, sa_type=JSON, sa_column_kwargs={"server_default": "{}"})
    own_events: int = Field(default=0, sa_column_kwargs={"server_default": "0"})
    takeovers: int = Field(default=0, sa_column_kwargs={"server_default": "0"})
    agent_type: str = Field(max_length=50)
    model_id: str = Field(default="", max_length=ID_LENGTH, sa_column_kwargs={"server_default": ""})
    model: str = Field(default="", max_length=200, sa_column_kwargs={"server_default": ""})
    status: str = Field(default=RunStatus.RUNNING.value, max_length=20, index=True)
    lease_owner: str = Field(max_length=100)
    lease_until: datetime = Field(sa_type=UtcDateTime)
    stop_requested_at: datetime | None = Field(default=None, sa_type=UtcDateTime)
    last_seq: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    memory_prompt_tokens: int = Field(default=0, sa_column_kwargs={"server_default": "0"})
    memory_completion_tokens: int = Field(default=0, sa_column_kwargs={"server_default": "0"})
    created_at: datetime = Field(default_factory=utc_now, sa_type=UtcDateTime)
    finished_at: datetime | None = Field(default=None, sa_type=UtcDateTime)

    __table_args__ = (Index("uq_agent_run_owner_run", "owner_id", "run_id", unique=True),)


class RunEffect(Table, table=True):
    """One effect of a task (``agents.journal``)."""

    task_id: str = Field(primary_key=True, foreign_key="agent_run.id", ondelete="CASCADE", max_length=ID_LENGTH)
    position: int = Field(primary_key=True)
    key: str = Field(max_length=250)
    status: str = Field(max_length=20)
    outcome: str = Field(sa_type=Text)
    seconds: float = 0.0


class RunInterrupt(Table, table=True):
    """A question to a person with which a run ended, and its answer."""

    id: str = Field(primary_key=True, max_length=ID_LENGTH)
    run_id: str = Field(foreign_key="agent_run.id", ondelete="CASCADE", max_length=ID_LENGTH, index=True)
    call_id: str = Field(max_length=200)
    interrupt: dict[str, JsonValue] = Field(default_factory=dict, sa_type=JSON)
    status: str = Field(default="open", max_length=20)
    answer: dict[str, JsonValue] | None = Field(default=None, sa_type=JSON)
    expires_at: datetime = Field(sa_type=UtcDateTime)
    created_at: datetime = Field(default_factory=utc_now, sa_type=UtcDateTime)
    answered_at: datetime | None = Field(default=None, sa_type=UtcDateTime)


class LoggedEvent(Table, table=True):
    """One event of a run as AG-UI JSON in camelCase; ``seq`` is dense from 1."""

    run_id: str = Field(primary_key=True, foreign_key="agent_run.id", ondelete="CASCADE", max_length=ID_LENGTH)
    seq: int = Field(primary_key=True)
    type: str = Field(max_length=50)
    payload: str = Field(sa_type=Text)
    created_at: datetime = Field(default_factory=utc_now, sa_type=UtcDateTime)


class RunSkill(Table, table=True):
    """A skill version that a task used; kept when the skill is deleted.

    ``slug`` is the key that the model used, ``chosen`` whether a person chose the skill.
    """

    task_id: str = Field(primary_key=True, foreign_key="agent_run.id", ondelete="CASCADE", max_length=ID_LENGTH)
    skill_id: str = Field(primary_key=True, max_length=ID_LENGTH, index=True)
    version: int = Field(primary_key=True)
    content_sha256: str = Field(max_length=64)
    slug: str = Field(max_length=200)
    chosen: bool = False
    loaded_at: datetime = Field(default_factory=utc_now, sa_type=UtcDateTime)
