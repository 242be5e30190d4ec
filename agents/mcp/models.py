"""Tables of MCP connections and of their last tool lists."""

from datetime import datetime
from enum import StrEnum

from pydantic import JsonValue
from sqlalchemy import JSON, Index, Text
from sqlmodel import Field

from core.db.base import Table
from core.db.types import ID_LENGTH, UtcDateTime, new_id, utc_now
from core.outbound.guard import LONGEST_URL

LONGEST_NAME = 100


class McpStatus(StrEnum):
    """How the last contact with a server went."""

    UNKNOWN = "unknown"
    CONNECTED = "connected"
    ERROR = "error"


class McpConnection(Table, table=True):
    """A person's connection to an MCP server, visible to its owner only.

    ``sealed_token`` needs the installation's secret key. ``fault`` names the last contact's fault. ``left_out`` are the
    tools that the server listed last and agents don't get, each with its reason. ``version`` counts changes by the
    owner, so that results of an earlier address are not stored for the current one.
    """

    id: str = Field(default_factory=new_id, primary_key=True, max_length=ID_LENGTH)
    owner_id: str = Field(foreign_key="user.id", ondelete="CASCADE", max_length=ID_LENGTH)
    name: str = Field(max_length=LONGEST_NAME)
    type: str = Field(max_length=20)
    url: str = Field(max_length=LONGEST_URL)
    auth_type: str = Field(max_length=20)
    sealed_token: str | None = Field(default=None, sa_type=Text)
    config: dict[str, JsonValue] = Field(default_factory=dict, sa_type=JSON)
    enabled: bool = True
    version: int = 1
    status: str = Field(default=McpStatus.UNKNOWN.value, max_length=20)
    fault: str | None = Field(default=None, max_length=40)
    tool_count: int = 0
    left_out: list[JsonValue] = Field(default_factory=list, sa_type=JSON, sa_column_kwargs={"server_default": "[]"})
    checked_at: datetime | None = Field(default=None, sa_type=UtcDateTime)
    created_at: datetime = Field(default_factory=utc_now, sa_type=UtcDateTime)
    updated_at: datetime = Field(default_factory=utc_now, sa_type=UtcDateTime)

    __table_args__ = (Index("uq_mcp_connection_owner_name", "owner_id", "name", unique=True),)


class McpToolList(Table, table=True):
    """A server's last good tool list, which runs also use while the server is down."""

    connection_id: str = Field(
        primary_key=True, foreign_key="mcp_connection.id", ondelete="CASCADE", max_length=ID_LENGTH
    )
    tools: list[JsonValue] = Field(default_factory=list, sa_type=JSON)
    listed_at: datetime = Field(default_factory=utc_now, sa_type=UtcDateTime)
